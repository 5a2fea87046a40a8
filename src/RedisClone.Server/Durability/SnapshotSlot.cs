using RedisClone.Server.Admin;
using RedisClone.Server.Shards;

namespace RedisClone.Server.Durability;

/// <summary>What a snapshot is for.</summary>
internal enum SnapshotKind
{
    None,
    Save,
    Rewrite,
    Backup,
    Replicas,
}

/// <summary>What is done with a snapshot that is taken beside running clients.</summary>
internal interface ISnapshotJob
{
    /// <summary>Every shard is held: this is the moment. Says what is to be written; null when nothing is any more.</summary>
    SnapshotOrder? Mark();

    /// <summary>The file is complete; null, or why it cannot take its place.</summary>
    string? Publish();

    /// <summary>It is over; null, or why it failed.</summary>
    void Ended(SnapshotRun run, string? failure);
}

/// <summary>
/// The one snapshot at a time that is taken beside running clients: claimed by a kind, marked with every shard held, written by a thread of its own.
/// </summary>
internal sealed class SnapshotSlot : IHeldWork
{
    private readonly ServerCore _server;
    private readonly ShardHold _hold;
    private ISnapshotJob? _job;
    private SnapshotRun? _running;
    private int _kind;
    private bool _held;                 // the shards that a start waited for were held

    public SnapshotSlot(ServerCore server)
    {
        _server = server;
        _hold = new ShardHold(server.Shards, this);
    }

    /// <summary>What is under way or about to begin.</summary>
    public SnapshotKind Kind => (SnapshotKind)Volatile.Read(ref _kind);

    /// <summary>Null while nothing is taken.</summary>
    public SnapshotRun? Running => Volatile.Read(ref _running);

    public bool TryClaim(SnapshotKind kind) => Interlocked.CompareExchange(ref _kind, (int)kind, 0) == 0;

    /// <summary>For whoever claimed it and cannot begin.</summary>
    public void Release() => Volatile.Write(ref _kind, 0);

    /// <summary>For whoever claimed it and holds every shard.</summary>
    public void Start(ISnapshotJob job)
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
            run = new SnapshotRun(_server, order);
            Volatile.Write(ref _running, run);
            thread.Start();
        }
        catch (Exception e)
        {
            InternalErrors.Report(_server.Log, e, "A snapshot could not begin");
            if (run is null)
            {
                // The journal has switched its increment, or a backup has begun: neither can be told that there is no snapshot.
                if (marked) Fatal.End("a snapshot could not begin", e);
                Release();
                throw;
            }
            run.Fail(e.Message);
            // The walk goes to its end all the same, so that the next snapshot finds every record alike.
            run.WriteHeld();
            End(job, run, e.Message);
            run.Dispose();
        }
    }

    /// <summary>For whoever claimed it: starts as soon as every shard is held.</summary>
    public void StartWhenHeld(ISnapshotJob job)
    {
        _job = job;
        try
        {
            _hold.AcquireOnWorker(_server.Shards.All);
        }
        catch
        {
            Release();
            throw;
        }
    }

    /// <summary>Calls off what is under way, if it is of this kind (None: of any). It ends soon after.</summary>
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
        // What RunHeld threw is reported, and the next round of background work may try again.
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
            InternalErrors.Report(_server.Log, bug, "A snapshot failed unexpectedly");
            run.Fail(bug.Message);
            if (Running == run) End(job, run, bug.Message);
        }
        try
        {
            run.Dispose();
        }
        catch (Exception e)
        {
            InternalErrors.Report(_server.Log, e, "A snapshot's file could not be closed");
        }
    }

    private void End(ISnapshotJob job, SnapshotRun run, string? failure)
    {
        job.Ended(run, failure);
        Volatile.Write(ref _running, null);
        Volatile.Write(ref _kind, 0);
    }
}
