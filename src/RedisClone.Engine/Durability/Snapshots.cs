using System.Diagnostics;
using System.Globalization;
using RedisClone.Configuration;
using RedisClone.Engine.Replication;
using RedisClone.Engine.Shards;
using RedisClone.Journal.Disk;

namespace RedisClone.Engine.Durability;

/// <summary>
/// The server's dump file. It is saved on demand (while clients are served, or while all of them wait), at save points and at
/// shutdown, and loaded at startup.
/// </summary>
internal sealed class Snapshots
{
    /// <summary>The infix in the name of the snapshot file for replicas.</summary>
    public const string ForReplicas = "sync-";

    /// <summary>The infix in the name of the snapshot that a primary sends.</summary>
    public const string FromPrimary = "primary-";

    /// <summary>The infix in the name of the file with the keys of slots that another node imports.</summary>
    public const string ForSlots = "slots-";

    private const long RetryMilliseconds = 5000;

    private const string ForSave = "bg-";

    private readonly ServerCore _server;
    private readonly Lock _publishing = new();
    private long _changesSaved;
    private long _lastTry;
    private bool _scheduled;
    private SnapshotRun? _saving;
    private string _knownPath = "";
    private FileMark? _known;           // the file at startup, or the last one that this server saved

    public Snapshots(ServerCore server, SnapshotSlot slot)
    {
        _server = server;
        Slot = slot;
        LastSave = server.StartedAt;
    }

    public SnapshotSlot Slot { get; }

    public IDisk Disk => _server.Disk;

    /// <summary>The time of the last successful snapshot, or of the startup, in Unix milliseconds.</summary>
    public long LastSave { get; private set; }

    /// <summary>
    /// The reason why the last background save failed; null if a snapshot succeeded after it. A failed save in the foreground
    /// sets no reason, as in Redis: the client that requested it has the error.
    /// </summary>
    public string? Failure { get; private set; }

    public long Saves { get; private set; }

    /// <summary>The duration of the last snapshot in seconds; -1 if there was none.</summary>
    public long SaveSeconds { get; private set; } = -1;

    public long KeysLoaded { get; private set; }

    public long KeysExpired { get; private set; }

    /// <summary>The position in the replication stream of the dump file that was loaded last, or null.</summary>
    public StreamPosition? LoadedPosition { get; private set; }

    /// <summary>The number of changes before the moment of the last successful snapshot.</summary>
    public long ChangesSaved => Volatile.Read(ref _changesSaved);

    public long ChangesSinceSave => Changes - ChangesSaved;

    /// <summary>Whether a background save is in progress or about to begin.</summary>
    public bool IsSaving => Slot.Kind == SnapshotKind.Save;

    /// <summary>Whether writes are refused because snapshots are configured and fail (stop-writes-on-bgsave-error).</summary>
    public bool RefusesWrites => Failure is not null && _server.Config.StopWritesOnBgsaveError && _server.Config.SavePoints.Length > 0;

    /// <summary>Whether there is any key. The caller need not hold the shards.</summary>
    public bool HasKeys
    {
        get
        {
            for (int i = 0; i < _server.Shards.Count; i++)
                for (int database = 0; database < _server.Config.Databases; database++)
                    if (_server.Shards[i].Store.ExistingDatabase(database) is { Count: > 0 }) return true;
            return false;
        }
    }

    /// <summary>The number of changes since the start.</summary>
    public long Changes => _server.Lanes.Sum(static lane => lane.Changes);

    public string Path => _server.Config.PathOf(_server.Config.DbFilename);

    /// <summary>Whether FLUSHALL must save an empty dump file: yes if there are save points.</summary>
    public bool SavesWhenFlushed => _server.Config.SavePoints.Length > 0 && _server.Loading is null;

