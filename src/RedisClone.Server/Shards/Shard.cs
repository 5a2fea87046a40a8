using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using RedisClone.Server.Admin;
using RedisClone.Storage;

namespace RedisClone.Server.Shards;

/// <summary>Work that waits in a shard's mailbox.</summary>
internal interface IShardWork
{
    /// <summary>
    /// Called by the thread that holds the shard. True when the work keeps the hold and will give it up itself, on whatever thread
    /// it goes on.
    /// </summary>
    /// <remarks>It must not throw.</remarks>
    bool RunHeld(Shard shard);

    /// <summary>It is one of many that whoever brings it has asked for at once: most of the time others go first.</summary>
    bool IsPatient => false;
}

/// <summary>
/// One single-threaded executor: a store, the word that says whether a thread holds it, and the mailbox of what came while it
/// was held. A thread that brings work to an idle shard runs it right there; what finds the shard busy is run by a
/// worker of the thread pool. No thread ever blocks on a shard.
/// </summary>
internal sealed class Shard : IThreadPoolWorkItem
{
    private readonly ConcurrentQueue<IShardWork> _mailbox = new(), _patient = new();
    private readonly ShardGate _gate;
    private int _taken;                 // of the mailbox; whoever holds the shard counts
    private Padded _state;

    internal Shard(int index, ShardStore store, ShardGate gate)
    {
        _gate = gate;
        Index = index;
        Store = store;
        Keys = new ShardKeys(this);
    }

    public int Index { get; }

    public ShardStore Store { get; }

    /// <summary>What the shard knows of its keys beyond their values: watchers, blocked clients, counters.</summary>
    public ShardKeys Keys { get; }

    /// <summary>The position in the stream of effects behind the last change here: what a reply that saw this shard must wait for.</summary>
    internal long Lsn { get; set; }

    /// <summary>Takes the shard if it is idle and nobody queues for it: inline work never overtakes work that waits.</summary>
    internal bool TryEnter() => Volatile.Read(ref _state.Waiting) == 0 && TryHold();

    /// <summary>Nobody holds it, and nobody queues for it.</summary>
    internal bool IsIdle => Volatile.Read(ref _state.Held) == 0 && Volatile.Read(ref _state.Waiting) == 0;

    /// <summary>
    /// Lets go of the shard. The exchange is a full fence: a poster first announces its work and then looks whether the shard is
    /// held, we first let go and then look whether work waits, so at least one of the two sees the other.
    /// </summary>
    internal void Exit()
    {
        Interlocked.Exchange(ref _state.Held, 0);
        if (Volatile.Read(ref _state.Waiting) != 0) ScheduleDrain();
    }

    /// <summary>Leaves work for whoever holds the shard next.</summary>
    internal void Post(IShardWork work)
    {
        (work.IsPatient ? _patient : _mailbox).Enqueue(work);
        Interlocked.Increment(ref _state.Waiting);    // full fence, see Exit; and the same with the gate
        if (Volatile.Read(ref _state.Held) == 0 && !_gate.IsClosed) ScheduleDrain();
    }

    /// <summary>Looks after work that came while the gate was closed.</summary>
    internal void GateOpened()
    {
        if (Volatile.Read(ref _state.Waiting) != 0) ScheduleDrain();
    }

    void IThreadPoolWorkItem.Execute()
    {
        Volatile.Write(ref _state.Scheduled, 0);
        // Whoever holds the shard, or all of them, will see that work waits when it lets go.
        if (!TryHold()) return;
        try
        {
            for (int turn = 0; turn < Limits.ShardTurn && TryTake(out IShardWork? work); turn++)
            {
                Interlocked.Decrement(ref _state.Waiting);
                if (work.RunHeld(this)) return;
            }
        }
        catch (Exception bug)
        {
            // Work answers for its own failures, so it is not known who holds the shard after this one.
            Fatal.End("work in a shard's mailbox failed", bug);
        }
        Exit();
    }

    /// <summary>
    /// The exchange is a full fence: we first hold the shard and then look at the gate, who closes the gate first closes it and then looks at
    /// the shards, so at least one of the two sees the other and steps back.
    /// </summary>
    private bool TryHold()
    {
        if (Interlocked.CompareExchange(ref _state.Held, 1, 0) != 0) return false;
        if (!_gate.IsClosed) return true;
        Interlocked.Exchange(ref _state.Held, 0);
        return false;
    }

    /// <summary>Who asks for much in one piece waits behind who asks for little, but not for ever.</summary>
    private bool TryTake([MaybeNullWhen(false)] out IShardWork work) =>
        ++_taken % Limits.ImpatientWork == 0 && _patient.TryDequeue(out work) || _mailbox.TryDequeue(out work) || _patient.TryDequeue(out work);

    private void ScheduleDrain()
    {
        if (Interlocked.CompareExchange(ref _state.Scheduled, 1, 0) != 0) return;
        try
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
        catch (Exception failure)
        {
            // The work is in the mailbox already: without a drain, its clients would wait for ever.
            Fatal.End("a shard's mailbox cannot be drained", failure);
        }
    }

    /// <summary>The words that threads fight over, on cache lines of their own.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 192)]
    private struct Padded
    {
        [FieldOffset(64)] public int Held;
        [FieldOffset(68)] public int Waiting;
        [FieldOffset(72)] public int Scheduled;
    }
}
