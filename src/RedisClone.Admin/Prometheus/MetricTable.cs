namespace RedisClone.Admin.Prometheus;

/// <summary>All metrics that come from INFO.</summary>
internal static class MetricTable
{
    private const double Micro = 1e-6, Milli = 1e-3;
    private const bool Counter = true;

    public static readonly Metric[] All =
    [
        new("uptime_in_seconds", "redis_uptime_in_seconds", "Seconds since the start."),
        new("process_id", "redis_process_id", "Process id of the server."),

        new("connected_clients", "redis_connected_clients", "Clients that are connected."),
        new("blocked_clients", "redis_blocked_clients", "Clients that wait in a blocking command."),
        new("tracking_clients", "redis_tracking_clients", "Clients that receive invalidations (CLIENT TRACKING)."),
        new("pubsub_clients", "redis_pubsub_clients", "Clients that subscribe to something."),
        new("watching_clients", "redis_watching_clients", "Clients that watch keys."),
        new("maxclients", "redis_max_clients", "Clients that may be connected."),
        new("client_recent_max_input_buffer", "redis_client_recent_max_input_buffer_bytes", "The largest unfinished request of a client, in bytes."),
        new("client_recent_max_output_buffer", "redis_client_recent_max_output_buffer_bytes", "The largest amount of unread replies of a client, in bytes."),

        new("used_memory", "redis_memory_used_bytes", "Bytes of data, clients, replicas and scripts."),
        new("used_memory_rss", "redis_memory_used_rss_bytes", "Resident memory of the process in bytes."),
        new("used_memory_peak", "redis_memory_used_peak_bytes", "Peak of used memory in bytes."),
        new("used_memory_overhead", "redis_memory_used_overhead_bytes", "Used bytes that are not keys and values."),
        new("used_memory_dataset", "redis_memory_used_dataset_bytes", "Used bytes of keys and values."),
        new("used_memory_scripts", "redis_memory_used_scripts_bytes", "Bytes of the texts of scripts and functions."),
        new("maxmemory", "redis_memory_max_bytes", "The limit of used memory; 0 is none."),
        new("allocator_allocated", "redis_allocator_allocated_bytes", "Bytes of buffers that are in use."),
        new("allocator_active", "redis_allocator_active_bytes", "Bytes of the pages that contain buffers in use."),
        new("allocator_frag_ratio", "redis_allocator_frag_ratio", "Active bytes divided by allocated bytes."),
        new("mem_fragmentation_ratio", "redis_mem_fragmentation_ratio", "Resident memory divided by used memory."),
        new("mem_clients_normal", "redis_mem_clients_normal", "Bytes of buffers of clients."),
        new("mem_clients_slaves", "redis_mem_clients_slaves", "Bytes that wait for replicas, which do not count for maxmemory."),
        new("total_system_memory", "redis_total_system_memory_bytes", "Memory of the machine or the container in bytes."),
        new("lazyfree_pending_objects", "redis_lazyfree_pending_objects", "Deleted values that wait to be freed."),
        new("managed_heap", "redisclone_managed_heap_bytes", "Bytes of the managed heap of the runtime."),

        new("loading", "redis_loading_dump_file", "1 while data is being loaded."),
        new("rdb_changes_since_last_save", "redis_rdb_changes_since_last_save", "Changes since the last snapshot."),
        new("rdb_bgsave_in_progress", "redis_rdb_bgsave_in_progress", "1 while a snapshot is taken."),
        new("rdb_last_save_time", "redis_rdb_last_save_timestamp_seconds", "Unix time of the last complete snapshot."),
        new("rdb_last_bgsave_status", "redis_rdb_last_bgsave_status", "1 if the last snapshot succeeded."),
        new("rdb_last_bgsave_time_sec", "redis_rdb_last_bgsave_duration_sec", "Seconds that the last snapshot took; -1 if there was none."),
        new("rdb_saves", "redis_rdb_saves_total", "Snapshots taken.", Counter),
        new("aof_enabled", "redis_aof_enabled", "1 if the journal is on."),
        new("aof_rewrite_in_progress", "redis_aof_rewrite_in_progress", "1 while the journal is rewritten."),
        new("aof_last_rewrite_time_sec", "redis_aof_last_rewrite_duration_sec", "Seconds that the last rewrite of the journal took; -1 if there was none."),
        new("aof_last_bgrewrite_status", "redis_aof_last_bgrewrite_status", "1 if the last rewrite succeeded."),
        new("aof_last_write_status", "redis_aof_last_write_status", "1 unless the journal cannot be written."),
        new("aof_current_size", "redis_aof_current_size_bytes", "Bytes of the journal."),
        new("aof_base_size", "redis_aof_base_size_bytes", "Bytes of the journal after its last rewrite."),
        new("aof_buffer_length", "redis_aof_buffer_length", "Bytes that wait to be written to the journal."),
        new("aof_delayed_fsync", "redis_aof_delayed_fsync", "Delayed fsyncs of the journal.", Counter),

        new("total_connections_received", "redis_connections_received_total", "Connections accepted.", Counter),
        new("rejected_connections", "redis_rejected_connections_total", "Connections refused.", Counter),
        new("total_commands_processed", "redis_commands_processed_total", "Commands run.", Counter),
        new("total_net_input_bytes", "redis_net_input_bytes_total", "Bytes received.", Counter),
        new("total_net_output_bytes", "redis_net_output_bytes_total", "Bytes sent.", Counter),
        new("total_reads_processed", "redis_total_reads_processed", "Reads from clients' sockets.", Counter),
        new("total_writes_processed", "redis_total_writes_processed", "Writes to clients' sockets.", Counter),
        new("keyspace_hits", "redis_keyspace_hits_total", "Lookups that found a key.", Counter),
        new("keyspace_misses", "redis_keyspace_misses_total", "Lookups that found no key.", Counter),
        new("expired_keys", "redis_expired_keys_total", "Keys that expired.", Counter),
        new("expired_subkeys", "redis_expired_subkeys_total", "Fields of hashes that expired.", Counter),
        new("evicted_keys", "redis_evicted_keys_total", "Keys evicted to stay within maxmemory.", Counter),
        new("evicted_clients", "redis_evicted_clients_total", "Clients closed to stay within maxmemory-clients.", Counter),
        new("total_error_replies", "redis_total_error_replies", "Errors replied.", Counter),
        new("unexpected_error_replies", "redis_unexpected_error_replies", "Errors replied that are bugs of this server.", Counter),
        new("internal_errors", "redisclone_internal_errors_total",
            "Exceptions outside of commands, each of them a bug or a lack of memory.", Counter),
        new("log_lines_lost", "redisclone_log_lines_lost_total", "Lines of the log that could not be written.", Counter),
        new("acl_access_denied_auth", "redis_acl_access_denied_auth_total", "Failed logins.", Counter),
        new("acl_access_denied_cmd", "redis_acl_access_denied_cmd_total", "Commands refused by the ACL.", Counter),
        new("acl_access_denied_key", "redis_acl_access_denied_key_total", "Accesses to keys refused by the ACL.", Counter),
        new("acl_access_denied_channel", "redis_acl_access_denied_channel_total", "Accesses to channels refused by the ACL.", Counter),
        new("client_output_buffer_limit_disconnections", "redis_client_output_buffer_limit_disconnections_total",
            "Clients closed because they did not read their replies.", Counter),
        new("pubsub_channels", "redis_pubsub_channels", "Channels with subscribers."),
        new("pubsub_patterns", "redis_pubsub_patterns", "Patterns with subscribers."),

        new("used_cpu_sys", "redis_cpu_sys_seconds_total", "Processor seconds in the kernel.", Counter),
        new("used_cpu_user", "redis_cpu_user_seconds_total", "Processor seconds outside the kernel.", Counter),
        new("gc_collections", "redisclone_gc_collections_total", "Garbage collections of the runtime.", Counter),
        new("gc_pause_sum", "redisclone_gc_pause_seconds_total", "Seconds during which garbage collections paused the server.", Counter) { Scale = Micro },
        new("gc_pause_max", "redisclone_gc_pause_max_seconds", "The longest pause of a garbage collection in seconds.") { Scale = Micro },

        new("cmdstat_", "redis_commands_total", "Calls of a command.", Counter) { Label = "cmd", Part = "calls" },
        new("cmdstat_", "redis_commands_duration_seconds_total", "Seconds that the calls of a command took.", Counter)
            { Label = "cmd", Part = "usec", Scale = Micro },
        new("cmdstat_", "redis_commands_rejected_calls_total", "Calls of a command that were refused before they ran.", Counter)
            { Label = "cmd", Part = "rejected_calls" },
        new("cmdstat_", "redis_commands_failed_calls_total", "Calls of a command that returned an error.", Counter) { Label = "cmd", Part = "failed_calls" },
        new("errorstat_", "redis_errors_total", "Errors replied, by their first word.", Counter) { Label = "err", Part = "count" },
        new("db", "redis_db_keys", "Keys of a database.") { Label = "db", KeepsPrefix = true, Part = "keys" },
        new("db", "redis_db_keys_expiring", "Keys of a database with an expiry.") { Label = "db", KeepsPrefix = true, Part = "expires" },
        new("db", "redis_db_avg_ttl_seconds", "Average time to live of the keys with an expiry, in seconds.")
            { Label = "db", KeepsPrefix = true, Part = "avg_ttl", Scale = Milli },
    ];

    /// <summary>Fields that identify this instance: the labels of <c>redis_instance_info</c>.</summary>
    public static readonly string[] Identity = ["redis_version", "redisclone_version", "redis_mode", "role", "os", "maxmemory_policy", "tcp_port", "run_id"];
}
