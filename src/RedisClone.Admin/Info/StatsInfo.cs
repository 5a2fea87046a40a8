using RedisClone.Engine;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Pubsub;
using static RedisClone.Admin.Info.FigureValue;
using static RedisClone.Admin.Info.Metric;

namespace RedisClone.Admin.Info;

/// <summary>INFO's sections of counters since the start or the last CONFIG RESETSTAT.</summary>
internal static class StatsInfo
{
    public static readonly Figure[] Rows =
    [
        new("total_connections_received",
            r => r.Server.Statistics[RareEvent.AcceptedConnection] + r.Server.Statistics[RareEvent.RejectedConnection],
            Counter("redis_connections_received_total", "Connections accepted.", place: 43)),
        new("total_commands_processed", r => r.Stats.Totals.CommandsProcessed,
            Counter("redis_commands_processed_total", "Commands run.", place: 45)),
        new("instantaneous_ops_per_sec", r => (long)r.Stats.CommandsPerSecond),
        new("total_net_input_bytes", r => r.Stats.Totals.NetInput,
            Counter("redis_net_input_bytes_total", "Bytes received.", Unit.Bytes, place: 46)),
        new("total_net_output_bytes", r => r.Stats.Totals.NetOutput,
            Counter("redis_net_output_bytes_total", "Bytes sent.", Unit.Bytes, place: 47)),
        new("total_net_repl_input_bytes", _ => 0),
        new("total_net_repl_output_bytes", _ => 0),
        new("instantaneous_input_kbps", r => Ratio(r.Stats.InputPerSecond / 1024)),
        new("instantaneous_output_kbps", r => Ratio(r.Stats.OutputPerSecond / 1024)),
        new("instantaneous_input_repl_kbps", _ => Ratio(0)),
        new("instantaneous_output_repl_kbps", _ => Ratio(0)),
        new("rejected_connections", r => r.Server.Statistics[RareEvent.RejectedConnection],
            Counter("redis_rejected_connections_total", "Connections refused.", place: 44)),
        new("sync_full", r => r.Server.Replicas.FullCopies),
        new("sync_partial_ok", r => r.Server.Replicas.Continuations),
        new("sync_partial_err", r => r.Server.Replicas.RefusedContinuations),
        new("expired_subkeys", r => r.Stats.Totals.ExpiredFields,
            Counter("redis_expired_subkeys_total", "Fields of hashes that expired.", place: 53)),
        new("expired_keys", r => r.Stats.Totals.ExpiredKeys,
            Counter("redis_expired_keys_total", "Keys that expired.", place: 52)),
        new("expired_stale_perc", _ => Ratio(0)),
        new("expired_time_cap_reached_count", _ => 0),
        new("expire_cycle_cpu_milliseconds", r => r.Stats.RoundMicroseconds / 1000),
        new("evicted_keys", r => r.Stats.Totals.EvictedKeys,
            Counter("redis_evicted_keys_total", "Keys evicted to stay within maxmemory.", place: 54)),
        new("evicted_clients", r => r.Server.Statistics[RareEvent.EvictedClient],
            Counter("redis_evicted_clients_total", "Clients closed to stay within maxmemory-clients.", place: 55)),
        new("evicted_scripts", r => r.Server.Scripts.Cache.Evicted - r.Server.Sampler.ScriptsEvictedBefore),
        new("scripts_on_their_keys", r => r.Stats.Totals.ScriptsOnTheirKeys),
        new("scripts_on_all_shards", r => r.Stats.Totals.ScriptsOnAllShards),
        new("total_eviction_exceeded_time", _ => 0),
        new("current_eviction_exceeded_time", _ => 0),
        new("keyspace_hits", r => r.Stats.Totals.KeyspaceHits,
            Counter("redis_keyspace_hits_total", "Lookups that found a key.", place: 50)),
        new("keyspace_misses", r => r.Stats.Totals.KeyspaceMisses,
            Counter("redis_keyspace_misses_total", "Lookups that found no key.", place: 51)),
        new("pubsub_channels", r => r.Server.Hub[SubscriptionKind.Channel].Count,
            Gauge("redis_pubsub_channels", "Channels with subscribers.", place: 65)),
        new("pubsub_patterns", r => r.Server.Hub[SubscriptionKind.Pattern].Count,
            Gauge("redis_pubsub_patterns", "Patterns with subscribers.", place: 66)),
        new("pubsubshard_channels", r => r.Server.Hub[SubscriptionKind.Shard].Count),
        new("latest_fork_usec", _ => 0),
        new("total_forks", _ => 0),
        new("migrate_cached_sockets", r => r.Server.MigrationLinks.Count),
        new("slave_expires_tracked_keys", r => r.Server.Role.LocalExpiries.Count),
        new("active_defrag_hits", _ => 0),
        new("active_defrag_misses", _ => 0),
        new("active_defrag_key_hits", _ => 0),
        new("active_defrag_key_misses", _ => 0),
        new("total_active_defrag_time", _ => 0),
        new("current_active_defrag_time", _ => 0),
        new("tracking_total_keys", r => r.Server.Invalidations.Keys),
        new("tracking_total_items", r => r.Server.Invalidations.Items),
        new("tracking_total_prefixes", r => r.Server.Invalidations.PrefixCount),
        new("unexpected_error_replies", r => r.Stats.Totals.UnexpectedErrors,
            Counter("redis_unexpected_error_replies", "Errors replied that are bugs of this server.", place: 57)),
        new("failed_allocations", r => r.Stats.Totals.FailedAllocations),
        new("total_error_replies", r => r.Stats.Totals.ErrorReplies,
            Counter("redis_total_error_replies", "Errors replied.", place: 56)),
        new("dump_payload_sanitizations", _ => 0),
        new("total_reads_processed", r => r.Stats.Totals.Reads,
            Counter("redis_total_reads_processed", "Reads from clients' sockets.", place: 48)),
        new("total_writes_processed", r => r.Stats.Totals.Writes,
            Counter("redis_total_writes_processed", "Writes to clients' sockets.", place: 49)),
        new("io_threaded_reads_processed", r => r.Stats.Totals.Reads),
        new("io_threaded_writes_processed", r => r.Stats.Totals.Writes),
        new("client_query_buffer_limit_disconnections", r => r.Server.Statistics[RareEvent.QueryLimitDisconnection]),
        new("client_output_buffer_limit_disconnections", r => r.Server.Statistics[RareEvent.OutputLimitDisconnection],
            Counter("redis_client_output_buffer_limit_disconnections_total",
                "Clients closed because they did not read their replies.", place: 64)),
        new("reply_buffer_shrinks", _ => 0),
        new("reply_buffer_expands", _ => 0),
        new("eventloop_cycles", r => r.Stats.Cycles),
        new("eventloop_duration_sum", r => r.Stats.CommandMicroseconds + r.Stats.RoundMicroseconds),
        new("eventloop_duration_cmd_sum", r => r.Stats.CommandMicroseconds),
        new("instantaneous_eventloop_cycles_per_sec", r => (long)r.Stats.RoundsPerSecond),
        new("instantaneous_eventloop_duration_usec",
            r => (r.Stats.CommandMicroseconds + r.Stats.RoundMicroseconds) / Math.Max(1, r.Stats.Cycles)),
        new("acl_access_denied_auth", r => r.Server.Statistics[RareEvent.DeniedAuthentication],
            Counter("redis_acl_access_denied_auth_total", "Failed logins.", place: 60)),
        new("acl_access_denied_cmd", r => r.Server.Statistics[RareEvent.DeniedCommand],
            Counter("redis_acl_access_denied_cmd_total", "Commands refused by the ACL.", place: 61)),
        new("acl_access_denied_key", r => r.Server.Statistics[RareEvent.DeniedKey],
            Counter("redis_acl_access_denied_key_total", "Accesses to keys refused by the ACL.", place: 62)),
        new("acl_access_denied_channel", r => r.Server.Statistics[RareEvent.DeniedChannel],
            Counter("redis_acl_access_denied_channel_total", "Accesses to channels refused by the ACL.", place: 63)),
        new("log_lines_lost", _ => LostLines.Count,
            Counter("redisclone_log_lines_lost_total", "Lines of the log that could not be written.", place: 59)),
        new("internal_errors", _ => InternalErrors.Count,
            Counter("redisclone_internal_errors_total",
                "Exceptions outside of commands, each of them a bug or a lack of memory.", place: 58)),
    ];

