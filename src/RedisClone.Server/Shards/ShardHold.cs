namespace RedisClone.Server.Shards;

/// <summary>
/// Work that needs several shards at once. A hold is a scope: it ends when <see cref="RunHeld"/> returns, and when it throws.
/// </summary>
internal interface IHeldWork
{
    /// <summary>
    /// Called with every wanted shard held, by the thread that holds them. False: another thread may own the work from now on, so nothing of it
    /// is touched any more, and <see cref="Released"/> does not follow.
    /// </summary>
    bool RunHeld();

    /// <summary>
    /// Called on the same thread once the shards are released. <paramref name="failure"/> is what <see cref="RunHeld"/> or the acquisition threw, else
    /// null. It must not throw.
    /// </summary>
    void Released(Exception? failure);
}

/// <summary>
/// Takes several shards, in shard order (so that two never wait for each other in a circle), without blocking a thread: where one is
/// busy, the hold queues in its mailbox and goes on from there. Each connection has one and reuses it.
/// </summary>
internal sealed class ShardHold(ShardMap shards, IHeldWork owner) : IShardWork, IThreadPoolWorkItem
{
    private const int Free = 0, Queued = 1, GivenUp = 2;

    private ShardSet _wanted;
    private int _next;
    private int _state;

    /// <summary>Whether the owner may be told not to wait any longer; set before it acquires.</summary>
    public bool MayGiveUp { get; set; }

    /// <summary>Set before it acquires.</summary>
    public bool IsPatient { get; set; }

    /// <summary>The shards that are held, after acquisition and until release.</summary>
    public ref readonly ShardSet Shards => ref _wanted;

    /// <summary>
    /// True: all are held by the calling thread now. False: the owner's work will run on a worker as soon as they are, perhaps
    /// before this returns, so the caller touches nothing of the owner any more.
    /// </summary>
    public bool TryAcquire(in ShardSet wanted)
    {
        _wanted = wanted;
        _next = 0;
        return Continue();
    }

    /// <summary>Acquires and runs on a worker even if all are idle: for work that is long by kind.</summary>
    public void AcquireOnWorker(in ShardSet wanted)
    {
        _wanted = wanted;
        _next = 0;
        ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    /// <param name="held">A copy of what is held: with the last shard, the owner may go on and use this object anew.</param>
    public void Release(in ShardSet held)
    {
        for (int i = held.Next(0); i >= 0; i = held.Next(i + 1)) shards[i].Exit();
    }

    /// <summary>Runs the owner's work on the calling thread, which holds every wanted shard, and releases them.</summary>
    public void RunHere()
    {
        ShardSet held = _wanted;
        Exception? failure = null;
        bool follows = true;
        try
        {
            follows = owner.RunHeld();
        }
        catch (Exception thrown)
        {
            failure = thrown;
        }
        finally
        {
            Release(held);
        }
        if (follows) owner.Released(failure);
    }

    /// <summary>
    /// Ends the wait in a mailbox: true, and what waited belongs to the caller. The hold itself stays in the mailbox, and is of no other use,
    /// until its turn comes.
    /// </summary>
    public bool TryGiveUp() => MayGiveUp && Interlocked.CompareExchange(ref _state, GivenUp, Queued) == Queued;

    void IThreadPoolWorkItem.Execute() => ContinueAndRun();

    bool IShardWork.RunHeld(Shard shard)
    {
        _next = shard.Index + 1;
        // Its turn and giving up exclude each other.
        if (Interlocked.CompareExchange(ref _state, Free, Queued) != Queued) ReleaseTaken();
        else ContinueAndRun();
        return true;
    }

    private void ContinueAndRun()
    {
        bool acquired;
        try
        {
            acquired = Continue();
        }
        catch (Exception failure)
        {
            owner.Released(failure);
            return;
        }
        if (acquired) RunHere();
    }

    /// <summary>Takes the shards that are left, in order. An exception leaves none of them held.</summary>
    private bool Continue()
    {
        for (int i = _wanted.Next(_next); i >= 0; i = _wanted.Next(i + 1))
        {
            Shard shard = shards[i];
            if (shard.TryEnter()) continue;
            _next = i;
            Volatile.Write(ref _state, Queued);
            try
            {
                // Once posted, another thread may go on with this object at once: nothing of it is touched after.
                shard.Post(this);
            }
            catch (OutOfMemoryException)
            {
                Volatile.Write(ref _state, Free);
                ReleaseTaken();
                throw;
            }
            return false;
        }
        return true;
    }

    private void ReleaseTaken()
    {
        for (int i = _wanted.Next(0); i >= 0 && i < _next; i = _wanted.Next(i + 1)) shards[i].Exit();
    }
}
