using System.Diagnostics;
using System.Globalization;
using Microsoft.Extensions.Logging;
using RedisClone.Journal.Disk;
using RedisClone.Server.Admin;
using RedisClone.Server.Shards;

namespace RedisClone.Server.Durability;

/// <summary>
/// The server's dump file: saved on demand, beside running clients or with all of them waiting, at save points and at the end; loaded at the start.
/// </summary>
internal sealed class Snapshots
{
    /// <summary>Names the file of a snapshot that replicas are sent.</summary>
    public const string ForReplicas = "sync-";

    private const long RetryMilliseconds = 5000;

    private const string ForSave = "bg-";

    private readonly ServerCore _server;
    private long _changesSaved;
    private long _lastTry;
    private bool _scheduled;
    private SnapshotRun? _saving;
    private string _knownPath = "";
    private FileMark? _known;           // what was there at the start, or was put there by this server since

    public Snapshots(ServerCore server, SnapshotSlot slot)
    {
        _server = server;
        Slot = slot;
        LastSave = server.StartedAt;
    }

    public SnapshotSlot Slot { get; }

    public IDisk Disk => _server.Disk;

    /// <summary>Unix milliseconds of the last snapshot that succeeded, or of the start.</summary>
    public long LastSave { get; private set; }

    /// <summary>Why the last snapshot failed; null when it did not.</summary>
    public string? Failure { get; private set; }

    public long Saves { get; private set; }

    /// <summary>Seconds that the last one took, -1 when there was none.</summary>
    public long SaveSeconds { get; private set; } = -1;

    public long KeysLoaded { get; private set; }

    public long KeysExpired { get; private set; }

    public long ChangesSinceSave => Changes - _changesSaved;

    /// <summary>Whether a snapshot is being saved beside running clients, or about to be.</summary>
    public bool IsSaving => Slot.Kind == SnapshotKind.Save;

    /// <summary>Snapshots are wanted and fail: writes are refused if the configuration says so.</summary>
    public bool RefusesWrites => Failure is not null && _server.Config.StopWritesOnBgsaveError && _server.Config.SavePoints.Length > 0;

    private bool HasKeys
    {
        get
        {
            for (int i = 0; i < _server.Shards.Count; i++)
                for (int database = 0; database < _server.Config.Databases; database++)
                    if (_server.Shards[i].Store.ExistingDatabase(database) is { Count: > 0 }) return true;
            return false;
        }
    }

    private long Changes => _server.Lanes.Sum(static lane => lane.Changes);

    private string Path => _server.Config.PathOf(_server.Config.DbFilename);

    /// <summary>Whether a dump file is wanted that tells of the end of all data at once: where there are save points.</summary>
    public bool SavesWhenFlushed => _server.Config.SavePoints.Length > 0 && _server.Loading is null;

    /// <summary>Replaces the dump file; null, or why not, and then the old one is untouched. The caller holds every shard.</summary>
    /// <param name="uncounted">Changes that the running command has made and that are not counted yet.</param>
    public string? Save(long uncounted = 0)
    {
        // There is one walk over a shard at a time, and the data may be about to go.
        if (HasKeys) Slot.Cancel();
        long changes = Changes + uncounted;
        var order = new SnapshotOrder(Disk, TemporaryPath(""));
        using var run = new SnapshotRun(_server, order);
        _saving = run;
        string? failure;
        try
        {
            failure = run.WriteHeld() ?? Publish(order.Path);
        }
        finally
        {
            _saving = null;
        }
        Ended(run, failure, changes);
        return failure;
    }

    /// <summary>Begins to save beside running clients: BGSAVE's answer, or its refusal. The caller holds every shard.</summary>
    /// <param name="schedule">Where something else is under way, it is done behind that.</param>
    /// <param name="inTransaction">The caller is a transaction or a script, of which a snapshot must not hold a part.</param>
    /// <param name="answer">What the client is told.</param>
    public bool TryStart(bool schedule, bool inTransaction, out string answer)
    {
        if (IsSaving)
        {
            answer = "ERR Background save already in progress";
            return false;
        }
        var job = new SaveJob(this);
        if (!inTransaction && Slot.TryClaim(SnapshotKind.Save))
        {
            Slot.Start(job);
            answer = "Background saving started";
            return true;
        }
        _scheduled = schedule || inTransaction;
        answer = _scheduled
            ? "Background saving scheduled"
            : "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to schedule a BGSAVE whenever possible.";
        return _scheduled;
    }

    /// <summary>All data is gone: what is being saved of it is not wanted any more.</summary>
    public void CallOff() => Slot.Cancel(SnapshotKind.Save);

    /// <summary>The process is about to end at once: nothing half written stays.</summary>
    public void Discard()
    {
        _saving?.Cancel();
        Slot.Cancel();
        foreach (string path in new[] { TemporaryPath(""), TemporaryPath(ForSave), TemporaryPath(ForReplicas) })
        {
            try
            {
                Disk.Delete(path);
            }
            catch (Exception failure) when (DiskFailure.Is(failure))
            {
                _server.Log.LogWarning("{Path} stays: {Reason}", path, failure.Message);
            }
        }
    }

    /// <summary>Says at the start what would otherwise be found out at the first save point, or at the end, which it keeps from coming.</summary>
    public void WarnIfImpossible()
    {
        if (_server.Config.SavePoints.Length == 0) return;
        if (WritableDirectory.Problem(Disk, TemporaryPath(ForSave)) is { } problem)
            _server.Log.LogWarning("Snapshots cannot be saved, also not at shutdown: {Problem}", problem);
    }

    /// <summary>What was loaded are no changes.</summary>
    public void CountFromHere()
    {
        _changesSaved = Changes;
        Remember();
    }

