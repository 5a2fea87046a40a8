using System.Collections;

namespace RedisClone.Configuration;

/// <summary>
/// The current values of the parameters, one field each, so that a hot path only reads a field. Names, defaults and rules are
/// in <see cref="ConfigTable"/> only. CONFIG SET writes fields while other threads read them, so each value is replaced as a
/// whole and an array is never modified. A component that needs several values to be consistent uses
/// <see cref="ConfigTable.OnChanged"/>. Defaults are those of Redis; memory is in bytes.
/// </summary>
internal sealed class ServerConfig
{
    /// <summary>
    /// The value of <see cref="Port"/> until the system assigns a free port. A configuration file cannot contain it.
    /// </summary>
    internal const int AnyPort = -1;

    /// <summary>The value of <see cref="MaxMemorySetting"/> that selects a limit by the memory of the machine.</summary>
    internal const long Auto = -1;

    /// <summary>The largest number of shards. A set of shards is a bitmap of this size.</summary>
    internal const int MaxShards = 256;

    private readonly Lazy<long> _autoMaxMemory;

    /// <summary>Whether the server begins with the data and the role that a run before has left in its directory.</summary>
    public bool LoadsData = true;

    // Network
    public string[] Bind = [];
    public int Port;
    public int MetricsPort;
    public int HttpPort;
    public string[] HttpBind = [];
    public bool HttpTls;
    public bool HttpAllowPlain;
    public bool HttpOpenMetrics;
    public string[] HttpHosts = [];
    public bool MetricsHistory;
    public string OtlpEndpoint = "";
    public int OtlpInterval;
    public string OtlpHeadersFile = "";
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

    /// <summary>The local address of outgoing connections, or empty.</summary>
    public string BindSourceAddress = "";
    public SupervisedMode Supervised;
    public int Hz;
    public int ShutdownTimeout;
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
    public bool HugePages;
    public int MaxMemorySamples;
    public int MaxMemoryEvictionTenacity;
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

    /// <summary>
    /// Bytes, or a negative number as a percentage of <see cref="MaxMemoryBytes"/>; see <see cref="MaxMemoryClientsBytes"/>.
    /// </summary>
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
    public long LoadingProcessEventsIntervalBytes;
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

    // Encodings: the maximum sizes of packed values
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
    public string MasterUser = "";
    public string MasterAuth = "";
    public bool ReplicaServeStaleData;
    public bool ReplicaReadOnly;
    public bool ReplicaIgnoreMaxMemory;
    public bool ReplicaAnnounced;
    public string ReplicaAnnounceIp = "";
    public int ReplicaAnnouncePort;
    public int ReplicaPriority;
    public long ReplBacklogTtl;
    public int ReplPingReplicaPeriod;
    public int ReplTimeout;
    public bool ReplDisklessSync;
    public int ReplDisklessSyncDelay;
    public int ReplDisklessSyncMaxReplicas;
    public DisklessLoad ReplDisklessLoad;
    public bool ReplicaIgnoreDiskWriteErrors;
    public long ReplBacklogSize;
    public int MinReplicasToWrite;
    public int MinReplicasMaxLag;
    public bool ClusterEnabled;
    public string ClusterConfigFile = "";
    public long ClusterNodeTimeout;
    public long ClusterPingInterval;
    public int ClusterPort;
    public int ClusterReplicaValidityFactor;
    public bool ClusterReplicaNoFailover;
    public bool ClusterAllowReplicaMigration;
    public int ClusterMigrationBarrier;
    public bool ClusterRequireFullCoverage;
    public bool ClusterAllowReadsWhenDown;
    public bool ClusterAllowPubSubShardWhenDown;
    public bool ClusterSlotStatsEnabled;
    public long ClusterLinkSendbufLimit;
    public long ClusterSlotMigrationHandoffMaxLagBytes;
    public long ClusterSlotMigrationWritePauseTimeout;
    public string ClusterAnnounceIp = "";
    public int ClusterAnnouncePort;
    public int ClusterAnnounceTlsPort;
    public int ClusterAnnounceBusPort;
    public string ClusterAnnounceHostname = "";
    public string ClusterAnnounceHumanNodename = "";
    public ClusterEndpointType ClusterPreferredEndpointType;
    public bool TlsCluster;

