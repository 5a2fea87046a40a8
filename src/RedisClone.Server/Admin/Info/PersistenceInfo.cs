using RedisClone.Server.Durability;

namespace RedisClone.Server.Admin;

/// <summary>INFO's section about what is on disk.</summary>
internal static class PersistenceInfo
{
    public static void Write(ServerCore server, InfoWriter info)
    {
        Snapshots snapshots = server.Snapshots;
        info.Section("Persistence");
        info.Field("loading", 0);
        info.Field("async_loading", 0);
        info.Field("current_cow_peak", 0);
        info.Field("current_cow_size", 0);
        info.Field("current_cow_size_age", 0);
        info.Ratio("current_fork_perc", 0);
        info.Field("current_save_keys_processed", 0);
        info.Field("current_save_keys_total", 0);
        info.Field("rdb_changes_since_last_save", snapshots.ChangesSinceSave);
        info.Field("rdb_bgsave_in_progress", 0);
        info.Field("rdb_last_save_time", snapshots.LastSave / 1000);
        info.Field("rdb_last_bgsave_status", snapshots.Failure is null ? "ok" : "err");
        info.Field("rdb_last_bgsave_time_sec", snapshots.SaveSeconds);
        info.Field("rdb_current_bgsave_time_sec", -1);
        info.Field("rdb_saves", snapshots.Saves);
        info.Field("rdb_last_cow_size", 0);
        info.Field("rdb_last_load_keys_expired", snapshots.KeysExpired);
        info.Field("rdb_last_load_keys_loaded", snapshots.KeysLoaded);
        info.Field("aof_enabled", server.Journal is null ? 0 : 1);
        info.Field("aof_rewrite_in_progress", snapshots.IsRewriting ? 1 : 0);
        info.Field("aof_rewrite_scheduled", 0);
        info.Field("aof_last_rewrite_time_sec", snapshots.RewriteSeconds);
        info.Field("aof_current_rewrite_time_sec", -1);
        info.Field("aof_last_bgrewrite_status", snapshots.RewriteFailure is null ? "ok" : "err");
        info.Field("aof_rewrites", snapshots.Rewrites);
        info.Field("aof_rewrites_consecutive_failures", 0);
        info.Field("aof_last_write_status", server.Journal is { Failure.Length: > 0 } ? "err" : "ok");
        info.Field("aof_last_cow_size", 0);
        info.Field("module_fork_in_progress", 0);
        info.Field("module_fork_last_cow_size", 0);
    }
}
