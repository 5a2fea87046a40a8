using System.Diagnostics;
using System.Globalization;
using Microsoft.Extensions.Logging;
using RedisClone.Journal.Disk;
using RedisClone.Server.Admin;
using RedisClone.Server.Shards;

namespace RedisClone.Server.Durability;

/// <summary>
/// The server's dump file: saved on demand, at save points and at the end, loaded at the start; and the journal's rewrite. Each is done
/// with every shard held, so that it is of one moment: clients wait for so long.
/// </summary>
internal sealed class Snapshots : IHeldWork
{
    private const long RetryMilliseconds = 5000;

    // What is being done now, besides nothing.
    private const int Saving = 1, Rewriting = 2;

    private readonly ServerCore _server;
    private readonly ShardHold _hold;
    private readonly RealDisk _disk = RealDisk.Instance;
    private Action _job = static () => { };
    private int _busy;
    private long _changesSaved;
    private long _lastTry;

    public Snapshots(ServerCore server)
    {
        _server = server;
        _hold = new ShardHold(server.Shards, this);
        LastSave = server.StartedAt;
    }

    /// <summary>Unix milliseconds of the last snapshot that succeeded, or of the start.</summary>
    public long LastSave { get; private set; }

    /// <summary>Why the last snapshot failed; null when it did not.</summary>
    public string? Failure { get; private set; }

    public long Saves { get; private set; }

    public long Rewrites { get; private set; }

    public string? RewriteFailure { get; private set; }

    /// <summary>Seconds that the last one took, -1 when there was none.</summary>
    public long SaveSeconds { get; private set; } = -1;

    /// <inheritdoc cref="SaveSeconds"/>
    public long RewriteSeconds { get; private set; } = -1;

    public long KeysLoaded { get; private set; }

    public long KeysExpired { get; private set; }

    public long ChangesSinceSave => Changes - _changesSaved;

    /// <summary>Whether a journal's rewrite is under way or about to begin.</summary>
    public bool IsRewriting => Volatile.Read(ref _busy) == Rewriting;

    private long Changes => _server.Lanes.Sum(static lane => lane.Changes);

    private string Path => _server.Config.PathOf(_server.Config.DbFilename);

    /// <summary>Replaces the dump file; null, or why not, and then the old one is untouched. The caller holds every shard.</summary>
    public string? Save()
    {
        long started = Stopwatch.GetTimestamp();
        long changes = Changes;
        _lastTry = ServerCore.UnixMilliseconds();
        string temporary = _server.Config.PathOf(string.Create(CultureInfo.InvariantCulture, $"temp-{Environment.ProcessId}.rdb"));
        Failure = SnapshotWriter.Write(_server, _disk, temporary) ?? Publish(temporary);
        SaveSeconds = (long)Stopwatch.GetElapsedTime(started).TotalSeconds;
        if (Failure is not null)
        {
            _server.Log.LogWarning("Error saving DB on disk: {Failure}", Failure);
            return Failure;
        }
        Saves++;
        LastSave = ServerCore.UnixMilliseconds();
        _changesSaved = changes;
        _server.Log.LogInformation("DB saved on disk");
        return null;
    }

    /// <summary>Brings back the dump file, if there is one; why not, if it is damaged. Nobody else holds a shard.</summary>
    public string? Load()
    {
        long started = Stopwatch.GetTimestamp();
        try
        {
            if (!_disk.Exists(Path)) return null;
            using IDiskFile file = _disk.Open(Path, DiskOpen.Read);
            var loader = new SnapshotLoader(_server, keepExpired: false);
            if (loader.Load(file, out long offset) is { } reason)
            {
                _server.Log.LogError("Internal error in RDB reading offset {Offset}: {Reason}", offset, reason);
                return $"The snapshot {_server.Config.DbFilename} cannot be loaded: {reason} (at about offset {offset}). Terminating server after rdb file reading failure.";
            }
            (KeysLoaded, KeysExpired) = (loader.Loaded, loader.Expired);
            _server.Log.LogInformation("Done loading RDB, keys loaded: {Loaded}, keys expired: {Expired}, empty keys skipped: {Empty}.", loader.Loaded, loader.Expired, loader.Empty);
            _server.Log.LogInformation("DB loaded from disk: {Seconds:F3} seconds", Stopwatch.GetElapsedTime(started).TotalSeconds);
            return null;
        }
        catch (Exception failure) when (SnapshotWriter.IsDiskFailure(failure))
        {
            return $"The snapshot {_server.Config.DbFilename} cannot be read: {failure.Message}";
        }
    }

    /// <summary>Ten times a second: saves when a save point is reached.</summary>
    public void Tend(long now)
    {
        if (_server.Config.SavePoints.Length == 0 || Failure is not null && now - _lastTry < RetryMilliseconds) return;
        long changes = ChangesSinceSave;
        foreach (SavePoint point in _server.Config.SavePoints)
        {
            if (changes < point.Changes || now - LastSave <= point.Seconds * 1000) continue;
            if (TryStart(Saving, () => Save()))
                _server.Log.LogInformation("{Changes} changes in {Seconds} seconds. Saving...", point.Changes, point.Seconds);
            return;
        }
    }

    /// <summary>Starts to rewrite the journal as a snapshot and a new increment; why not, if that cannot be.</summary>
    public string? StartRewrite()
    {
        if (_server.Journal is not { } journal) return "ERR the append only file is not in use";
        if (!TryStart(Rewriting, () => Rewrite(journal))) return "ERR Background append only file rewriting already in progress";
        return null;
    }

    /// <summary>At the end of the server: saves if the options or the save points want it. False when that failed.</summary>
    public bool SaveAtShutdown(ShutdownOptions options)
    {
        if (!options.HasFlag(ShutdownOptions.Save) && _server.Config.SavePoints.Length == 0) return true;
        bool saved = false;
        using var done = new ManualResetEventSlim();
        void SaveAndTell()
        {
            saved = Save() is null;
            done.Set();
        }

        // Only the end of the server waits here: nobody else needs this thread.
        while (!TryStart(Saving, SaveAndTell)) Thread.Sleep(10);
        done.Wait();
        return saved;
    }

    void IHeldWork.RunHeld()
    {
        try
        {
            _job();
        }
        finally
        {
            _hold.Release();
            Volatile.Write(ref _busy, 0);
        }
    }

    private bool TryStart(int kind, Action job)
    {
        if (Interlocked.CompareExchange(ref _busy, kind, 0) != 0) return false;
        _job = job;
        _hold.AcquireOnWorker(_server.Shards.All);
        return true;
    }

    private void Rewrite(JournalKeeper journal)
    {
        long started = Stopwatch.GetTimestamp();
        RewriteFailure = journal.Rewrite();
        RewriteSeconds = (long)Stopwatch.GetElapsedTime(started).TotalSeconds;
        if (RewriteFailure is null) Rewrites++;
        if (RewriteFailure is null) _server.Log.LogInformation("Background AOF rewrite finished successfully");
        else _server.Log.LogWarning("Background AOF rewrite failed: {Failure}", RewriteFailure);
    }

    private string? Publish(string temporary)
    {
        try
        {
            _disk.Rename(temporary, Path);
            _disk.FlushDirectory(System.IO.Path.GetDirectoryName(Path)!);
            return null;
        }
        catch (Exception failure) when (SnapshotWriter.IsDiskFailure(failure))
        {
            return failure.Message;
        }
    }
}
