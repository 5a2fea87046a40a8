using RedisClone.Engine;

namespace RedisClone.Admin.Info;

/// <summary>One section of INFO.</summary>
/// <param name="Name">The name in lower case, as a client passes it.</param>
/// <param name="Title">The title of the section.</param>
/// <param name="IsDefault">Whether the section is shown if INFO has no arguments.</param>
/// <param name="Rows">The content.</param>
internal sealed record InfoSection(string Name, string Title, bool IsDefault, InfoRow[] Rows)
{
    public void Write(ServerReading reading, InfoWriter info)
    {
        info.Section(Title);
        foreach (InfoRow row in Rows) row.Write(reading, info);
    }
}

/// <summary>INFO: the table of sections, and the selection of sections by arguments.</summary>
internal static class InfoReport
{
    private static readonly InfoSection[] Sections =
    [
        new("server", "Server", true, ServerInfo.Server),
        new("clients", "Clients", true, ClientInfo.Rows),
        new("memory", "Memory", true, MemoryInfo.Rows),
        new("persistence", "Persistence", true, PersistenceInfo.Rows),
        new("stats", "Stats", true, StatsInfo.Rows),
        new("replication", "Replication", true, ReplicationInfo.Rows),
        new("cpu", "CPU", true, ServerInfo.Cpu),
        new("modules", "Modules", true, []),
        new("commandstats", "Commandstats", false, CommandInfo.Calls),
        new("errorstats", "Errorstats", true, CommandInfo.Errors),
        new("latencystats", "Latencystats", false, [.. CommandInfo.Latencies, .. InternalsInfo.Latencies]),
        new("shards", "Shards", false, InternalsInfo.Shards),
        new("loops", "Loops", false, InternalsInfo.Loops),
        new("journal", "Journal", false, InternalsInfo.Journal),
        new("buffers", "Buffers", false, BufferInfo.Rows),
        new("progress", "Progress", false, ProgressInfo.Rows),
        new("process", "Process", false, InternalsInfo.Process),
        new("cluster", "Cluster", true, ClusterInfo.Rows),
        new("keyspace", "Keyspace", true, KeyspaceInfo.Rows),
    ];

    /// <summary>A section that is shown only if it is requested by name.</summary>
    private static readonly InfoSection Debug = new("debug", "Debug", false, StatsInfo.Debug);

    /// <summary>All rows, in the order of INFO.</summary>
    public static IEnumerable<InfoRow> Rows => Sections.Append(Debug).SelectMany(section => section.Rows);

    /// <param name="server">The server.</param>
    /// <param name="wanted">
    /// Section names, in any case; default, all and everything select several sections. If empty, the default sections.
    /// </param>
    public static string Write(ServerCore server, IReadOnlyCollection<string> wanted)
    {
        var names = new HashSet<string>(wanted, StringComparer.OrdinalIgnoreCase);
        bool all = names.Contains("all") || names.Contains("everything");
        bool defaults = names.Count == 0 || names.Contains("default");
        var reading = new ServerReading(server);
        var writer = new InfoWriter();
        foreach (InfoSection section in Sections)
            if (all || defaults && section.IsDefault || names.Contains(section.Name)) section.Write(reading, writer);
        if (names.Contains(Debug.Name)) Debug.Write(reading, writer);
        return writer.ToString();
    }
}