    /// <summary>
    /// Replaces the dump file. Returns null, or the reason of a failure; the old file is then unchanged. The caller holds
    /// every shard.
    /// </summary>
    /// <param name="uncounted">Changes of the running command that are not counted yet.</param>
    public string? Save(long uncounted = 0)
    {
        // Only one walk over a shard is possible at a time, and the caller may delete the data next (DEBUG RELOAD).
        if (HasKeys) Cancel();
        string? failure = TrySave(uncounted, out bool lacksMemory);
        if (!lacksMemory) return failure;
        // The shutdown does not end the server without its data, so memory that is only fragmented must not prevent it.
        LoadRoom.MakeHeld(_server);
        return TrySave(uncounted, out _);
    }

    private string? TrySave(long uncounted, out bool lacksMemory)
    {
        long changes = Changes + uncounted;
        // CONFIG SET dir may change the paths meanwhile.
        string temporary = TemporaryPath(""), path = Path;
        var order = new SnapshotOrder(Disk, temporary) { Position = _server.Role.Reached };
        using var run = new SnapshotRun(_server, order);
        _saving = run;
        string? failure;
        try
        {
            failure = run.WriteHeld() ?? Publish(temporary, path, run);
        }
        finally
        {
            _saving = null;
        }
        Ended(run, failure, changes, isBackground: false);
        lacksMemory = run.LacksMemory;
        return failure;
    }

    /// <summary>Starts or schedules a background save. The caller holds every shard.</summary>
    /// <param name="schedule">Whether the save is scheduled if another snapshot is in progress.</param>
    /// <param name="inTransaction">
    /// Whether the caller is a transaction or a script. A snapshot must not contain a part of one.
    /// </param>
    /// <param name="answer">The reply of BGSAVE, or its error if false is returned.</param>
    public bool TryStart(bool schedule, bool inTransaction, out string answer)
    {
        if (IsSaving)
        {
            answer = "ERR Background save already in progress";
            return false;
        }
        if (!inTransaction && Slot.TryStart(SnapshotKind.Save, () => new SaveJob(this), isHeld: !Slot.NeedsRoom))
        {
            answer = "Background saving started";
            return true;
        }
        _scheduled = schedule || inTransaction;
        answer = _scheduled
            ? "Background saving scheduled"
            : "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to schedule a BGSAVE whenever possible.";
        return _scheduled;
    }

    /// <summary>Cancels a background save, and a copy for replicas, because all data was deleted.</summary>
    public void CancelSave()
    {
        Cancel(SnapshotKind.Save);
        Slot.Cancel(SnapshotKind.Replicas);
    }

    /// <summary>
    /// A save that is complete either is published before this returns, or never: the caller may save a later moment, which an older dump file
    /// must not replace.
    /// </summary>
    private void Cancel(SnapshotKind kind = SnapshotKind.None)
    {
        lock (_publishing) Slot.Cancel(kind);
    }

    /// <summary>Deletes incomplete files before the process ends at once.</summary>
    public void Discard()
    {
        _saving?.Cancel();
        Slot.Cancel();
        foreach (string path in new[] { "", ForSave, ForReplicas, FromPrimary, ForSlots }.Select(TemporaryPath)) DeleteTemporary(path);
    }

    /// <summary>
    /// Warns at startup if snapshots cannot be saved. Otherwise the first failure would show at a save point or at shutdown,
    /// which it would prevent.
    /// </summary>
    public void WarnIfImpossible()
    {
        if (_server.Config.SavePoints.Length == 0) return;
        if (WritableDirectory.Problem(Disk, TemporaryPath(ForSave)) is { } problem)
            _server.Log.LogWarning("Snapshots cannot be saved, also not at shutdown: {Problem}", problem);
    }

    /// <summary>Resets the count of changes after the data was loaded.</summary>
    public void CountFromHere()
    {
        _changesSaved = Changes;
        Remember(Path);
    }

