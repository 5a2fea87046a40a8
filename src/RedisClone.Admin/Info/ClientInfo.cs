using static RedisClone.Admin.Info.Metric;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section about clients.</summary>
internal static class ClientInfo
{
    public static readonly Figure[] Rows =
    [
        new("connected_clients", r => r.Server.Sessions.Count - r.Server.Replicas.Count,
            Gauge("redis_connected_clients", "Clients that are connected.", place: 3)),
        new("cluster_connections", r => r.Server.Cluster?.Bus.LinkCount ?? 0),
        new("maxclients", r => r.Config.MaxClients, Gauge("redis_max_clients", "Clients that may be connected.", place: 8)),
        new("client_recent_max_input_buffer", r => r.Clients.LargestInput,
            Gauge("redis_client_recent_max_input_buffer_bytes",
                "The largest unfinished request of a client, in bytes.", Unit.Bytes, place: 9)),
        new("client_recent_max_output_buffer", r => r.Clients.LargestOutput,
            Gauge("redis_client_recent_max_output_buffer_bytes",
                "The largest amount of unread replies of a client, in bytes.", Unit.Bytes, place: 10)),
        new("blocked_clients", r => r.Server.Blocked.Count + r.Server.Pause.WaitingClients,
            Gauge("redis_blocked_clients", "Clients that wait in a blocking command.", place: 4)),
        new("tracking_clients", r => r.Server.Invalidations.Clients,
            Gauge("redis_tracking_clients", "Clients that receive invalidations (CLIENT TRACKING).", place: 5)),
        new("pubsub_clients", r => r.Clients.Subscribing,
            Gauge("redis_pubsub_clients", "Clients that subscribe to something.", place: 6)),
        new("watching_clients", r => r.Clients.Watching, Gauge("redis_watching_clients", "Clients that watch keys.", place: 7)),
        new("clients_in_timeout_table", r => r.Server.Blocked.Count),
        new("total_watched_keys", r => r.Clients.WatchedKeys),
        new("total_blocking_keys", r => r.Clients.BlockedKeys),
        new("total_blocking_keys_on_nokey", r => r.Clients.BlockedKeysWithoutValue),
    ];
}
