using System.Collections;

namespace RedisClone.Server.Admin;

/// <summary>
/// The current values of the parameters, one field each, so that hot paths read a field and nothing else. Names, defaults, rules
/// and meaning are in <see cref="ConfigTable"/>, and only there. CONFIG SET writes the fields while others read them: each is
/// replaced whole (an array is never changed in place), and a reader that needs two values to agree is told by
/// <see cref="ConfigTable.OnChanged"/>. Defaults are those of Redis; memory is in bytes.
/// </summary>
internal sealed class ServerConfig
{
    /// <summary>What <see cref="Port"/> is until the system has chosen a free one; no line of a file can say it.</summary>
    internal const int AnyPort = -1;

    /// <summary>What <see cref="MaxMemorySetting"/> is where the machine decides.</summary>
    internal const long Auto = -1;

    private readonly Lazy<long> _autoMaxMemory;

    // Network
    public string[] Bind = [];
    public int Port;
    public int MetricsPort;
    public bool ProtectedMode;
    public int TcpBacklog;
    public int TcpKeepAlive;
    public int Timeout;
    public string UnixSocket = "";
    public uint UnixSocketPerm;
    public uint MaxClients;
    public TransportKind Transport;
    public int IoLoops;
    public int IoThreads;
    public int Shards;

    // General
    public int Databases;
    public ServerLogLevel LogLevel;
    public LogFormat LogFormat;
    public string LogFile = "";
    public string PidFile = "";
    public SupervisedMode Supervised;
    public int Hz;
    public ShutdownOptions ShutdownOnSigint;
    public ShutdownOptions ShutdownOnSigterm;
    public OomScoreMode OomScoreAdj;
    public int[] OomScoreAdjValues = [];

    // Security
    public string RequirePass = "";
    public string AclFile = "";
    public long AclLogMaxLen;
    public bool AclPubsubAllChannels;
    public ProtectedAction EnableProtectedConfigs;
    public ProtectedAction EnableDebugCommand;

    // Memory

    /// <summary>Bytes, or <see cref="Auto"/>; see <see cref="MaxMemoryBytes"/>.</summary>
    public long MaxMemorySetting;
    public MaxMemoryPolicy MaxMemoryPolicy;
    public int MaxMemorySamples;
    public int LfuLogFactor;
    public int LfuDecayTime;
    public int ActiveExpireEffort;
    public bool LazyFreeExpire;
    public bool LazyFreeServerDel;
    public bool LazyFreeUserFlush;

    // Clients
    public long ProtoMaxBulkLen;
    public long ClientQueryBufferLimit;
    public OutputBufferLimit[] ClientOutputBufferLimits = [];

    /// <summary>Bytes, or as a negative number a percentage of <see cref="MaxMemoryBytes"/>; see <see cref="MaxMemoryClientsBytes"/>.</summary>
    public long MaxMemoryClients;
    public long TrackingTableMaxKeys;
    public long BusyReplyThreshold;
    public uint ClientDefaultResp;

    // Snapshots and journal
    public SavePoint[] SavePoints = [];
    public string Dir = "";
    public string DbFilename = "";
    public bool RdbCompression;
    public bool RdbChecksum;
    public bool StopWritesOnBgsaveError;
    public int RdbKeySaveDelay;
    public int KeyLoadDelay;
    public bool AppendOnly;
    public string AppendFilename = "";
    public string AppendDirname = "";
    public string BackupDirname = "";
    public int BackupSealedTtl;
    public AppendFsync AppendFsync;
    public int AutoAofRewritePercentage;
    public long AutoAofRewriteMinSize;
    public bool AofLoadTruncated;
    public bool AofUseRdbPreamble;

    // Encodings: where a small value's packed form ends
    public long HashMaxListpackEntries;
    public long HashMaxListpackValue;
    public int ListMaxListpackSize;
    public int ListCompressDepth;
    public long SetMaxIntsetEntries;
    public long SetMaxListpackEntries;
    public long SetMaxListpackValue;
    public long ZsetMaxListpackEntries;
    public long ZsetMaxListpackValue;
    public long HllSparseMaxBytes;
    public long StreamNodeMaxBytes;
    public long StreamNodeMaxEntries;
    public int StreamIdmpDuration;
    public int StreamIdmpMaxSize;