    /// <summary>Brings back the dump file, if there is one; why not, if it is damaged. Nobody else holds a shard.</summary>
    public string? Load(bool replace = false)
    {
        long started = Stopwatch.GetTimestamp();
        try
        {
            if (!Disk.Exists(Path) && !Disk.DirectoryExists(Path)) return null;
            using IDiskFile file = Disk.Open(Path, DiskOpen.Read);
            long length = file.Length;
            var loader = new SnapshotLoader(_server, keepExpired: false, replace);
            _server.Loading?.Measure(() => length, () => loader.Offset);
            if (loader.Load(file, out long offset) is { } reason)
            {
                if (_server.Loading is not { IsCancelled: true }) _server.Log.LogError("Internal error in RDB reading offset {Offset}: {Reason}", offset, reason);
                return $"The snapshot {_server.Config.DbFilename} cannot be loaded: {reason} (at about offset {offset}). Terminating server after rdb file reading failure.";
            }
            (KeysLoaded, KeysExpired) = (loader.Loaded, loader.Expired);
            _server.Log.LogInformation("Done loading RDB, keys loaded: {Loaded}, keys expired: {Expired}, empty keys skipped: {Empty}.", loader.Loaded, loader.Expired, loader.Empty);
            _server.Log.LogInformation("DB loaded from disk: {Seconds:F3} seconds", Stopwatch.GetElapsedTime(started).TotalSeconds);
            return null;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return $"The snapshot {_server.Config.DbFilename} cannot be read: {failure.Message}";
        }
    }

    /// <summary>Ten times a second: saves when a save point is reached, or somebody asked for it while it was not possible.</summary>
    public void Tend(long now)
    {
        if (Slot.Kind != SnapshotKind.None || _server.Loading is not null) return;
        if (_scheduled)
        {
            if (now - _lastTry < RetryMilliseconds && Failure is not null) return;
            var scheduled = new SaveJob(this);
            if (!Slot.TryClaim(SnapshotKind.Save)) return;
            _scheduled = false;
            Slot.StartWhenHeld(scheduled);
            return;
        }
        if (_server.Config.SavePoints.Length == 0 || Failure is not null && now - _lastTry < RetryMilliseconds) return;
        long changes = ChangesSinceSave;
        foreach (SavePoint point in _server.Config.SavePoints)
        {
            if (changes < point.Changes || now - LastSave <= point.Seconds * 1000) continue;
            var job = new SaveJob(this);
            if (!Slot.TryClaim(SnapshotKind.Save)) return;
            _server.Log.LogInformation("{Changes} changes in {Seconds} seconds. Saving...", point.Changes, point.Seconds);
            Slot.StartWhenHeld(job);
            return;
        }
    }

    /// <summary>At the end of the server: saves if the options or the save points want it. False when that failed.</summary>
    public bool SaveAtShutdown(ShutdownOptions options)
    {
        Slot.Cancel();
        if (!options.HasFlag(ShutdownOptions.Save) && _server.Config.SavePoints.Length == 0) return true;
        // Only the end of the server waits here: nobody else needs this thread.
        bool saved = false;
        // If the server has to stay, it is no worse off than before.
        string? before = Failure;
        new HeldAction(_server.Shards, () => saved = Save() is null).RunAndWait();
        if (!saved) Failure = before;
        return saved;
    }

    /// <summary>Of a file that is not complete, or is nobody's for long.</summary>
    public string TemporaryPath(string infix) =>
        _server.Config.PathOf(string.Create(CultureInfo.InvariantCulture, $"temp-{infix}{Environment.ProcessId}.rdb"));

    private void Ended(SnapshotRun run, string? failure, long changes)
    {
        _lastTry = ServerCore.UnixMilliseconds();
        SaveSeconds = run.Seconds;
        if (run.IsCancelled)
        {
            _server.Log.LogWarning("Background saving was called off");
            return;
        }
        Failure = failure;
        if (failure is not null)
        {
            _server.Log.LogWarning("Error saving DB on disk: {Failure}", failure);
            return;
        }
        Saves++;
        LastSave = _lastTry;
        _changesSaved = changes;
        _server.Log.LogInformation("DB saved on disk: {Keys} keys", run.Keys);
    }

    private string? Publish(string temporary)
    {
        try
        {
            WarnOfOthers();
            Disk.Rename(temporary, Path);
            Disk.FlushDirectory(System.IO.Path.GetDirectoryName(Path)!);
            Remember();
            return null;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return failure.Message;
        }
    }

    private void Remember() => (_knownPath, _known) = (Path, FileMark.Of(Disk, Path));

    /// <summary>Nothing keeps servers from having one dump file, as with Redis; but whose data is replaced should be able to find out why.</summary>
    private void WarnOfOthers()
    {
        if (_knownPath == Path && FileMark.Of(Disk, Path) is { } found && found != _known)
            _server.Log.LogWarning("{Path} is not the file that this server loaded or saved: another server seems to use the same dir and dbfilename. This server replaces it.", Path);
    }

    private sealed class SaveJob(Snapshots snapshots) : ISnapshotJob
    {
        private string _path = "";
        private long _changes;

        public SnapshotOrder Mark()
        {
            _path = snapshots.TemporaryPath(ForSave);
            _changes = snapshots.Changes;
            snapshots._server.Log.LogInformation("Background saving started");
            return new SnapshotOrder(snapshots.Disk, _path);
        }

        public string? Publish() => snapshots.Publish(_path);

        public void Ended(SnapshotRun run, string? failure)
        {
            snapshots.Ended(run, failure, _changes);
            if (failure is null) snapshots._server.Log.LogInformation("Background saving terminated with success");
            else if (!run.IsCancelled) snapshots._server.Log.LogWarning("Background saving error");
        }
    }
}
