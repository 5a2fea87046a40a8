using RedisClone.Engine.Effects;
using RedisClone.Journal;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;

namespace RedisClone.Engine.Durability;

internal enum BackupState
{
    Idle,
    Pending,
    Snapshotting,
    Incrementing,
    Sealed,
    Failed,
}

/// <summary>
/// Creates, seals and removes backups. A backup is a separate journal beside the server's own journal, if there is one. It
/// begins with a snapshot as its base, receives every effect from that moment on, and is complete once it is sealed. A server
/// can start on its directory as on any append-only directory.
/// </summary>
internal sealed class Backups(ServerCore server, SnapshotSlot slot) : IEffectSink, IJournalObserver
{
    private const string OfJournal = "ERR backupdirname is the append-only directory (appenddirname)";

    private static readonly TimeSpan GatePatience = TimeSpan.FromMilliseconds(10);

    private readonly Lock _gate = new();
    private JournalDirectory? _directory;
    private JournalNames? _names;       // of the backup that exists, also if the configuration has changed since it began
    private volatile JournalEngine? _engine;
    private BackupJob? _job;            // of the backup whose snapshot is in progress
    private volatile string? _lost;     // why an effect is missing in the backup

    public BackupState State { get; private set; }

    /// <summary>The reason why the last backup failed; empty if it did not.</summary>
    public string Error { get; private set; } = "";

    /// <summary>In Unix seconds; 0 for never.</summary>
    public long StartedAt { get; private set; }

    /// <inheritdoc cref="StartedAt"/>
    public long SealedAt { get; private set; }

    /// <summary>
    /// Whether clients write faster than the disk of a backup in progress. Commands that write must then wait, because the pending bytes are in
    /// memory.
    /// </summary>
    public bool IsBehind => _engine is not null && _lost is null && BytesPending > Limits.JournalBacklog;

    /// <summary>Bytes of effects that are not written to the backup yet.</summary>
    public long BytesPending => _engine?.BytesPending ?? 0;

    private bool IsInProgress => State is BackupState.Pending or BackupState.Snapshotting or BackupState.Incrementing;

    private IDisk Disk => server.Snapshots.Disk;

    private JournalNames Configured => new(server.Config.PathOf(""), server.Config.BackupDirname, server.Config.AppendFilename);

    private JournalNames Names => _names ?? Configured;

    /// <summary>Starts a backup. Returns null, or an error. The caller holds every shard.</summary>
    public string? Start(bool inTransaction)
    {
        // A command that holds the gate may wait for the disk, and this one holds all shards.
        if (!_gate.TryEnter(GatePatience)) return "ERR Another BACKUP command is in progress";
        try
        {
            if (IsInProgress) return "ERR A backup is already in progress, ABORT it first";
            if (State == BackupState.Sealed) return "ERR A sealed backup exists, CLEANUP it first";
            JournalNames names = Configured;
            if (IsOfJournal(names)) return OfJournal;
            try
            {
                if (Disk.DirectoryExists(names.Directory) && Disk.List(names.Directory).Count > 0) return NotEmpty(names);
            }
            catch (Exception failure) when (DiskFailure.Is(failure))
            {
                return $"ERR {failure.Message}";
            }
            _directory = JournalDirectory.TryOpen(Disk, names, out string error);
            if (_directory is null) return $"ERR {error}";
            _names = names;
            (State, Error, StartedAt, SealedAt) = (BackupState.Pending, "", ServerCore.UnixMilliseconds() / 1000, 0);
            if (!inTransaction) TryBegin(isHeld: true);
            return null;
        }
        finally
        {
            _gate.Exit();
        }
    }

    private static string NotEmpty(JournalNames names) =>
        $"ERR the directory {names.Directory} is not empty. BACKUP CLEANUP removes what a backup before the last start has left there";

    /// <summary>Begins the snapshot of a pending backup, unless another snapshot is in progress.</summary>
    private void TryBegin(bool isHeld)
    {
        try
        {
            slot.TryStart(SnapshotKind.Backup, () =>
            {
                State = BackupState.Snapshotting;
                return _job = new BackupJob(this);
            }, isHeld);
        }
        catch
        {
            State = BackupState.Pending;
            throw;
        }
    }

