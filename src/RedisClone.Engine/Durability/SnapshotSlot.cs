using RedisClone.Engine.Failures;
using RedisClone.Engine.Shards;
using RedisClone.Memory;

namespace RedisClone.Engine.Durability;

/// <summary>The purpose of a snapshot.</summary>
internal enum SnapshotKind
{
    None,
    Save,
    Rewrite,
    Backup,
    Replicas,
    Slots,
}

/// <summary>A snapshot that is taken while clients are served, and what happens with its file.</summary>
internal interface ISnapshotJob
{
    /// <summary>
    /// Called before the shards are held, on a thread that may wait. It is not called if the caller of the start holds the shards.
    /// </summary>
    void Prepare() { }

    /// <summary>
    /// Called while every shard is held, at the moment of the snapshot. Returns what to write; null if the snapshot is no
    /// longer needed.
    /// </summary>
    SnapshotOrder? Mark();

    /// <summary>Called when the file is complete. Returns null, or the reason why the file cannot be used.</summary>
    string? Publish();

    /// <summary>Called at the end. <paramref name="failure"/> is null, or the reason of a failure.</summary>
    void Ended(SnapshotRun run, string? failure);
}

/// <summary>
/// The slot for the one snapshot at a time that is taken while clients are served. It is claimed for a purpose, the moment is
/// marked while every shard is held, and a thread of its own writes the file.
/// </summary>
internal sealed class SnapshotSlot : IHeldWork, IThreadPoolWorkItem
{
    private readonly ServerCore _server;
    private readonly ShardHold _hold;
    private ISnapshotJob? _job;
    private SnapshotRun? _running;
    private int _kind;
    private volatile bool _hasFailed;   // the last snapshot, perhaps for lack of memory
    private bool _held;                 // the acquisition succeeded, so the job was started

    public SnapshotSlot(ServerCore server)
    {
        _server = server;
        _hold = new ShardHold(server.Shards, this);
    }

    /// <summary>The purpose of the snapshot that is in progress or about to begin.</summary>
    public SnapshotKind Kind => (SnapshotKind)Volatile.Read(ref _kind);

    /// <summary>Whether room is made for the next snapshot, because the last one failed in a heap with a limit.</summary>
    public bool NeedsRoom => _hasFailed && HeapLimit.Bytes > 0;

    /// <summary>The snapshot in progress, or null.</summary>
    public SnapshotRun? Running => Volatile.Read(ref _running);

    /// <summary>
    /// Claims the slot and starts a snapshot. Returns false, and does nothing, if another snapshot has the slot. The slot is
    /// released if the job cannot be created or the snapshot cannot begin.
    /// </summary>
    /// <param name="kind">The purpose of the snapshot.</param>
    /// <param name="newJob">Creates the job once the slot is claimed, or returns null if there is nothing to start.</param>
    /// <param name="isHeld">
    /// Whether the caller holds every shard, so that the snapshot begins at once. Otherwise it begins as soon as they are held.
    /// </param>
    public bool TryStart(SnapshotKind kind, Func<ISnapshotJob?> newJob, bool isHeld)
    {
        if (Interlocked.CompareExchange(ref _kind, (int)kind, 0) != 0) return false;
        ISnapshotJob? job;
        try
        {
            _job = job = newJob();
            if (job is not null && !isHeld) ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
        catch
        {
            Release();
            throw;
        }
        if (job is null) Release();
        else if (isHeld) Start(job);
        return true;
    }

    void IThreadPoolWorkItem.Execute()
    {
        try
        {
            if (NeedsRoom) LoadRoom.MakeForSnapshot(_server);
            _job!.Prepare();
            _hold.AcquireOnWorker(_server.Shards.All);
        }
        catch (Exception e)
        {
            Release();
            _server.Failures.WorkFailed("A snapshot could not begin", e);
        }
    }

    /// <summary>The job goes first: it has what the snapshot was written to, and the next one may come at once.</summary>
    private void Release()
    {
        _job = null;
        Volatile.Write(ref _kind, 0);
    }

    private void Start(ISnapshotJob job)
    {
        SnapshotRun? run = null;
        bool marked = false;
        try
        {
            var thread = new Thread(() => Work(job, run!)) { IsBackground = true, Name = "snapshot" };
            if (job.Mark() is not { } order)
            {
                Release();
                return;
            }
            marked = true;
            run = NewRun(order);
            Volatile.Write(ref _running, run);
            thread.Start();
        }
        catch (Exception e)
        {
            _server.Failures.WorkFailed("A snapshot could not begin", e);
            if (run is null)
            {
                // After Mark, the journal has switched its increment or a backup has begun. Neither can be undone.
                if (marked) Fatal.End("a snapshot could not begin", e);
                Release();
                throw;
            }
            run.Fail(e);
            // The walk still runs to its end, because the next snapshot requires that all records have the same epoch bit.
            run.WriteHeld();
            End(job, run, e.Message);
            run.Dispose();
        }
    }

    /// <summary>The moment is marked already, so the run is not given up at the first failed allocation.</summary>
    private SnapshotRun NewRun(in SnapshotOrder order)
    {
        for (int attempt = 0; ; attempt++)
        {
            try
            {
                return new SnapshotRun(_server, order);
            }
            catch (OutOfMemoryException) when (MemoryReserve.TryWait(attempt))
            {
                // The next attempt may find memory that another thread has released.
            }
        }
    }

    /// <summary>
    /// Cancels the snapshot in progress if it has this purpose (None matches any). The snapshot ends soon after.
    /// </summary>
    public void Cancel(SnapshotKind kind = SnapshotKind.None)
    {
        if (kind == SnapshotKind.None || Kind == kind) Running?.Cancel();
    }

    bool IHeldWork.RunHeld()
    {
        _held = true;
        Start(_job!);
        return true;
    }

    void IHeldWork.Released(Exception? failure)
    {
        // Start has released the slot after a failure of its own. If the acquisition failed, the slot is released here, so
        // that a later round can try again.
        if (failure is not null && !_held) Release();
        _held = false;
    }

    private void Work(ISnapshotJob job, SnapshotRun run)
    {
        try
        {
            string? failure = run.Write(reason => End(job, run, reason));
            if (failure is null) End(job, run, job.Publish());
        }
        catch (Exception bug)
        {
            _server.Failures.WorkFailed("A snapshot failed unexpectedly", bug);
            run.Fail(bug);
            if (Running == run) End(job, run, bug.Message);
        }
        try
        {
            run.Dispose();
        }
        catch (Exception e)
        {
            _server.Failures.WorkFailed("A snapshot's file could not be closed", e);
        }
    }

    private void End(ISnapshotJob job, SnapshotRun run, string? failure)
    {
        _hasFailed = failure is not null && !run.IsCancelled;
        job.Ended(run, failure);
        Volatile.Write(ref _running, null);
        Release();
    }
}