    // Diagnostics
    public long SlowlogLogSlowerThan;
    public long SlowlogMaxLen;
    public int SlowlogEntryMaxArgc;
    public long SlowlogEntryMaxStringLen;
    public long LatencyMonitorThreshold;
    public bool LatencyTracking;
    public double[] LatencyTrackingInfoPercentiles = [];
    public NotifyFlags NotifyKeyspaceEvents;

    // Replication and cluster
    public ReplicaOf? ReplicaOf;
    public int ReplPingReplicaPeriod;
    public int ReplTimeout;
    public long ReplBacklogSize;
    public int MinReplicasToWrite;
    public int MinReplicasMaxLag;
    public bool ClusterEnabled;

    // TLS
    public int TlsPort;
    public string TlsCertFile = "";
    public string TlsKeyFile = "";
    public string TlsKeyFilePass = "";
    public string TlsCaCertFile = "";
    public string TlsCaCertDir = "";
    public TlsAuthClients TlsAuthClients;
    public TlsAuthClientsUser TlsAuthClientsUser;
    public string TlsProtocols = "";
    public string TlsCipherSuites = "";
    public bool TlsSessionCaching;

    public ServerConfig()
    {
        // The rest is for clients, scripts and the runtime.
        _autoMaxMemory = new Lazy<long>(() => Math.Min(HostMemory, CollectorLimit) / 4 * 3);
        foreach (Parameter parameter in ConfigTable.Parameters) parameter.Reset(this);
    }

    /// <summary>What a server without any configuration runs with. Not to be changed.</summary>
    public static ServerConfig Defaults { get; } = new();

    /// <summary>The absolute path of the file that this was read from; CONFIG REWRITE writes there. Null: there was none.</summary>
    public string? ConfigFile { get; internal set; }

    /// <summary>The `user` lines, for the ACL.</summary>
    public List<ConfigDirective> Users { get; } = [];

    /// <summary>The `rename-command` lines, for the command table: old name and new name, or "" to take the command away.</summary>
    public List<ConfigDirective> RenamedCommands { get; } = [];

    /// <summary>The memory that the machine (or the container) has: what `maxmemory auto` goes by.</summary>
    public long HostMemory { get; init; } = Admin.HostMemory.Read("/", otherwise: CollectorLimit);

    /// <summary>What the collector lets the process have: where a container is limited, three quarters of it unless DOTNET_GCHeapHardLimitPercent says more.</summary>
    private static long CollectorLimit => GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;

    /// <summary>Writes are refused with too few replicas that follow closely.</summary>
    public bool WantsReplicas => MinReplicasToWrite > 0 && MinReplicasMaxLag > 0;

    /// <summary>Event loops to run: io-loops, else Redis's io-threads where it asks for several, else one a core.</summary>
    public int IoLoopCount => IoLoops > 0 ? IoLoops : IoThreads > 1 ? IoThreads : Environment.ProcessorCount;

    /// <summary>What the data may take; 0 is no limit.</summary>
    public long MaxMemoryBytes => MaxMemorySetting == Auto ? _autoMaxMemory.Value : MaxMemorySetting;

    public long MaxMemoryClientsBytes => MaxMemoryClients >= 0 ? MaxMemoryClients : MaxMemoryBytes / 100 * -MaxMemoryClients;

    /// <summary>Where parameters live that nothing reads; see <see cref="Unread"/>.</summary>
    internal Dictionary<string, object> UnreadValues { get; } = [];

    /// <summary>File names in the configuration are relative to `dir`.</summary>
    public string PathOf(string path) => Path.GetFullPath(path, Dir);

    /// <summary>Reads everything that configures this process: defaults, then the file, the environment, the command line.</summary>
    public static ConfigLoad Load(IReadOnlyList<string> args, IDictionary environment, Func<Stream>? openStandardInput = null) =>
        ConfigLoader.Load(args, environment, openStandardInput ?? Console.OpenStandardInput);

    public static bool Allows(ProtectedAction action, bool isLocalClient) =>
        action == ProtectedAction.Yes || (action == ProtectedAction.Local && isLocalClient);
}
