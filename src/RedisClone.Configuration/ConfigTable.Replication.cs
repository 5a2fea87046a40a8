namespace RedisClone.Configuration;

/// <summary>The parameters for masters and replicas.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Replication() =>
    [
        new ReplicaOfParameter("replicaof", static c => ref c.ReplicaOf, "The master of this server.", "slaveof", Immutable | Unsupported),
        Text("masteruser", null, "ACL user to log in as at the master.", flags: Secret | TunesNothing),
        Text("masterauth", null, "Password at the master.", flags: Secret | TunesNothing),
        Bool("replica-serve-stale-data", true,
            "Serve clients while the master cannot be reached.", "slave-serve-stale-data", TunesNothing),
        Bool("replica-read-only", true, "Refuse the writes of clients on a replica.", "slave-read-only", TunesNothing),
        Bool("replica-lazy-flush", false,
            "Free the old data in the background before a full synchronization.", "slave-lazy-flush", TunesNothing),
        Bool("replica-ignore-maxmemory", true, "Leave eviction to the master.", "slave-ignore-maxmemory", TunesNothing),
        Bool("replica-ignore-disk-write-errors", false, "Continue as a replica if the disk fails.", flags: TunesNothing),
        Bool("replica-announced", true, "Show this replica to Sentinel.", flags: TunesNothing),
        Text("replica-announce-ip", null, "Address that the master reports for this replica.", "slave-announce-ip", TunesNothing),
        Int("replica-announce-port", 0, 0, 65535,
            "Port that the master reports for this replica.", "slave-announce-port", TunesNothing),
        Int("replica-priority", 100, 0, int.MaxValue,
            "Order in which Sentinel promotes replicas, lowest first; 0 never.", "slave-priority", TunesNothing),
        Bytes("replica-full-sync-buffer-limit", 0, 0,
            "Limit of the buffer during a full synchronization; 0 uses client-output-buffer-limit.", flags: TunesNothing),
        Bool("repl-diskless-sync", true, "Send a full synchronization without a file.", flags: TunesNothing),
        Int("repl-diskless-sync-delay", 5, 0, int.MaxValue,
            "Seconds to wait for more replicas before a full synchronization.", flags: TunesNothing),
        Int("repl-diskless-sync-max-replicas", 0, 0, int.MaxValue,
            "Number of replicas at which this wait ends; 0 always waits.", flags: TunesNothing),
        Choice("repl-diskless-load", "disabled", ["disabled", "on-empty-db", "swapdb"],
            "Load a full synchronization from the connection instead of a file.", DenyLoading | TunesNothing),
        Bool("repl-disable-tcp-nodelay", false, "Send fewer, larger packets to replicas.", flags: TunesNothing),
        Int("repl-ping-replica-period", 10, 1, int.MaxValue, static c => ref c.ReplPingReplicaPeriod,
            "Seconds between pings to replicas.", "repl-ping-slave-period"),
        Int("repl-timeout", 60, 1, int.MaxValue, static c => ref c.ReplTimeout,
            "Seconds of silence after which a replica is disconnected."),
        Bytes("repl-backlog-size", 1048576, 1, static c => ref c.ReplBacklogSize,
            "Bytes of the stream kept for replicas that reconnect.", flags: TunesNothing),
        Long("repl-backlog-ttl", 3600, 0,
            "Seconds without a replica after which the backlog is freed; 0 never.", flags: TunesNothing),
        Int("min-replicas-to-write", 0, 0, int.MaxValue, static c => ref c.MinReplicasToWrite,
            "Refuse writes if fewer replicas are good.", "min-slaves-to-write"),
        Int("min-replicas-max-lag", 10, 0, int.MaxValue, static c => ref c.MinReplicasMaxLag,
            "Seconds of silence up to which a replica is good.", "min-slaves-max-lag"),
        Choice("propagation-error-behavior", "ignore", ["ignore", "panic", "panic-on-replicas"],
            "Action if a command of the stream fails.", TunesNothing),
    ];
}