    public static readonly Figure[] Debug =
    [
        new("eventloop_duration_aof_sum", _ => 0),
        new("eventloop_duration_cron_sum", r => ServerCore.Microseconds(r.Server.Sampler.RoundTicks)),
        new("eventloop_duration_max", r => ServerCore.Microseconds(r.Server.Sampler.LongestRoundTicks)),
        new("eventloop_cmd_per_cycle_max", r => LargestBatch(r.Server)),
        new("gc_collections", r => r.Server.Sampler.Pauses.Collections,
            Counter("redisclone_gc_collections_total", "Garbage collections of the runtime.", place: 69)),
        new("gc_pause_sum", r => (long)r.Server.Sampler.Pauses.Total.TotalMicroseconds,
            Counter("redisclone_gc_pause_seconds_total",
                "Seconds during which garbage collections paused the server.", Unit.Microseconds, place: 70)),
        new("gc_pause_max", r => (long)r.Server.Sampler.Pauses.Longest.TotalMicroseconds,
            Gauge("redisclone_gc_pause_max_seconds",
                "The longest pause of a garbage collection in seconds.", Unit.Microseconds, place: 71)),
    ];

    /// <summary>The most commands that one thread ran at once.</summary>
    private static long LargestBatch(ServerCore server)
    {
        long largest = 0;
        foreach (Lane lane in server.Lanes.All) largest = Math.Max(largest, lane.LargestBatch);
        return largest;
    }
}
