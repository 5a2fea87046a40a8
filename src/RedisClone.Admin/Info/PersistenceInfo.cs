using RedisClone.Engine;
using RedisClone.Engine.Durability;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section about persistence.</summary>
internal static class PersistenceInfo
{
    public static void Write(ServerCore server, InfoWriter info)
    {
        Snapshots snapshots = server.Snapshots;
        SnapshotRun? run = snapshots.Slot.Running;
        info.Section("Persistence");
        LoadProgress? loading = server.Loading;
        info.Field("loading", loading is not null);
        info.Field("async_loading", 0);
        info.Field("current_cow_peak", 0);
        info.Field("current_cow_size", 0);
        info.Field("current_cow_size_age", 0);
        info.Ratio("current_fork_perc", 0);
        info.Field("current_save_keys_processed", run?.KeysDone ?? 0);
        info.Field("current_save_keys_total", run?.Keys ?? 0);
        info.Field("rdb_changes_since_last_save", snapshots.ChangesSinceSave);
        info.Field("rdb_bgsave_in_progress", snapshots.IsSaving);
        info.Field("rdb_last_save_time", snapshots.LastSave / 1000);
        info.Field("rdb_last_bgsave_status", snapshots.Failure is null ? "ok" : "err");
        info.Field("rdb_last_bgsave_time_sec", snapshots.SaveSeconds);
        info.Field("rdb_current_bgsave_time_sec", snapshots.IsSaving ? run?.Seconds ?? 0 : -1);
        info.Field("rdb_saves", snapshots.Saves);
        info.Field("rdb_last_cow_size", 0);
        info.Field("rdb_last_load_keys_expired", snapshots.KeysExpired);
        info.Field("rdb_last_load_keys_loaded", snapshots.KeysLoaded);
        WriteJournal(server, run, info);
        info.Field("module_fork_in_progress", 0);
        info.Field("module_fork_last_cow_size", 0);
        if (loading is not null) WriteLoading(loading, info);
    }

    private static void WriteLoading(LoadProgress loading, InfoWriter info)
    {
        info.Field("loading_start_time", loading.StartedAt / 1000);
        info.Field("loading_total_bytes", loading.TotalBytes);
        info.Field("loading_rdb_used_mem", 0);
        info.Field("loading_loaded_bytes", loading.LoadedBytes);
        info.Ratio("loading_loaded_perc", loading.Percent);
        info.Field("loading_eta_seconds", loading.SecondsLeft);
    }

    private static void WriteJournal(ServerCore server, SnapshotRun? run, InfoWriter info)
    {
        JournalRewrites rewrites = server.Rewrites;
        info.Field("aof_enabled", server.Config.AppendOnly);
        info.Field("aof_rewrite_in_progress", rewrites.IsRunning);
        info.Field("aof_rewrite_scheduled", rewrites.IsScheduled);
        info.Field("aof_last_rewrite_time_sec", rewrites.Seconds);
        info.Field("aof_current_rewrite_time_sec", rewrites.IsRunning ? run?.Seconds ?? 0 : -1);
        info.Field("aof_last_bgrewrite_status", rewrites.Failure is null ? "ok" : "err");
        info.Field("aof_rewrites", rewrites.Rewrites);
        info.Field("aof_rewrites_consecutive_failures", rewrites.ConsecutiveFailures);
        info.Field("aof_last_write_status", server.Journal is { Failure.Length: > 0 } ? "err" : "ok");
        info.Field("aof_last_cow_size", 0);
        if (server.Journal is not { } journal || server.Loading is not null) return;
        info.Field("aof_current_size", journal.Size);
        info.Field("aof_base_size", journal.SizeAtRewrite);
        info.Field("aof_pending_rewrite", 0);
        info.Field("aof_buffer_length", journal.Engine.BytesPending);
        info.Field("aof_pending_bio_fsync", 0);
        info.Field("aof_delayed_fsync", journal.Engine.Statistics.DelayedFlushes);
    }
}