    /// <summary>
    /// Loads the dump file if there is one. Returns null, or the reason of a failure. No other thread holds a shard.
    /// </summary>
    public string? Load(bool replace = false)
    {
        long started = Stopwatch.GetTimestamp();
        try
        {
            // An empty name is that of no file.
            if (_server.Config.DbFilename.Length == 0 || !Disk.Exists(Path) && !Disk.DirectoryExists(Path)) return null;
            using IDiskFile file = Disk.Open(Path, DiskOpen.Read);
            long length = file.Length;
            // What DEBUG RELOAD dropped would be missing in the stream of effects.
            var loader = new SnapshotLoader(_server, keepExpired: _server.Effects.Wanted, replace);
            _server.Loading?.Measure(() => length, () => loader.Offset);
            if (loader.Load(file, out long offset) is { } reason)
            {
                if (_server.Loading is not { IsCancelled: true })
                    _server.Log.LogError("Internal error in RDB reading offset {Offset}: {Reason}", offset, reason);
                return $"The snapshot {_server.Config.DbFilename} cannot be loaded: {reason} (at about offset {offset}). " +
                    "Terminating server after rdb file reading failure.";
            }
            (KeysLoaded, KeysExpired, LoadedPosition) = (loader.Loaded, loader.Expired, loader.Position);
            _server.Log.LogInformation(
                "Done loading RDB, keys loaded: {Loaded}, keys expired: {Expired}, empty keys skipped: {Empty}.",
                loader.Loaded, loader.Expired, loader.Empty);
            _server.Log.LogInformation("DB loaded from disk: {Seconds:F3} seconds", Stopwatch.GetElapsedTime(started).TotalSeconds);
            return null;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return $"The snapshot {_server.Config.DbFilename} cannot be read: {failure.Message}";
        }
    }

    /// <summary>Whether less than some time has passed. If the clock was set back, it has.</summary>
    private static bool IsWithin(long now, long since, long milliseconds) => now >= since && now - since < milliseconds;

    /// <summary>
    /// Begins a save if a save point is reached, if one is scheduled, or if a failed one makes the server refuse writes; called
    /// in every round of background work.
    /// </summary>
    public void Tend(long now)
    {
        if (Slot.Kind != SnapshotKind.None || _server.Loading is not null) return;
        if (_scheduled)
        {
            if (Failure is not null && IsWithin(now, _lastTry, RetryMilliseconds)) return;
            TrySave(() => _scheduled = false);
            return;
        }
        if (_server.Config.SavePoints.Length == 0 || Failure is not null && IsWithin(now, _lastTry, RetryMilliseconds)) return;
        if (RefusesWrites)
        {
            // Refused writes are not changes, so a save point may never be reached.
            TrySave(() => _server.Log.LogInformation("Writes are refused because the last background save failed. Saving again..."));
            return;
        }
        long changes = ChangesSinceSave;
        foreach (SavePoint point in _server.Config.SavePoints)
        {
            if (changes < point.Changes || IsWithin(now, LastSave, Math.Min(point.Seconds, int.MaxValue) * 1000 + 1)) continue;
            TrySave(() => _server.Log.LogInformation("{Changes} changes in {Seconds} seconds. Saving...", point.Changes, point.Seconds));
            return;
        }
    }

    /// <summary>
    /// Starts a background save as soon as every shard is held. <paramref name="begins"/> runs first, if no other snapshot has
    /// the slot.
    /// </summary>
    private void TrySave(Action begins) => Slot.TryStart(SnapshotKind.Save, () =>
    {
        begins();
        return new SaveJob(this);
    }, isHeld: false);

    /// <summary>Saves at shutdown if the options or the save points require it. False if that failed.</summary>
    public bool SaveAtShutdown(ShutdownOptions options)
    {
        Cancel();
        if (!options.HasFlag(ShutdownOptions.Save) && _server.Config.SavePoints.Length == 0) return true;
        if (Slot.NeedsRoom) LoadRoom.MakeForSnapshot(_server);
        // Only the shutdown needs this thread, so the thread may block.
        bool saved = false;
        new HeldAction(_server.Shards, () => saved = _server.Shutdown.SkipsSave || Save() is null).RunAndWait();
        return saved;
    }

