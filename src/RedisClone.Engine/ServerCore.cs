using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using Microsoft.Extensions.Logging;
using RedisClone.Configuration;
using RedisClone.Engine.Acl;
using RedisClone.Engine.Caching;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Execution;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Migrating;
using RedisClone.Engine.Pubsub;
using RedisClone.Engine.Replication;
using RedisClone.Engine.Replication.Following;
using RedisClone.Engine.Scripting;
using RedisClone.Engine.Shards;
using RedisClone.Journal.Disk;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Scheduling;

namespace RedisClone.Engine;

/// <summary>The parts of one running server. Each is created once and passed to the classes that use it.</summary>
internal sealed class ServerCore : IDataServices, IClientServices
{
    public ServerCore(ServerConfig config, ConfigTable parameters, CommandTable commands, ILogger<ServerCore> log, IDisk? disk = null)
    {
        Config = config;
        Role = new ReplicationRole(this);
        Failover = new Failover(this);
        Cluster = config.ClusterEnabled ? new ClusterMember(this) : null;
        RoleFile = new RoleFile(this);
        Disk = disk ?? RealDisk.Instance;
        Parameters = parameters;
        Log = log;
        Commands = commands;
        Access = new AccessControl(this);
        var errors = new ErrorStatistics { Overflowed = codes => log.LogWarning(
            "Errorstats stopped adding new errors because the number of errors reached the limit. Current errors code list: {Codes}", codes) };
        Lanes = new LaneSet(Commands.All.Length, errors);
        Statistics = new Statistics(Lanes);
        SlowLog = new SlowLog(config);
        Latency = new LatencyMonitor(config);
        RequestLimits = new RequestLimits
        {
            MaxBulkLength = Math.Min(config.ProtoMaxBulkLen, Limits.MaxValueBytes),
            MaxBatchRequests = Limits.BatchRequests,
            TrustedLength = (int)HeapLimit.Part(Limits.TrustedPart, Limits.TrustedLength),
        };
        Shards = new ShardMap(ShardCount(config), config.Databases, config.ClusterEnabled);
        Notifications = new Notifications(Hub) { Enabled = config.NotifyKeyspaceEvents };
        KeyEvents = new KeyEvents(this);
        Invalidations = new Invalidations(this);
        AccessClock = new AccessClock(config);
        TtlAverages = new TtlAverages(config.Databases);
        AdvanceClock(UnixMilliseconds());
        Eviction = new Eviction(this);
        Executor = new Executor(this);
        Failures = new FailurePolicy(this);
        Blocked = new BlockedClients(this);
        Sampler = new Sampler(this);
        ShardLoads = new ShardLoads(Shards);
        ClientMemory = new ClientMemory(this);
        Shutdown = new Shutdown(this);
        MigrationLinks = new MigrationLinks(this);
        ParameterEffects.Attach(this);
        Scripts = new ScriptEngine(this);
        var slot = new SnapshotSlot(this);
        Snapshots = new Snapshots(this, slot);
        Rewrites = new JournalRewrites(this, slot);
        Backups = new Backups(this, slot);
        Replicas = new Replicas(this, slot);
        Replicas.Stream.BacklogSize = config.ReplBacklogSize;
        Shutdown.Save = Snapshots.SaveAtShutdown;
        Eviction.Look();
    }

    public ServerConfig Config { get; }

    /// <summary>The parameters of <see cref="Config"/> by name, for CONFIG.</summary>
    public ConfigTable Parameters { get; }

    public ILogger Log { get; }

    /// <summary>The disk that holds the data.</summary>
    public IDisk Disk { get; }

    public CommandTable Commands { get; }

    /// <summary>The users and their permissions.</summary>
    public AccessControl Access { get; }

    public ShardMap Shards { get; }

    public LaneSet Lanes { get; }

    public Statistics Statistics { get; }

    public Sampler Sampler { get; }

    public SlowLog SlowLog { get; }

    internal LatencyMonitor Latency { get; }

    internal HotKeys HotKeys { get; } = new();

    public Shutdown Shutdown { get; }

    /// <summary>The switches that DEBUG sets.</summary>
    public DebugSwitches Debug { get; } = new();

