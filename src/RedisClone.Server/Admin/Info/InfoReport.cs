namespace RedisClone.Server.Admin;

/// <summary>One section of INFO.</summary>
/// <param name="Name">As it is asked for, in lower case.</param>
/// <param name="IsDefault">Shown when no section is named.</param>
/// <param name="Write">Writes the title and the fields.</param>
internal sealed record InfoSection(string Name, bool IsDefault, Action<ServerCore, InfoWriter> Write);

/// <summary>INFO: the sections that there are, and which of them an INFO with arguments shows.</summary>
internal static class InfoReport
{
    private static readonly InfoSection[] Sections =
    [
        new("server", true, ServerInfo.Server),
        new("clients", true, ServerInfo.Clients),
        new("memory", true, MemoryInfo.Write),
        new("persistence", true, PersistenceInfo.Write),
        new("stats", true, StatsInfo.Write),
        new("replication", true, ReplicationInfo.Write),
        new("cpu", true, ServerInfo.Cpu),
        new("modules", true, ServerInfo.Modules),
        new("commandstats", false, CommandInfo.Calls),
        new("errorstats", true, CommandInfo.Errors),
        new("latencystats", false, CommandInfo.Latencies),
        new("cluster", true, ServerInfo.Cluster),
        new("keyspace", true, KeyspaceInfo.Write),
    ];

    /// <summary>Only shown when asked for by name.</summary>
    private static readonly InfoSection Debug = new("debug", false, StatsInfo.Debug);

    /// <param name="server">What is described.</param>
    /// <param name="wanted">Names of sections, in any case; default, all and everything stand for several. None: the default ones.</param>
    public static string Write(ServerCore server, IReadOnlyCollection<string> wanted)
    {
        var names = new HashSet<string>(wanted, StringComparer.OrdinalIgnoreCase);
        bool all = names.Contains("all") || names.Contains("everything");
        bool defaults = names.Count == 0 || names.Contains("default");
        var writer = new InfoWriter();
        foreach (InfoSection section in Sections)
            if (all || defaults && section.IsDefault || names.Contains(section.Name)) section.Write(server, writer);
        if (names.Contains(Debug.Name)) Debug.Write(server, writer);
        return writer.ToString();
    }
}
