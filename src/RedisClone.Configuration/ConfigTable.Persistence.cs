namespace RedisClone.Configuration;

/// <summary>The parameters for snapshots and the append-only journal.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Snapshots() =>
    [
        new SaveParameter("save", [new(3600, 1), new(300, 100), new(60, 10000)], static c => ref c.SavePoints,
            "Save points: take a snapshot after this many seconds if there were this many changes."),
        new DirParameter("dir", static c => ref c.Dir, "Directory of all data files.", Protected | DenyLoading),
        Text("dbfilename", "dump.rdb", static c => ref c.DbFilename, "Name of the snapshot.", flags: Protected, check: ParameterChecks.DbFilename),
        Bool("rdbcompression", true, static c => ref c.RdbCompression, "Compress strings in snapshots."),
        Bool("rdbchecksum", true, static c => ref c.RdbChecksum, "Checksums at the end of snapshots.", flags: Immutable),
        Bool("stop-writes-on-bgsave-error", true, static c => ref c.StopWritesOnBgsaveError,
            "Refuse writes while snapshots fail."),
        Bool("rdb-save-incremental-fsync", true, "Flush a snapshot also while it is written.", flags: TunesNothing),
        Bool("rdb-del-sync-files", false, "Delete snapshots that were sent to replicas.", flags: TunesNothing),
        Choice("sanitize-dump-payload", "no", ["no", "yes", "clients"],
            "Check the payload of RESTORE; here it is always checked.", TunesNothing),
        Int("rdb-key-save-delay", 0, int.MinValue, int.MaxValue, static c => ref c.RdbKeySaveDelay,
            "Microseconds to wait at each key of a snapshot, for tests.", flags: Hidden),
        Int("key-load-delay", 0, int.MinValue, int.MaxValue, static c => ref c.KeyLoadDelay,
            "Microseconds to wait at each key while loading, for tests.", flags: Hidden),
        new NumberParameter<long>("loading-process-events-interval-bytes", 2097152, 1024, int.MaxValue,
            static c => ref c.LoadingProcessEventsIntervalBytes,
            "Bytes of a primary's snapshot up to which clients wait for its load. They get LOADING during a longer one.",
            null, Hidden, NumberForm.Plain),
    ];

    private static Parameter[] Journal() =>
    [
        Bool("appendonly", false, static c => ref c.AppendOnly, "Keep a journal (AOF) of every write.", flags: DenyLoading),
        Choice("appendfsync", AppendFsync.Everysec, ConfigChoices.AppendFsync, static c => ref c.AppendFsync,
            "When the journal is flushed to the disk: before the reply, each second, or when the operating system chooses."),
        Text("appendfilename", "appendonly.aof", static c => ref c.AppendFilename,
            "Prefix of the names of the journal's files.", flags: Immutable, check: ParameterChecks.AppendFilename),
        Text("appenddirname", "appendonlydir", static c => ref c.AppendDirname,
            "Directory of the journal, inside dir.", flags: Immutable, check: ParameterChecks.AppendDirname),
        Bool("no-appendfsync-on-rewrite", false,
            "Do not flush the journal while a snapshot is written; here it is always flushed.", flags: TunesNothing),
        Int("auto-aof-rewrite-percentage", 100, 0, int.MaxValue, static c => ref c.AutoAofRewritePercentage,
            "Percentage by which the journal may grow before it is rewritten; 0 never rewrites."),
        Bytes("auto-aof-rewrite-min-size", 67108864, 0, static c => ref c.AutoAofRewriteMinSize,
            "Size of the journal below which it is not rewritten."),
        Bool("aof-load-truncated", true, static c => ref c.AofLoadTruncated,
            "Start with a journal that ends in the middle of a write."),
        Bytes("aof-load-corrupt-tail-max-size", 0, 0,
            "Damaged bytes at the end of the journal that a start may cut.", Unsupported),
        Bool("aof-use-rdb-preamble", true, static c => ref c.AofUseRdbPreamble,
            "Rewrite the journal as a snapshot rather than as commands."),
        Bool("aof-timestamp-enabled", false, "Write timestamps to the journal, for recovery up to a time.", flags: Unsupported),
        Bool("aof-rewrite-incremental-fsync", true, "Flush a rewritten journal also while it is written.", flags: TunesNothing),
        Text("backupdirname", "backupdir", static c => ref c.BackupDirname,
            "Directory of backups, inside dir.", flags: Immutable, check: ParameterChecks.AppendDirname),
        Int("backup-sealed-ttl", 0, 0, int.MaxValue, static c => ref c.BackupSealedTtl,
            "Seconds after which a sealed backup is removed; 0 keeps it."),
        Bool("aof-disable-auto-gc", false, "Keep the journal's old files, for tests.", flags: Hidden | TunesNothing),
    ];
}
