namespace RedisClone.Server.Admin;

/// <summary>Snapshots and the append-only journal.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Snapshots() =>
    [
        new SaveParameter("save", [new(3600, 1), new(300, 100), new(60, 10000)], static c => ref c.SavePoints, "Save a snapshot after so many seconds if there were so many changes."),
        new DirParameter("dir", static c => ref c.Dir, "Directory of all data files.", Protected | DenyLoading),
        Text("dbfilename", "dump.rdb", static c => ref c.DbFilename, "Name of the snapshot.", flags: Protected, check: ParameterChecks.DbFilename),
        Bool("rdbcompression", true, static c => ref c.RdbCompression, "Compress strings in snapshots."),
        Bool("rdbchecksum", true, static c => ref c.RdbChecksum, "Checksums at the end of snapshots.", flags: Immutable),
        Bool("stop-writes-on-bgsave-error", true, static c => ref c.StopWritesOnBgsaveError, "Refuse writes while snapshots fail."),
        Bool("rdb-save-incremental-fsync", true, "Flush a snapshot while it is written, not only at its end.", flags: TunesNothing),
        Bool("rdb-del-sync-files", false, "Delete the snapshots that replicas were filled from.", flags: TunesNothing),
        Choice("sanitize-dump-payload", "no", ["no", "yes", "clients"], "How closely RESTORE looks at its payload; here always closely.", TunesNothing),
        Int("rdb-key-save-delay", 0, int.MinValue, int.MaxValue, static c => ref c.RdbKeySaveDelay, "Microseconds to wait at each key of a snapshot, for tests.", flags: Hidden),
        Int("key-load-delay", 0, int.MinValue, int.MaxValue, static c => ref c.KeyLoadDelay, "Microseconds to wait at each key while loading, for tests.", flags: Hidden),
        new NumberParameter<long>("loading-process-events-interval-bytes", 2097152, 1024, int.MaxValue, Unread.Field<long>("loading-process-events-interval-bytes"), "Bytes loaded before clients get their turn; here they do not wait for it.", null, Hidden | TunesNothing, NumberForm.Plain),
    ];

    private static Parameter[] Journal() =>
    [
        Bool("appendonly", false, static c => ref c.AppendOnly, "Journal every write.", flags: DenyLoading),
        Choice("appendfsync", AppendFsync.Everysec, ConfigChoices.AppendFsync, static c => ref c.AppendFsync, "When the journal is flushed to the disk: before the reply, each second, or when the system likes."),
        Text("appendfilename", "appendonly.aof", static c => ref c.AppendFilename, "What the names of the journal's files begin with.", flags: Immutable, check: ParameterChecks.AppendFilename),
        Text("appenddirname", "appendonlydir", static c => ref c.AppendDirname, "Directory of the journal, inside dir.", flags: Immutable, check: ParameterChecks.AppendDirname),
        Bool("no-appendfsync-on-rewrite", false, "Do not flush the journal while a snapshot is written; here it is flushed all the same.", flags: TunesNothing),
        Int("auto-aof-rewrite-percentage", 100, 0, int.MaxValue, static c => ref c.AutoAofRewritePercentage, "Percentage by which the journal may grow before it is rewritten; 0 never rewrites."),
        Bytes("auto-aof-rewrite-min-size", 67108864, 0, static c => ref c.AutoAofRewriteMinSize, "Size of the journal below which it is not rewritten."),
        Bool("aof-load-truncated", true, static c => ref c.AofLoadTruncated, "Start with a journal that ends in the middle of a write."),
        Bytes("aof-load-corrupt-tail-max-size", 0, 0, "Bytes of damage at the end of the journal that may be cut off at start.", Unsupported),
        Bool("aof-use-rdb-preamble", true, static c => ref c.AofUseRdbPreamble, "Rewrite the journal as a snapshot rather than as commands."),
        Bool("aof-timestamp-enabled", false, "Times in the journal, so that it can be cut at a time.", flags: Unsupported),
        Bool("aof-rewrite-incremental-fsync", true, "Flush a rewritten journal while it is written, not only at its end.", flags: TunesNothing),
        Text("backupdirname", "backupdir", static c => ref c.BackupDirname, "Directory of backups, inside dir.", flags: Immutable, check: ParameterChecks.AppendDirname),
        Int("backup-sealed-ttl", 0, 0, int.MaxValue, static c => ref c.BackupSealedTtl, "Seconds after which a sealed backup is removed; 0 keeps it."),
        Bool("aof-disable-auto-gc", false, "Keep the journal's old files, for tests.", flags: Hidden | TunesNothing),
    ];
}
