namespace RedisClone.Engine.Shards;

/// <summary>Work that needs several shards at once. The hold ends when <see cref="RunHeld"/> returns or throws.</summary>
internal interface IHeldWork
{
    /// <summary>
    /// Runs the work; called by the thread that holds every wanted shard. False means that another thread may already own the
    /// work: the caller must not touch it again, and <see cref="Released"/> is not called.
    /// </summary>
    bool RunHeld();

    /// <summary>
    /// Called on the same thread after the shards are released. <paramref name="failure"/> is the exception that <see
    /// cref="RunHeld"/> or the acquisition threw, else null. It must not throw.
    /// </summary>
    void Released(Exception? failure);
}

/// <summary>
/// Takes several shards without blocking a thread. At a busy shard the hold waits in its mailbox and continues from there. Each connection
/// reuses one hold.
/// </summary>
/// <remarks>
/// A hold that waits releases what it has taken. Otherwise a long command on one shard would stop the clients of the others too. It begins
/// again once it has the shard for which it waited. After some such waits it keeps what it has taken while it waits, so that it cannot be
/// overtaken for ever. It then waits only for shards behind those that it holds, so that two holds cannot deadlock. While a script is busy,
/// it releases them after all, see <see cref="PersistentHolds"/>.
/// </remarks>
internal sealed class ShardHold(ShardMap shards, IHeldWork owner) : IShardWork, IThreadPoolWorkItem
{
    private const int Free = 0, Queued = 1, GivenUp = 2, SteppingBack = 3;

    private ShardSet _wanted;
    private int _next;          // wanted shards below this one are held
    private int _ahead;         // a shard that is held out of order, or -1
    private int _waits;         // for busy shards, since the acquisition began
    private int _state;

    /// <summary>Whether <see cref="TryGiveUp"/> may end the wait; set before the acquisition.</summary>
    public bool MayGiveUp { get; set; }

    /// <summary>See <see cref="IShardWork.IsPatient"/>; set before the acquisition.</summary>
    public bool IsPatient { get; set; }

    /// <summary>The shards that are held, from the end of the acquisition to the release.</summary>
    public ref readonly ShardSet Shards => ref _wanted;

    /// <summary>
    /// Takes the shards. True: the calling thread holds all of them. False: the owner's work runs on a worker once all are
    /// held, possibly before this method returns. The caller must then not touch the owner any more.
    /// </summary>
    public bool TryAcquire(in ShardSet wanted)
    {
        Begin(wanted);
        return Continue();
    }

    /// <summary>
    /// Acquires the shards and runs the owner's work on a worker, even if all shards are idle. It is meant for long commands.
    /// </summary>
    public void AcquireOnWorker(in ShardSet wanted)
    {
        Begin(wanted);
        ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    /// <summary>Releases the shards.</summary>
    /// <param name="held">
    /// A copy of <see cref="Shards"/>: once the last shard is released, the owner may already reuse this object.
    /// </param>
    public void Release(in ShardSet held)
    {
        for (int i = held.Next(0); i >= 0; i = held.Next(i + 1)) shards[i].Exit();
    }

    /// <summary>
    /// Runs the owner's work on the calling thread, which holds every wanted shard, and releases the shards.
    /// </summary>
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

    /// <summary>Whether <see cref="TryGiveUp"/> would succeed now.</summary>
    public bool CanGiveUp => MayGiveUp && Volatile.Read(ref _state) == Queued;

    /// <summary>
    /// Ends the wait in a mailbox, and releases the shards that are held meanwhile. True: the waiting work belongs to the caller. This
    /// hold stays in the mailbox until its turn comes and cannot be used any more.
    /// </summary>
    public bool TryGiveUp()
    {
        if (!MayGiveUp || !TryLeaveQueue(GivenUp)) return false;
        ReleaseTaken();
        return true;
    }

    /// <summary>
    /// Releases the shards that are held while this hold waits in a mailbox. It begins again once it has the shard for which it waits.
    /// Returns false if it does not wait.
    /// </summary>
    internal bool TryStepBack()
    {
        if (Interlocked.CompareExchange(ref _state, SteppingBack, Queued) != Queued) return false;
        ReleaseTaken();
        _waits = 0;
        Volatile.Write(ref _state, Queued);
        return true;
    }

    /// <summary>
    /// Ends the wait in a mailbox. Of the threads that try it at the same time, it succeeds for one, which owns the fields from then on.
    /// </summary>
    private bool TryLeaveQueue(int state)
    {
        int before;
        var spin = new SpinWait();
        while ((before = Interlocked.CompareExchange(ref _state, state, Queued)) == SteppingBack) spin.SpinOnce();
        if (before != Queued) return false;
        if (_waits > Limits.WaitsWithoutShards) shards.Persistent.Remove(this);
        return true;
    }

    void IThreadPoolWorkItem.Execute() => ContinueAndRun();

    bool IShardWork.RunHeld(Shard shard)
    {
        if (!TryLeaveQueue(Free))
        {
            shard.Exit();
            return true;
        }
        if (_waits <= Limits.WaitsWithoutShards) _ahead = shard.Index;
        else _next = shard.Index + 1;
        ContinueAndRun();
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

    private void Begin(in ShardSet wanted)
    {
        _wanted = wanted;
        _next = _waits = 0;
        _ahead = -1;
    }

    /// <summary>Takes the remaining shards in ascending order. After a lack of memory, none of them is held.</summary>
    private bool Continue()
    {
        for (int i = _wanted.Next(_next); i >= 0; i = _wanted.Next(i + 1))
        {
            Shard shard = shards[i];
            if (i == _ahead || shard.TryEnterSoon()) continue;
            _next = i;
            if (++_waits <= Limits.WaitsWithoutShards) ReleaseTaken();
            else ReleaseAhead();
            bool isQueued = false;
            try
            {
                if (_waits > Limits.WaitsWithoutShards) shards.Persistent.Add(this);
                Volatile.Write(ref _state, Queued);
                isQueued = true;
                // Race: once posted, another thread may continue with this object at once. Nothing of it is touched after
                // Post.
                shard.Post(this);
            }
            catch (OutOfMemoryException)
            {
                // The thread that has given up the wait has released the shards and goes on with the work.
                if (isQueued && !TryLeaveQueue(Free)) return false;
                ReleaseTaken();
                throw;
            }
            return false;
        }
        return true;
    }

    private void ReleaseTaken()
    {
        ReleaseAhead();
        for (int i = _wanted.Next(0); i >= 0 && i < _next; i = _wanted.Next(i + 1)) shards[i].Exit();
        _next = 0;
    }

    /// <summary>Releases the shard that is held out of order, unless all wanted shards before it are held too.</summary>
    private void ReleaseAhead()
    {
        if (_ahead >= _next) shards[_ahead].Exit();
        _ahead = -1;
    }
}
