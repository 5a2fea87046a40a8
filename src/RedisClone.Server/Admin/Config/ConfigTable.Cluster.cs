namespace RedisClone.Server.Admin;

/// <summary>Cluster mode, of which this server only knows the parameters.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Cluster() =>
    [
        Bool("cluster-enabled", false, static c => ref c.ClusterEnabled, "Be a node of a cluster.", flags: Immutable | Unsupported),
        Text("cluster-config-file", "nodes.conf", "File in which a node keeps what it knows of the cluster.", flags: Immutable | TunesNothing),
        Long("cluster-node-timeout", 15000, 0, "Milliseconds of silence after which a node counts as failed.", TunesNothing),
        Long("cluster-ping-interval", 0, 0, "Milliseconds between pings to other nodes.", Hidden | TunesNothing),
        Int("cluster-port", 0, 0, 65535, "Port of the cluster bus; 0 is the port and 10000.", flags: Immutable | TunesNothing),
        Int("cluster-replica-validity-factor", 10, 0, int.MaxValue, "How old the data of a replica may be that takes over.", "cluster-slave-validity-factor", TunesNothing),
        Bool("cluster-replica-no-failover", false, "Never take over from a master by itself.", "cluster-slave-no-failover", TunesNothing),
        Bool("cluster-allow-replica-migration", true, "Let replicas move to masters that have none.", flags: TunesNothing),
        Int("cluster-migration-barrier", 1, 0, int.MaxValue, "Replicas that a master keeps when others move.", flags: TunesNothing),
        Bool("cluster-require-full-coverage", true, "Refuse all when a slot has no node.", flags: TunesNothing),
        Bool("cluster-allow-reads-when-down", false, "Allow reads while the cluster is down.", flags: TunesNothing),
        Bool("cluster-allow-pubsubshard-when-down", true, "Allow sharded channels while the cluster is down.", flags: TunesNothing),
        Bytes("cluster-link-sendbuf-limit", 0, 0, "Bytes that may wait for another node; 0 is no limit.", TunesNothing),
        Text("cluster-announce-ip", null, "Address that other nodes are told.", flags: TunesNothing),
        Int("cluster-announce-port", 0, 0, 65535, "Port that other nodes are told.", flags: TunesNothing),
        Int("cluster-announce-tls-port", 0, 0, 65535, "TLS port that other nodes are told.", flags: TunesNothing),
        Int("cluster-announce-bus-port", 0, 0, 65535, "Bus port that other nodes are told.", flags: TunesNothing),
        Text("cluster-announce-hostname", null, "Host name that clients are told.", flags: TunesNothing, check: ParameterChecks.HostName),
        Text("cluster-announce-human-nodename", null, "Name of the node in logs.", flags: TunesNothing),
        Choice("cluster-preferred-endpoint-type", "ip", ["ip", "hostname", "unknown-endpoint"], "How clients are told where a slot is.", TunesNothing),
        Bool("cluster-slot-stats-enabled", false, "Count the use of each slot.", flags: TunesNothing),
        Int("cluster-compatibility-sample-ratio", 0, 0, 100, "Percentage of commands tested for whether a cluster would take them.", flags: TunesNothing),
        Bytes("cluster-slot-migration-handoff-max-lag-bytes", 1048576, 0, "How far the new node may lag when a slot is handed over.", TunesNothing),
        Long("cluster-slot-migration-write-pause-timeout", 10000, 0, "Milliseconds that writes may pause for it.", TunesNothing),
    ];
}
