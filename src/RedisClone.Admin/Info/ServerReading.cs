using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Replication;
using RedisClone.Scheduling;

namespace RedisClone.Admin.Info;

/// <summary>
/// One reading of the server's state, from which one page is made. A value that several figures use is computed once, so that
/// the figures of a page agree, and only if a figure of the page uses it.
/// </summary>
/// <param name="server">The server.</param>
/// <param name="room">Where a periodic reading gets its histograms. They are valid until the next reading.</param>
internal sealed class ServerReading(ServerCore server, HistogramRoom? room = null)
{
    private Environment.ProcessCpuUsage? _processor;
    private GCMemoryInfo? _collector;
    private LatencyHistogram?[]? _families;

    public ServerCore Server => server;

    public ServerConfig Config => server.Config;

    /// <summary>Unix milliseconds.</summary>
    public long Now { get; } = ServerCore.UnixMilliseconds();

    public long UptimeSeconds => (Now - server.StartedAt) / 1000;

    /// <summary>The loading of data, or null if all data is loaded.</summary>
    public LoadProgress? Loading { get; } = server.Loading;

    /// <summary>The snapshot or the rewrite of the journal that runs.</summary>
    public SnapshotRun? Run { get; } = server.Snapshots.Slot.Running;

    /// <summary>The journal, or null if it is off or not loaded yet.</summary>
    public JournalKeeper? Journal { get; } = server.Loading is null ? server.Journal : null;

    /// <summary>The long work that runs.</summary>
    public LongWork[] Work => field ??= [.. LongWork.Of(server)];

    public ClientReading Clients => field ??= new ClientReading(server);

    public MemoryReading Memory => field ??= new MemoryReading(server);

    public StatsReading Stats => field ??= new StatsReading(this);

    public Replica[] Replicas => field ??= [.. server.Replicas.All];

    /// <summary>The counters of all commands, including those of commands that were not called.</summary>
    public CommandReading[] Commands => field ??=
        [.. server.Commands.All.Select(row => new CommandReading(row, server.Statistics.CallsOf(row.Id)))];

    /// <summary>Error codes and their counts.</summary>
    public List<KeyValuePair<string, long>> Errors => field ??= server.Statistics.Errors.Read();

    /// <summary>The counters of the event loops.</summary>
    public LoopCounters[] Loops => field ??= server.Loops();

    /// <summary>What the kernel knows about the process.</summary>
    public ProcessReading Process => field ??= ProcessReading.Recent();

    /// <summary>The result of the last garbage collection.</summary>
    public GCMemoryInfo Collector => _collector ??= GC.GetGCMemoryInfo();

    /// <summary>The latencies of a family of <see cref="InternalsInfo.CommandFamilies"/>.</summary>
    public LatencyHistogram? FamilyLatency(int family) => (_families ??= ReadFamilies())[family];

    /// <summary>The cluster, or null if this server is no node of one.</summary>
    public ClusterReading? Cluster => field ??= server.Cluster is { } cluster ? new ClusterReading(cluster) : null;

    public DatabaseReading[] Databases => field ??= DatabaseReading.All(server);

    /// <summary>The processor time of the process.</summary>
    public Environment.ProcessCpuUsage Processor => _processor ??= Environment.CpuUsage;

    /// <summary>Sums a histogram of every lane.</summary>
    public LatencyHistogram Sum(Func<Lane, LatencyHistogram?> of) => server.Statistics.Sum(of, NewHistogram());

    private LatencyHistogram NewHistogram() => room?.Take() ?? new LatencyHistogram();

    private LatencyHistogram?[] ReadFamilies()
    {
        var families = new LatencyHistogram?[InternalsInfo.CommandFamilies.Length];
        if (!Config.LatencyTracking) return families;
        LatencyHistogram all = families[0] = NewHistogram();
        foreach (CommandReading command in Commands)
        {
            if (command.Counters.Calls == 0) continue;
            int family = Array.IndexOf(InternalsInfo.CommandFamilies, command.Row.Group);
            if (family < 0) continue;
            server.Statistics.AddLatency(command.Row.Id, families[family] ??= NewHistogram());
        }
        for (int i = 1; i < families.Length; i++)
            if (families[i] is { } family) all.Add(family);
        return families;
    }
}

/// <summary>A command and its counters.</summary>
internal readonly record struct CommandReading(CommandRow Row, CommandCounters Counters);