    public SessionRegistry Sessions { get; } = new();

    internal ClientMemory ClientMemory { get; }

    public ClientPause Pause { get; } = new();

    /// <summary>The limits that the parser of every connection uses. They are read again for each parse.</summary>
    public RequestLimits RequestLimits { get; }

    public EffectLog Effects { get; } = new();

    /// <summary>Null if the journal is off.</summary>
    internal JournalKeeper? Journal { get; set; }

    /// <summary>Null when all data is loaded.</summary>
    internal LoadProgress? Loading { get; private set; }

    /// <summary>How long the load at the start took.</summary>
    internal long LoadMilliseconds { get; private set; }

    public Snapshots Snapshots { get; }

    internal JournalRewrites Rewrites { get; }

    internal Backups Backups { get; }

    /// <summary>The connections that MIGRATE keeps.</summary>
    public MigrationLinks MigrationLinks { get; }

    public Replicas Replicas { get; }

    /// <summary>The role of this server in replication.</summary>
    public ReplicationRole Role { get; }

    /// <summary>The change of roles that FAILOVER began.</summary>
    public Failover Failover { get; }

    /// <summary>This server as a node of a cluster; null if it is not one.</summary>
    public ClusterMember? Cluster { get; }

    /// <summary>Keeps the role beside the data.</summary>
    public RoleFile RoleFile { get; }

    public Hub Hub { get; } = new();

    public Monitors Monitors { get; } = new();

    public Notifications Notifications { get; }

    public KeyEvents KeyEvents { get; }

    /// <summary>Notifies clients that cache keys.</summary>
    public Invalidations Invalidations { get; }

    public AccessClock AccessClock { get; }

    public TtlAverages TtlAverages { get; }

    public Eviction Eviction { get; }

    public Executor Executor { get; }

    /// <summary>Handles unexpected exceptions.</summary>
    internal FailurePolicy Failures { get; }

    internal ScriptEngine Scripts { get; }

    internal BlockedClients Blocked { get; }

    /// <summary>False while data is loading: expired keys stay visible.</summary>
    public bool ExpiryEnabled { get; set; } = true;

    public string RunId { get; } = ReplicationHistory.NewId();

    /// <summary>The names of the history of the data for replicas.</summary>
    public ReplicationHistory History { get; } = new();

    /// <summary>The system interface through which connections are served, for INFO. The host sets it.</summary>
    public string MultiplexingApi { get; set; } = "sockets";

    /// <summary>Reads the counters of the event loops, if the transport has event loops. The host sets it.</summary>
    public Func<LoopCounters[]> Loops { get; set; } = static () => [];

    /// <summary>Makes a support bundle; null if another one is being made. The host sets it.</summary>
    public Func<byte[]?> SupportBundle { get; set; } = static () => null;

    internal ShardLoads ShardLoads { get; }

    public long StartedAt { get; } = UnixMilliseconds();

    /// <summary>Publishes the current time to the shards, which record when keys are used.</summary>
    internal void AdvanceClock(long now)
    {
        AccessClock.Advance(now);
        for (int i = 0; i < Shards.Count; i++) Shards[i].Store.NewAccess = AccessClock.New;
    }

    public static long UnixMicroseconds() => (DateTime.UtcNow.Ticks - DateTime.UnixEpoch.Ticks) / TimeSpan.TicksPerMicrosecond;

    public static long UnixMilliseconds() => DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();

    /// <summary>Converts ticks of the clock that measures commands to microseconds.</summary>
    public static long Microseconds(long ticks)
    {
        // The product of a sum of some hours does not fit.
        (long seconds, long rest) = Math.DivRem(ticks, Stopwatch.Frequency);
        return seconds * 1_000_000 + rest * 1_000_000 / Stopwatch.Frequency;
    }

