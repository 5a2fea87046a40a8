using RedisClone.Engine;

namespace RedisClone.Admin.Info;

/// <summary>One section of INFO.</summary>
/// <param name="Name">The name in lower case, as a client passes it.</param>
/// <param name="IsDefault">Whether the section is shown if INFO has no arguments.</param>
/// <param name="Write">Writes the title and the fields.</param>
internal sealed record InfoSection(string Name, bool IsDefault, Action<ServerCore, InfoWriter> Write);

/// <summary>INFO: the table of sections, and the selection of sections by arguments.</summary>
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

    /// <summary>A section that is shown only if it is requested by name.</summary>
    private static readonly InfoSection Debug = new("debug", false, StatsInfo.Debug);

    /// <param name="server">The server.</param>
    /// <param name="wanted">
    /// Section names, in any case; default, all and everything select several sections. If empty, the default sections.
    /// </param>
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
