using RedisClone.Configuration;
using RedisClone.Engine.Cluster.Bus;

namespace RedisClone.Engine.Cluster.State;

/// <summary>
/// A node of the cluster as this node knows it. The lock of the cluster protects it. Redirections read the address without the lock.
/// </summary>
internal sealed class ClusterNode(string name, NodeFlags flags, long now)
{
    /// <summary>The primaries that report a failure of this node, and the times of their last reports.</summary>
    private readonly Dictionary<ClusterNode, long> _failureReports = [];

    private volatile BusLink? _link;

    public string Name { get; set; } = name;

    /// <summary>A primary and its replicas have the same one.</summary>
    public string ShardId { get; set; } = NodeId.New();

    public NodeFlags Flags { get; set; } = flags;

    public ulong ConfigEpoch { get; set; }

    public SlotSet Slots { get; } = new();

    /// <summary>The primary of a replica. It may be null for a replica whose primary is not known.</summary>
    public ClusterNode? Primary { get; set; }

    public List<ClusterNode> Replicas { get; } = [];

    public string Ip { get; set; } = "";

    public int Port { get; set; }

    public int TlsPort { get; set; }

    public int BusPort { get; set; }

    public string HostName { get; set; } = "";

    public string HumanName { get; set; } = "";

    /// <summary>The names for a line of the log.</summary>
    public string Label => $"{Name} ({HumanName})";

    /// <summary>The connection from this server to the node.</summary>
    public BusLink? Link
    {
        get => _link;
        set => _link = value;
    }

    /// <summary>The connection from the node to this server.</summary>
    public BusLink? Inbound { get; set; }

    /// <summary>Whether the node has told its shard. Redis before 7.2 has no shards and logs a warning about each announcement.</summary>
    public bool KnowsShards { get; set; }

    public long CreatedAt { get; } = now;

    /// <summary>The time of the ping that the node has not answered yet; 0 for none.</summary>
    public long PingSent { get; set; }

    public long PongReceived { get; set; }

    public long DataReceived { get; set; }

    public long FailedAt { get; set; }

    /// <summary>When this node last voted for a replica of the node.</summary>
    public long VotedAt { get; set; }

    /// <summary>Since when the primary has no working replica; 0 if it has one.</summary>
    public long OrphanedSince { get; set; }

    public long ReplicationOffset { get; set; }

    public bool IsMyself => Has(NodeFlags.Myself);

    public bool IsPrimary => Has(NodeFlags.Primary);

    public bool IsReplica => Has(NodeFlags.Replica);

    public bool IsFailed => Has(NodeFlags.Failed);

    public bool IsInHandshake => Has(NodeFlags.Handshake);

    /// <summary>The primary whose slots the node serves: itself or its primary.</summary>
    public ClusterNode Leader => IsReplica && Primary is { } primary ? primary : this;

    public bool Has(NodeFlags flag) => (Flags & flag) != 0;

    public int WorkingReplicas => Replicas.Count(static replica => !replica.IsFailed);

    /// <summary>The port for clients.</summary>
    public int ClientPort(bool tls) => tls && TlsPort > 0 ? TlsPort : Port > 0 ? Port : TlsPort;

    /// <summary>The address for clients: by the configuration the IP address, the host name, or nothing.</summary>
    public string Endpoint(ClusterEndpointType type) => type switch
    {
        ClusterEndpointType.Ip => Ip,
        ClusterEndpointType.HostName => HostName.Length > 0 ? HostName : "?",
        _ => "",
    };

    /// <summary>Notes the report of a failure; true for a new one.</summary>
    public bool AddFailureReport(ClusterNode by, long now)
    {
        bool isNew = !_failureReports.ContainsKey(by);
        _failureReports[by] = now;
        return isNew;
    }

    public bool RemoveFailureReport(ClusterNode by) => _failureReports.Remove(by);

    /// <summary>Counts the reports that are not older than <paramref name="validity"/> milliseconds.</summary>
    public int CountFailureReports(long now, long validity)
    {
        foreach ((ClusterNode by, long at) in _failureReports)
            if (now - at > validity) _failureReports.Remove(by);
        return _failureReports.Count;
    }
}