    /// <summary>Completes the backup, so that its files do not change any more. Returns null, or an error.</summary>
    public string? Seal()
    {
        lock (_gate)
        {
            if (State != BackupState.Incrementing) return "ERR No backup ready to seal (must be in the incrementing state)";
            if (_lost is { } lost)
            {
                Fail(lost);
                return $"ERR {lost}";
            }
            // A command that is executing now may or may not be in the backup. No client has seen its effect yet.
            server.Effects.Detach(this);
            if (_engine!.Stop() is { } failure)
            {
                Fail(failure);
                return $"ERR {failure}";
            }
            Close();
            (State, SealedAt) = (BackupState.Sealed, ServerCore.UnixMilliseconds() / 1000);
            // The backup is complete without it.
            if (Disk.TryDelete(Names.PathOf(Names.Lock)) is { } reason) server.Log.LogWarning("The lock file of the backup stays: {Reason}", reason);
            return null;
        }
    }

    /// <summary>
    /// Ends a backup in progress with the next round of background work, because the data is replaced as a whole, and not by effects. The caller
    /// holds every shard.
    /// </summary>
    public void DataReplaced() => _lost ??= "all data was replaced";

    /// <summary>Aborts a backup that is not sealed. Returns null, or an error.</summary>
    public string? Abort()
    {
        lock (_gate)
        {
            if (!IsInProgress) return "ERR No backup in progress";
            bool walks = State == BackupState.Snapshotting;
            Fail("aborted by user");
            if (walks) slot.Cancel(SnapshotKind.Backup);
            return null;
        }
    }

    /// <summary>
    /// Removes the files of a sealed or failed backup, or those that a backup before the start has left. Returns null, or an error.
    /// </summary>
    public string? CleanUp()
    {
        lock (_gate)
        {
            if (IsInProgress) return "ERR Backup is in progress";
            if (IsOfJournal(Names)) return OfJournal;
            if (RemoveFiles() is { } failure) return $"ERR {failure}";
            (State, Error, StartedAt, SealedAt) = (BackupState.Idle, "", 0, 0);
            _names = null;
            return null;
        }
    }

    /// <summary>The paths of the files that will not change any more.</summary>
    public List<string> Files()
    {
        lock (_gate)
        {
            var files = new List<string>();
            if (State is not (BackupState.Incrementing or BackupState.Sealed)) return files;
            JournalNames names = Names;
            if (!JournalDirectory.TryReadManifest(Disk, names, out Manifest manifest, out _)) return files;
            if (manifest.Base is { } @base) files.Add(Path.GetFullPath(names.PathOf(@base.Name)));
            if (State == BackupState.Incrementing) return files;
            foreach (ManifestFile increment in manifest.Increments) files.Add(Path.GetFullPath(names.PathOf(increment.Name)));
            files.Add(Path.GetFullPath(names.PathOf(names.Manifest)));
            return files;
        }
    }

    /// <summary>
    /// Begins a pending backup, flushes appended effects and removes an expired sealed backup; called in every round of
    /// background work.
    /// </summary>
    public void Tend(long now)
    {
        if (State == BackupState.Idle || !_gate.TryEnter()) return;
        try
        {
            if (_lost is { } lost && State == BackupState.Incrementing) Fail(lost);
            // The disk of a backup may hang, and background work must not.
            _engine?.Hurry();
            long kept = server.Config.BackupSealedTtl;
            if (State == BackupState.Sealed && kept > 0 && now / 1000 - SealedAt >= kept) CleanUp();
            // A snapshot that lacked memory before its moment is tried again.
            if (State == BackupState.Snapshotting && slot.Kind != SnapshotKind.Backup) State = BackupState.Pending;
            if (State == BackupState.Pending && server.Loading is null) TryBegin(isHeld: false);
        }
        finally
        {
            _gate.Exit();
        }
    }

    public static string Text(BackupState state) => state.ToString().ToLowerInvariant();