    // TLS
    public bool TlsReplication;
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

    /// <summary>The distance from the port for clients to the port of the bus, unless a parameter sets the latter.</summary>
    public const int BusPortDistance = 10000;

    public ServerConfig()
    {
        // The remaining quarter is for clients, scripts and the runtime.
        _autoMaxMemory = new Lazy<long>(() => Math.Min(HostMemory, CollectorLimit) / 4 * 3);
        foreach (Parameter parameter in ConfigTable.Parameters) parameter.Reset(this);
    }

    /// <summary>The configuration of a server without any settings. Must not be modified.</summary>
    public static ServerConfig Defaults { get; } = new();

    /// <summary>The absolute path of the configuration file, which CONFIG REWRITE replaces, or null.</summary>
    public string? ConfigFile { get; internal set; }

    /// <summary>The `user` lines, for access control.</summary>
    public List<ConfigDirective> Users { get; } = [];

    /// <summary>
    /// The `rename-command` lines, for the command table: the old name and the new name, or "" to remove the command.
    /// </summary>
    public List<ConfigDirective> RenamedCommands { get; } = [];

    /// <summary>The memory of the machine or container, from which `maxmemory auto` is computed.</summary>
    public long HostMemory { get; init; } = Configuration.HostMemory.Read("/", otherwise: CollectorLimit);

    /// <summary>
    /// The memory that the collector allows the process. In a container with a limit, this is three quarters of the limit
    /// unless DOTNET_GCHeapHardLimitPercent is set.
    /// </summary>
    private static long CollectorLimit => GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;

    /// <summary>Whether writes are refused if too few replicas are up to date.</summary>
    public bool WantsReplicas => MinReplicasToWrite > 0 && MinReplicasMaxLag > 0;

    /// <summary>The port of the cluster bus; 0 for a server that is not a node of a cluster.</summary>
    public int BusPort => !ClusterEnabled ? 0 : ClusterPort > 0 ? ClusterPort : (TlsCluster ? TlsPort : Port) + BusPortDistance;

    /// <summary>The number of event loops: io-loops, or Redis's io-threads if greater than 1, or one per core.</summary>
    public int IoLoopCount => IoLoops > 0 ? IoLoops : IoThreads > 1 ? IoThreads : Environment.ProcessorCount;

    /// <summary>Whether the event loops are as many as the load needs. A number in the configuration means that many.</summary>
    public bool LoopsJoinByLoad => IoLoops == 0 && IoThreads == 1;

    /// <summary>The limit for data in bytes; 0 is no limit.</summary>
    public long MaxMemoryBytes => MaxMemorySetting == Auto ? _autoMaxMemory.Value : MaxMemorySetting;

    public long MaxMemoryClientsBytes => MaxMemoryClients >= 0 ? MaxMemoryClients : MaxMemoryBytes / 100 * -MaxMemoryClients;

    /// <summary>The values of parameters that nothing reads; see <see cref="Unread"/>.</summary>
    internal Dictionary<string, object> UnreadValues { get; } = [];

    /// <summary>The absolute form of a path in the configuration, which is relative to `dir`.</summary>
    public string PathOf(string path) => Path.GetFullPath(path, Dir);

    /// <summary>
    /// Loads the configuration of this process: defaults, then the file, the environment and the command line.
    /// </summary>
    public static ConfigLoad Load(IReadOnlyList<string> args, IDictionary environment, Func<Stream>? openStandardInput = null) =>
        ConfigLoader.Load(args, environment, openStandardInput ?? Console.OpenStandardInput);

    public static bool Allows(ProtectedAction action, bool isLocalClient) =>
        action == ProtectedAction.Yes || (action == ProtectedAction.Local && isLocalClient);
}
