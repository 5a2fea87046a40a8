using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Pubsub;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section of counters since the start or the last CONFIG RESETSTAT.</summary>
internal static class StatsInfo
{
    public static void Write(ServerCore server, InfoWriter info)
    {
        Statistics statistics = server.Statistics;
        LaneTotals totals = statistics.Totals;
        (double commands, double input, double output, double rounds) = server.Sampler.Rates();
        long commandMicroseconds = ServerCore.Microseconds(CommandTicks(server));
        long roundMicroseconds = ServerCore.Microseconds(server.Sampler.RoundTicks);
        info.Section("Stats");
        info.Field("total_connections_received", statistics[RareEvent.AcceptedConnection] + statistics[RareEvent.RejectedConnection]);
        info.Field("total_commands_processed", totals.CommandsProcessed);
        info.Field("instantaneous_ops_per_sec", (long)commands);
        info.Field("total_net_input_bytes", totals.NetInput);
        info.Field("total_net_output_bytes", totals.NetOutput);
        info.Field("total_net_repl_input_bytes", 0);
        info.Field("total_net_repl_output_bytes", 0);
        info.Ratio("instantaneous_input_kbps", input / 1024);
        info.Ratio("instantaneous_output_kbps", output / 1024);
        info.Ratio("instantaneous_input_repl_kbps", 0);
        info.Ratio("instantaneous_output_repl_kbps", 0);
        info.Field("rejected_connections", statistics[RareEvent.RejectedConnection]);
        info.Field("sync_full", server.Replicas.FullCopies);
        info.Field("sync_partial_ok", 0);
        info.Field("sync_partial_err", 0);
        info.Field("expired_subkeys", totals.ExpiredFields);
        info.Field("expired_keys", totals.ExpiredKeys);
        info.Ratio("expired_stale_perc", 0);
        info.Field("expired_time_cap_reached_count", 0);
        info.Field("expire_cycle_cpu_milliseconds", roundMicroseconds / 1000);
        info.Field("evicted_keys", totals.EvictedKeys);
        info.Field("evicted_clients", statistics[RareEvent.EvictedClient]);
        info.Field("evicted_scripts", server.Scripts.Cache.Evicted - server.Sampler.ScriptsEvictedBefore);
        info.Field("total_eviction_exceeded_time", 0);
        info.Field("current_eviction_exceeded_time", 0);
        info.Field("keyspace_hits", totals.KeyspaceHits);
        info.Field("keyspace_misses", totals.KeyspaceMisses);
        info.Field("pubsub_channels", server.Hub[SubscriptionKind.Channel].Count);
        info.Field("pubsub_patterns", server.Hub[SubscriptionKind.Pattern].Count);
        info.Field("pubsubshard_channels", server.Hub[SubscriptionKind.Shard].Count);
        info.Field("latest_fork_usec", 0);
        info.Field("total_forks", 0);
        info.Field("migrate_cached_sockets", 0);
        info.Field("slave_expires_tracked_keys", 0);
        info.Field("active_defrag_hits", 0);
        info.Field("active_defrag_misses", 0);
        info.Field("active_defrag_key_hits", 0);
        info.Field("active_defrag_key_misses", 0);
        info.Field("total_active_defrag_time", 0);
        info.Field("current_active_defrag_time", 0);
        info.Field("tracking_total_keys", server.Invalidations.Keys);
        info.Field("tracking_total_items", server.Invalidations.Items);
        info.Field("tracking_total_prefixes", server.Invalidations.PrefixCount);
        info.Field("unexpected_error_replies", totals.UnexpectedErrors);
        info.Field("failed_allocations", totals.FailedAllocations);
        info.Field("total_error_replies", totals.ErrorReplies);
        info.Field("dump_payload_sanitizations", 0);
        info.Field("total_reads_processed", totals.Reads);
        info.Field("total_writes_processed", totals.Writes);
        info.Field("io_threaded_reads_processed", totals.Reads);
        info.Field("io_threaded_writes_processed", totals.Writes);
        info.Field("client_query_buffer_limit_disconnections", statistics[RareEvent.QueryLimitDisconnection]);
        info.Field("client_output_buffer_limit_disconnections", statistics[RareEvent.OutputLimitDisconnection]);
        info.Field("reply_buffer_shrinks", 0);
        info.Field("reply_buffer_expands", 0);
        info.Field("eventloop_cycles", totals.Reads + server.Sampler.Rounds);
        info.Field("eventloop_duration_sum", commandMicroseconds + roundMicroseconds);
        info.Field("eventloop_duration_cmd_sum", commandMicroseconds);
        info.Field("instantaneous_eventloop_cycles_per_sec", (long)rounds);
        info.Field("instantaneous_eventloop_duration_usec", (commandMicroseconds + roundMicroseconds) / Math.Max(1, totals.Reads + server.Sampler.Rounds));
        info.Field("acl_access_denied_auth", statistics[RareEvent.DeniedAuthentication]);
        info.Field("acl_access_denied_cmd", statistics[RareEvent.DeniedCommand]);
        info.Field("acl_access_denied_key", statistics[RareEvent.DeniedKey]);
        info.Field("acl_access_denied_channel", statistics[RareEvent.DeniedChannel]);
        info.Field("log_lines_lost", LostLines.Count);
        info.Field("internal_errors", InternalErrors.Count);
    }

    public static void Debug(ServerCore server, InfoWriter info)
    {
        long largestBatch = 0;
        foreach (Lane lane in server.Lanes.All) largestBatch = Math.Max(largestBatch, lane.LargestBatch);
        info.Section("Debug");
        info.Field("eventloop_duration_aof_sum", 0);
        info.Field("eventloop_duration_cron_sum", ServerCore.Microseconds(server.Sampler.RoundTicks));
        info.Field("eventloop_duration_max", ServerCore.Microseconds(server.Sampler.LongestRoundTicks));
        info.Field("eventloop_cmd_per_cycle_max", largestBatch);
        info.Field("gc_collections", server.Sampler.Pauses.Collections);
        info.Field("gc_pause_sum", (long)server.Sampler.Pauses.Total.TotalMicroseconds);
        info.Field("gc_pause_max", (long)server.Sampler.Pauses.Longest.TotalMicroseconds);
    }

    private static long CommandTicks(ServerCore server)
    {
        long ticks = 0;
        foreach (CommandRow row in server.Commands.All) ticks += server.Statistics.CallsOf(row.Id).Ticks;
        return ticks;
    }
}