    /// <summary>The path of a file that is incomplete or short-lived.</summary>
    public string TemporaryPath(string infix) =>
        _server.Config.PathOf(string.Create(CultureInfo.InvariantCulture, $"temp-{infix}{Environment.ProcessId}.rdb"));

    /// <summary>
    /// Lets <paramref name="give"/> open a complete file for its readers, and deletes its name. The file exists until the last reader has
    /// closed it. Returns null, or the reason of a failure.
    /// </summary>
    public string? HandOver(string path, Action<Func<IDiskFile>> give)
    {
        try
        {
            try
            {
                give(() => Disk.Open(path, DiskOpen.Read));
            }
            finally
            {
                Disk.Delete(path);
            }
            return null;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return failure.Message;
        }
    }

    private void Ended(SnapshotRun run, string? failure, long changes, bool isBackground)
    {
        long now = ServerCore.UnixMilliseconds();
        if (isBackground) _lastTry = now;
        SaveSeconds = run.Seconds;
        if (run.IsCancelled)
        {
            _server.Log.LogWarning("Background saving was cancelled");
            return;
        }
        if (failure is null || isBackground) Failure = failure;
        if (failure is not null)
        {
            _server.Log.LogWarning("Error saving DB on disk: {Failure}", failure);
            return;
        }
        Saves++;
        LastSave = now;
        _changesSaved = changes;
        _server.Log.LogInformation("DB saved on disk: {Keys} keys", run.Keys);
    }

    private string? Publish(string temporary, string path, SnapshotRun run)
    {
        try
        {
            lock (_publishing)
            {
                if (run.IsCancelled)
                {
                    Disk.Delete(temporary);
                    return SnapshotRun.Cancelled;
                }
                WarnOfOthers(path);
                Disk.Rename(temporary, path);
                Disk.FlushDirectory(System.IO.Path.GetDirectoryName(path)!);
                Remember(path);
                return null;
            }
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            DeleteTemporary(temporary);
            return failure.Message;
        }
    }

    private void DeleteTemporary(string path)
    {
        if (Disk.TryDelete(path) is { } reason) _server.Log.LogWarning("{Path} stays: {Reason}", path, reason);
    }

    private void Remember(string path) => (_knownPath, _known) = (path, FileMark.Of(Disk, path));

    /// <summary>
    /// Warns if another server has replaced the dump file. As with Redis, nothing prevents two servers from using the same
    /// file, but the log should explain where the data went.
    /// </summary>
    private void WarnOfOthers(string path)
    {
        if (_knownPath == path && FileMark.Of(Disk, path) is { } found && found != _known)
            _server.Log.LogWarning("{Path} is not the file that this server loaded or saved: another server seems to use the " +
                "same dir and dbfilename. This server replaces it.", path);
    }

    private sealed class SaveJob(Snapshots snapshots) : ISnapshotJob
    {
        private string _temporary = "", _path = "";
        private long _changes;

        public SnapshotOrder Mark()
        {
            // The save keeps its names, also if the configuration changes meanwhile.
            (_temporary, _path) = (snapshots.TemporaryPath(ForSave), snapshots.Path);
            _changes = snapshots.Changes;
            snapshots._server.Log.LogInformation("Background saving started");
            return new SnapshotOrder(snapshots.Disk, _temporary) { Position = snapshots._server.Role.Reached };
        }

        public string? Publish() => snapshots.Publish(_temporary, _path, snapshots.Slot.Running!);

        public void Ended(SnapshotRun run, string? failure)
        {
            snapshots.Ended(run, failure, _changes, isBackground: true);
            if (failure is null) snapshots._server.Log.LogInformation("Background saving terminated with success");
            else if (!run.IsCancelled) snapshots._server.Log.LogWarning("Background saving error");
        }
    }
}