    /// <summary>Whether clients write faster than the disk of the journal, or of a backup, so that commands that write must wait.</summary>
    internal bool IsDiskBehind
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Journal is { IsBehind: true } || Backups.IsBehind;
    }

    /// <summary>The error that refuses writes because they could not be made durable, or null.</summary>
    internal string? DiskRefusal => Snapshots.RefusesWrites ? Errors.SnapshotsFail
        : Journal is { WriteRefusal.Length: > 0 } journal ? Errors.JournalFailed(journal.WriteRefusal)
        : Rewrites.IsSuspended ? Errors.JournalFailed(JournalRewrites.NotBegun)
        : RoleFile.Failure is { } failure && Journal is not null && !Role.IsReplica ? Errors.RoleNotKept(failure) : null;

    /// <summary>
    /// The error that refuses the stream of a primary because the disk has failed, or null. A journal that begins again does not refuse it,
    /// because no reply waits for the stream.
    /// </summary>
    internal string? StreamRefusal => Snapshots.RefusesWrites ? Errors.SnapshotsFail
        : Journal is { Failure.Length: > 0 } journal ? Errors.JournalFailed(journal.Failure) : null;

    /// <summary>
    /// Applies the settings that must be in force before the first client connects. From here on, the server counts as loading.
    /// </summary>
    /// <returns>Null, or the reason why the server must not start.</returns>
    public string? Prepare()
    {
        if (RenameCommands() is { } problem) return problem;
        if (Access.LoadAtStart() is { } refusal) return refusal;
        if (Cluster?.Prepare() is { } unfit) return unfit;
        if (RoleFile.Read() is { } damage) return damage;
        BeginLoading();
        return null;
    }

    /// <summary>Holds every shard. From here on, the server counts as loading.</summary>
    internal void BeginLoading()
    {
        for (int i = 0; i < Shards.Count; i++) Shards[i].TryEnter();
        Loading = new LoadProgress();
    }

    /// <summary>Applies rename-command. Returns null, or the reason why it cannot.</summary>
    internal string? RenameCommands()
    {
        foreach (ConfigDirective rename in Config.RenamedCommands)
            if (Commands.Rename(rename.Words[1], rename.Words[2]) is { } problem) return $"{problem}: {rename.Text}";
        return null;
    }

    /// <summary>Loads the stored data. Clients get the error LOADING meanwhile, and every shard is held.</summary>
    /// <returns>Null, or the reason why the server must not continue.</returns>
    public string? LoadData()
    {
        string? refusal;
        using HeapRelief.Patience patience = HeapRelief.BePatient();
        if (!Config.AppendOnly)
        {
            if (Config.LoadsData) UnreadData.WarnOfJournal(this);
            refusal = Config.LoadsData ? Snapshots.Load() : null;
        }
        else
        {
            refusal = Rewrites.Keeper.Start();
            Journal = Rewrites.Keeper;
        }
        if (refusal is not null) return refusal;
        if (Cluster is not null && SlotKeys.AreElsewhere(this)) return "You can't have keys in a DB different than DB 0 when in Cluster mode. Exiting.";
        Snapshots.CountFromHere();
        Snapshots.WarnIfImpossible();
        LoadMilliseconds = UnixMilliseconds() - (Loading?.StartedAt ?? UnixMilliseconds());
        Loading = null;
        StreamPosition? position = Journal is null ? Snapshots.LoadedPosition : RoleFile.PositionAt(Journal.Engine.Lsn, Journal.FoundFingerprint);
        if (position is not null) Role.Resume(position);
        Role.Begin();
        Cluster?.Begin();
        for (int i = 0; i < Shards.Count; i++) Shards[i].Exit();
        return null;
    }

    /// <summary>Loads data in place of the present ones, with every shard held. Clients get the error LOADING meanwhile.</summary>
    internal string? LoadAgain(Func<string?> load, bool canBeCancelled)
    {
        Loading = new LoadProgress { CanBeCancelled = canBeCancelled };
        Backups.DataReplaced();
        try
        {
            return load();
        }
        finally
        {
            Loading = null;
        }
    }

    private static int ShardCount(ServerConfig config)
    {
        if (config.Shards > 0) return config.Shards;
        int wanted = Math.Min(Environment.ProcessorCount * 16, Limits.MostShards);
        return Math.Clamp((int)BitOperations.RoundUpToPowerOf2((uint)wanted), 4, ShardSet.MaxShards);
    }
}
