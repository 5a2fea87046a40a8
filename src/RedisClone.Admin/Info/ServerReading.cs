using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Replication;

namespace RedisClone.Admin.Info;

/// <summary>
/// One reading of the server's state, from which one page is made. A value that several figures use is computed once, so that
/// the figures of a page agree, and only if a figure of the page uses it.
/// </summary>
internal sealed class ServerReading(ServerCore server)
{
    private Environment.ProcessCpuUsage? _processor;

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

    public ClientReading Clients => field ??= new ClientReading(server);

    public MemoryReading Memory => field ??= new MemoryReading(server);

    public StatsReading Stats => field ??= new StatsReading(this);

    public Replica[] Replicas => field ??= [.. server.Replicas.All];

    /// <summary>The counters of all commands, including those of commands that were not called.</summary>
    public CommandReading[] Commands => field ??=
        [.. server.Commands.All.Select(row => new CommandReading(row, server.Statistics.CallsOf(row.Id)))];

    /// <summary>Error codes and their counts.</summary>
    public List<KeyValuePair<string, long>> Errors => field ??= server.Statistics.Errors.Read();

    public DatabaseReading[] Databases => field ??= DatabaseReading.All(server);

    /// <summary>The processor time of the process.</summary>
    public Environment.ProcessCpuUsage Processor => _processor ??= Environment.CpuUsage;
}

/// <summary>A command and its counters.</summary>
internal readonly record struct CommandReading(CommandRow Row, CommandCounters Counters);