    /// <summary>
    /// Appends a unit of effects to the backup. The LSN in the backup is not returned, because no reply waits for it.
    /// </summary>
    long IEffectSink.Append(EffectBuffer unit)
    {
        if (_lost is not null) return 0;
        try
        {
            if (_engine is not { } engine) return 0;
            engine.Append(unit.Database, unit.Unit);
            if (engine.BytesPending > Limits.JournalBacklog / 4) engine.Hurry();
        }
        catch (Exception e)
        {
            // The shards of the command are held here. The next round of background work ends the backup.
            _lost = e.Message;
        }
        return 0;
    }

    void IJournalObserver.OnDurable(long lsn)
    {
    }

    void IJournalObserver.OnFailed(string reason)
    {
        // The engine calls this on its own thread while it holds its locks. Taking the gate here could deadlock with a thread
        // that holds the gate and waits for those locks.
        _lost = Error = reason;
        server.Log.LogWarning("The backup has failed: {Reason}", reason);
    }

    /// <summary>Begins the increments of the backup; null if the backup was aborted while the snapshot waited for the shards.</summary>
    private SnapshotOrder? Mark(BackupJob job)
    {
        lock (_gate)
        {
            if (State != BackupState.Snapshotting || _job != job || _directory is not { } directory) return null;
            return Mark(directory);
        }
    }

    private SnapshotOrder Mark(JournalDirectory directory)
    {
        _lost = null;
        try
        {
            _engine = new JournalEngine(loops: 1, FlushPolicy.No, this);
            long lsn = _engine.BeginRebuild(directory);
            server.Effects.Attach(this);
            return new SnapshotOrder(directory.Disk, directory.Names.PathOf(directory.Names.TemporaryBase), asRdb: true, lsn);
        }
        catch
        {
            server.Effects.Detach(this);
            _engine?.Dispose();
            _engine = null;
            throw;
        }
    }

    private void Ended(BackupJob job, string? failure)
    {
        lock (_gate)
        {
            // The backup was aborted, its files are removed, and another one may have begun.
            if (_job != job) return;
            _job = null;
            if ((failure ?? _lost) is { } reason) Fail(reason);
            else State = BackupState.Incrementing;
        }
    }

    private void Fail(string reason)
    {
        _job = null;
        // Writes no longer wait for the disk of the backup, which may hang.
        _lost ??= reason;
        server.Effects.Detach(this);
        (State, Error) = (BackupState.Failed, reason);
        try
        {
            Close();
            RemoveFiles();
        }
        catch (OutOfMemoryException failure)
        {
            // The files stay until the clean-up.
            server.Failures.WorkFailed("The files of a backup could not be closed and removed", failure);
        }
        server.Log.LogWarning("The backup has failed: {Reason}", reason);
    }

    private void Close()
    {
        (JournalEngine? engine, JournalDirectory? directory) = (_engine, _directory);
        (_engine, _directory) = (null, null);
        using (directory) engine?.Dispose();
    }

    /// <summary>Whether the directory is that of the journal, which is no backup.</summary>
    private bool IsOfJournal(JournalNames names) => Path.GetFullPath(names.Directory) == Path.GetFullPath(JournalKeeper.NamesOf(server.Config).Directory);

    /// <summary>Removes the files unless a server uses them: another path may lead to its journal, or to the backup of another server.</summary>
    private string? RemoveFiles()
    {
        JournalNames names = Names;
        try
        {
            if (!Disk.DirectoryExists(names.Directory)) return null;
            using IDisposable? held = Disk.TryLock(names.PathOf(names.Lock));
            if (held is null) return $"the directory {names.Directory} is in use: a server holds {names.Lock}";
            foreach (string name in Disk.List(names.Directory))
                if (names.Has(name)) Disk.Delete(names.PathOf(name));
            return null;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return failure.Message;
        }
    }

    private sealed class BackupJob(Backups backups) : ISnapshotJob
    {
        private long _lsn;

        public SnapshotOrder? Mark()
        {
            SnapshotOrder? order = backups.Mark(this);
            _lsn = order?.Lsn ?? 0;
            return order;
        }

        public string? Publish() => backups._job == this && backups._engine is { } engine ? engine.InstallBase(_lsn, rdb: true) : "the backup was aborted";

        public void Ended(SnapshotRun run, string? failure) => backups.Ended(this, failure);
    }
}
