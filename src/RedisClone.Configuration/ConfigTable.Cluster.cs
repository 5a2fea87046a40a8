namespace RedisClone.Configuration;

/// <summary>The parameters for cluster mode.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Cluster() =>
    [
        Bool("cluster-enabled", false, static c => ref c.ClusterEnabled, "Run as a node of a cluster.", flags: Immutable),
        Text("cluster-config-file", "nodes.conf", static c => ref c.ClusterConfigFile, "File with the cluster state of a node.", flags: Immutable),
        Long("cluster-node-timeout", 15000, 0, static c => ref c.ClusterNodeTimeout, "Milliseconds of silence after which a node is considered failed."),
        Long("cluster-ping-interval", 0, 0, static c => ref c.ClusterPingInterval,
            "Milliseconds between pings to other nodes; 0 is half of cluster-node-timeout.", flags: Hidden),
        Int("cluster-port", 0, 0, 65535, static c => ref c.ClusterPort, "Port of the cluster bus; 0 is port + 10000.", flags: Immutable),
        Int("cluster-replica-validity-factor", 10, 0, int.MaxValue, static c => ref c.ClusterReplicaValidityFactor,
            "Maximum age of a replica's data for a failover, in node timeouts; 0 is any age.", "cluster-slave-validity-factor"),
        Bool("cluster-replica-no-failover", false, static c => ref c.ClusterReplicaNoFailover,
            "Never fail over automatically.", "cluster-slave-no-failover"),
        Bool("cluster-allow-replica-migration", true, static c => ref c.ClusterAllowReplicaMigration,
            "Allow replicas to move to masters without a replica."),
        Int("cluster-migration-barrier", 1, 0, int.MaxValue, static c => ref c.ClusterMigrationBarrier,
            "Replicas that a master keeps when other replicas move."),
        Bool("cluster-require-full-coverage", true, static c => ref c.ClusterRequireFullCoverage, "Refuse all commands if a slot has no node."),
        Bool("cluster-allow-reads-when-down", false, static c => ref c.ClusterAllowReadsWhenDown, "Allow reads while the cluster is down."),
        Bool("cluster-allow-pubsubshard-when-down", true, static c => ref c.ClusterAllowPubSubShardWhenDown,
            "Allow sharded channels while the cluster is down."),
        Bytes("cluster-link-sendbuf-limit", 0, 0, static c => ref c.ClusterLinkSendbufLimit, "Bytes of pending output for another node; 0 is no limit."),
        Text("cluster-announce-ip", null, static c => ref c.ClusterAnnounceIp, "Address announced to other nodes."),
        Int("cluster-announce-port", 0, 0, 65535, static c => ref c.ClusterAnnouncePort, "Port announced to other nodes."),
        Int("cluster-announce-tls-port", 0, 0, 65535, static c => ref c.ClusterAnnounceTlsPort, "TLS port announced to other nodes."),
        Int("cluster-announce-bus-port", 0, 0, 65535, static c => ref c.ClusterAnnounceBusPort, "Bus port announced to other nodes."),
        Text("cluster-announce-hostname", null, static c => ref c.ClusterAnnounceHostname,
            "Host name announced to clients.", check: ParameterChecks.HostName),
        Text("cluster-announce-human-nodename", null, static c => ref c.ClusterAnnounceHumanNodename, "Name of the node in logs."),
        Choice("cluster-preferred-endpoint-type", ClusterEndpointType.Ip, ConfigChoices.ClusterEndpointType, static c => ref c.ClusterPreferredEndpointType,
            "Kind of address in redirections of clients."),
        Bool("cluster-slot-stats-enabled", false, static c => ref c.ClusterSlotStatsEnabled, "Count the use of each slot for CLUSTER SLOT-STATS."),
        Int("cluster-compatibility-sample-ratio", 0, 0, 100,
            "Percentage of commands checked for compatibility with a cluster.", flags: TunesNothing),
        Bytes("cluster-slot-migration-handoff-max-lag-bytes", 1048576, 0, static c => ref c.ClusterSlotMigrationHandoffMaxLagBytes,
            "Bytes that the new node of migrating slots may still lack when writes pause."),
        Long("cluster-slot-migration-write-pause-timeout", 10000, 0, static c => ref c.ClusterSlotMigrationWritePauseTimeout,
            "Milliseconds that all writes may pause while slots change their node."),
    ];
}
