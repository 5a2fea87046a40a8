namespace RedisClone.Configuration;

/// <summary>The parameters for cluster mode, which this server does not support.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Cluster() =>
    [
        Bool("cluster-enabled", false, static c => ref c.ClusterEnabled, "Run as a node of a cluster.", flags: Immutable | Unsupported),
        Text("cluster-config-file", "nodes.conf", "File with the cluster state of a node.", flags: Immutable | TunesNothing),
        Long("cluster-node-timeout", 15000, 0, "Milliseconds of silence after which a node is considered failed.", TunesNothing),
        Long("cluster-ping-interval", 0, 0, "Milliseconds between pings to other nodes.", Hidden | TunesNothing),
        Int("cluster-port", 0, 0, 65535, "Port of the cluster bus; 0 is port + 10000.", flags: Immutable | TunesNothing),
        Int("cluster-replica-validity-factor", 10, 0, int.MaxValue,
            "Maximum age of a replica's data for a failover.", "cluster-slave-validity-factor", TunesNothing),
        Bool("cluster-replica-no-failover", false, "Never fail over automatically.", "cluster-slave-no-failover", TunesNothing),
        Bool("cluster-allow-replica-migration", true,
            "Allow replicas to move to masters without a replica.", flags: TunesNothing),
        Int("cluster-migration-barrier", 1, 0, int.MaxValue,
            "Replicas that a master keeps when other replicas move.", flags: TunesNothing),
        Bool("cluster-require-full-coverage", true, "Refuse all commands if a slot has no node.", flags: TunesNothing),
        Bool("cluster-allow-reads-when-down", false, "Allow reads while the cluster is down.", flags: TunesNothing),
        Bool("cluster-allow-pubsubshard-when-down", true,
            "Allow sharded channels while the cluster is down.", flags: TunesNothing),
        Bytes("cluster-link-sendbuf-limit", 0, 0, "Bytes of pending output for another node; 0 is no limit.", TunesNothing),
        Text("cluster-announce-ip", null, "Address announced to other nodes.", flags: TunesNothing),
        Int("cluster-announce-port", 0, 0, 65535, "Port announced to other nodes.", flags: TunesNothing),
        Int("cluster-announce-tls-port", 0, 0, 65535, "TLS port announced to other nodes.", flags: TunesNothing),
        Int("cluster-announce-bus-port", 0, 0, 65535, "Bus port announced to other nodes.", flags: TunesNothing),
        Text("cluster-announce-hostname", null,
            "Host name announced to clients.", flags: TunesNothing, check: ParameterChecks.HostName),
        Text("cluster-announce-human-nodename", null, "Name of the node in logs.", flags: TunesNothing),
        Choice("cluster-preferred-endpoint-type", "ip", ["ip", "hostname", "unknown-endpoint"],
            "Kind of address in redirections of clients.", TunesNothing),
        Bool("cluster-slot-stats-enabled", false, "Count the use of each slot.", flags: TunesNothing),
        Int("cluster-compatibility-sample-ratio", 0, 0, 100,
            "Percentage of commands checked for compatibility with a cluster.", flags: TunesNothing),
        Bytes("cluster-slot-migration-handoff-max-lag-bytes", 1048576, 0,
            "Maximum lag of the new node when a slot is handed over.", TunesNothing),
        Long("cluster-slot-migration-write-pause-timeout", 10000, 0,
            "Milliseconds that writes may pause during the handover.", TunesNothing),
    ];
}
