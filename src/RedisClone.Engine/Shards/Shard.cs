using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Failures;
using RedisClone.Storage;

namespace RedisClone.Engine.Shards;

/// <summary>Work that waits in a shard's mailbox.</summary>
internal interface IShardWork
{
    /// <summary>
    /// Runs the work; called by the thread that holds the shard. Returns true if the work keeps the hold. It then releases
    /// the hold itself, possibly on another thread.
    /// </summary>
    /// <remarks>It must not throw.</remarks>
    bool RunHeld(Shard shard);

    /// <summary>
    /// Whether the work is part of a large batch of one client. Such work usually lets other work go first.
    /// </summary>
    bool IsPatient => false;
}

/// <summary>
/// One single-threaded executor: a store, a word that says whether a thread holds the shard, and a mailbox for work that
/// arrives while it is held. A thread that brings work to an idle shard runs it at once. Work that finds the shard busy is
/// run by a worker. No thread ever blocks on a shard.
/// </summary>
internal sealed class Shard : IThreadPoolWorkItem
{
    private readonly ConcurrentQueue<IShardWork> _mailbox = new(), _patient = new();
    private readonly ShardGate _gate;
    private long _taken;                // items taken from the mailbox; written only under the hold
    private Padded _state;

    internal Shard(int index, ShardStore store, ShardGate gate)
    {
        _gate = gate;
        Index = index;
        Store = store;
        Keys = new ShardKeys(this);
    }

    public int Index { get; }

    public ShardStore Store { get; private set; }

    /// <summary>What the shard knows about its keys beyond their values: watches, blocked clients, tracking.</summary>
    public ShardKeys Keys { get; }

    /// <summary>
    /// The LSN behind the last change in this shard. A reply that depends on this shard may have to wait until this LSN is
    /// durable.
    /// </summary>
    internal long Lsn { get; set; }

    /// <summary>
    /// Notes for the clients that watch or await keys that a database will be replaced, or emptied if <paramref name="after"/> is
    /// null. The caller holds the shard.
    /// </summary>
    internal void NoteReplaced(int database, Keyspace? after, Lane lane, long now)
    {
        if (Keys.HasWatchers) Keys.TouchAllWatched(database, Store.ExistingDatabase(database), after, now);
        if (!Keys.HasWaiters) return;
        foreach (DatabaseKey key in Keys.AwaitedIn(database)) lane.AddReady(this, key);
    }

    /// <summary>Replaces all data. The caller holds the shard. The garbage collector frees the old data.</summary>
    internal void Replace(ShardStore store)
    {
        (store.Limits, store.NewAccess, store.Now) = (Store.Limits, Store.NewAccess, Store.Now);
        Store = store;
    }

    /// <summary>
    /// The bytes of maxmemory that this shard may use, see <see cref="MemoryBudgets"/>. The thread that holds the shard raises it,
    /// once for many writes; any thread may set it to the bytes in use.
    /// </summary>
    internal ref long Budget => ref _state.Budget;

    /// <summary>
    /// Bytes that the shard may still evict for its own writes before it looks for unused budgets of other shards. Used only under
    /// the hold.
    /// </summary>
    internal long EvictsAlone { get; set; }

    /// <summary>The number of samples that eviction took from the shard. Used only under the hold.</summary>
    internal uint Samples { get; set; }

    /// <summary>
    /// How often a thread took the shard by itself, or ran a further command in the same hold. A hold of all shards at once does not count.
    /// </summary>
    internal long Holds => Volatile.Read(ref _state.Entered);

    /// <summary>How often a thread found the shard busy, waited for it for a moment, and took it.</summary>
    internal long ShortWaits => Volatile.Read(ref _state.Awaited);

    /// <summary>How much work found the shard busy, waited in the mailbox and ran on a worker.</summary>
    internal long Waits => Volatile.Read(ref _taken);

    /// <summary>The number of items in the mailbox.</summary>
    internal int Queued => Volatile.Read(ref _state.Waiting);

    /// <summary>
    /// Takes the shard if it is idle and its mailbox is empty. Work that runs inline never overtakes work that waits.
    /// </summary>
    internal bool TryEnter() => Volatile.Read(ref _state.Waiting) == 0 && TryHold();

    /// <summary>
    /// Takes the shard like <see cref="TryEnter"/>, and waits a moment for a thread that holds it. Most commands hold a shard for less time
    /// than a hop takes.
    /// </summary>
    /// <remarks>
    /// A long command in the shard costs one such wait, not one for each later command. The first command that waits in vain goes into the
    /// mailbox, and no thread waits here while the mailbox has work.
    /// </remarks>
    internal bool TryEnterSoon()
    {
        if (TryEnter()) return true;
        var patience = new Patience();
        while (Volatile.Read(ref _state.Waiting) == 0 && patience.Pause())
        {
            // Reading leaves the cache line with the holder. Only an exchange that may succeed takes it away.
            if (Volatile.Read(ref _state.Held) != 0 || _gate.IsClosed || !TryEnter()) continue;
            _state.Awaited++;
            return true;
        }
        return false;
    }

    /// <summary>Whether no thread holds the shard and no work waits in its mailbox.</summary>
    internal bool IsIdle => Volatile.Read(ref _state.Held) == 0 && Volatile.Read(ref _state.Waiting) == 0;

    /// <summary>While the gate is closed: waits a moment until the shard is idle.</summary>
    internal bool IsSoonIdle()
    {
        var patience = new Patience();
        while (!IsIdle)
            if (Volatile.Read(ref _state.Waiting) != 0 || !patience.Pause()) return false;
        return true;
    }

    /// <summary>Releases the shard.</summary>
    /// <remarks>
    /// The exchange is a full fence. <see cref="Post"/> first counts its work and then reads whether the shard is held; this
    /// method first releases the shard and then reads whether work waits. At least one of the two sees the other and
    /// schedules the drain.
    /// </remarks>
    internal void Exit()
    {
        Interlocked.Exchange(ref _state.Held, 0);
        if (Volatile.Read(ref _state.Waiting) != 0) ScheduleDrain();
    }

    /// <summary>Counts a further command in the same hold like a hold of its own, so that the load of the shard shows.</summary>
    internal void CountFurtherCommand() => _state.Entered++;

    /// <summary>Puts work into the mailbox. A worker runs it once the shard is free.</summary>
    internal void Post(IShardWork work)
    {
        (work.IsPatient ? _patient : _mailbox).Enqueue(work);
        Interlocked.Increment(ref _state.Waiting);    // full fence: pairs with Exit, and with GateOpened
        if (Volatile.Read(ref _state.Held) == 0 && !_gate.IsClosed) ScheduleDrain();
    }

    /// <summary>Schedules the work that arrived while the gate was closed.</summary>
    internal void GateOpened()
    {
        if (Volatile.Read(ref _state.Waiting) != 0) ScheduleDrain();
    }

    void IThreadPoolWorkItem.Execute()
    {
        Volatile.Write(ref _state.Scheduled, 0);
        // The thread that holds the shard, or all shards, schedules the drain again when it releases them.
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
            // Work handles its own failures. After one that it did not handle, it is unknown whether the shard is still held.
            Fatal.End("work in a shard's mailbox failed", bug);
        }
        Exit();
    }

    /// <summary>Takes the shard unless the gate is closed.</summary>
    /// <remarks>
    /// The exchange is a full fence. This method first takes the shard and then reads the gate;
    /// <see cref="ShardMap.TryEnterAll"/> first closes the gate and then reads the shards. At least one of the two sees the
    /// other and steps back.
    /// </remarks>
    private bool TryHold()
    {
        if (Interlocked.CompareExchange(ref _state.Held, 1, 0) != 0) return false;
        if (!_gate.IsClosed)
        {
            _state.Entered++;
            return true;
        }
        // The gate may have opened meanwhile: the drain that it scheduled found the shard held, and so did work that was posted.
        Interlocked.Exchange(ref _state.Held, 0);
        if (Volatile.Read(ref _state.Waiting) != 0 && !_gate.IsClosed) ScheduleDrain();
        return false;
    }

    /// <summary>
    /// Takes the next work of the mailbox. Patient work comes last, but one turn in <see cref="Limits.WorkPerPatientWork"/>
    /// prefers it, so that it cannot starve.
    /// </summary>
    private bool TryTake([MaybeNullWhen(false)] out IShardWork work) =>
        ++_taken % Limits.WorkPerPatientWork == 0 && _patient.TryDequeue(out work) || _mailbox.TryDequeue(out work) || _patient.TryDequeue(out work);

    private void ScheduleDrain()
    {
        if (Interlocked.CompareExchange(ref _state.Scheduled, 1, 0) != 0) return;
        try
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
        catch (Exception failure)
        {
            // The work is in the mailbox already. Without a drain, its clients would wait forever.
            Fatal.End("a shard's mailbox cannot be drained", failure);
        }
    }

    /// <summary>
    /// The contended words, on cache lines of their own. Each thread that takes the shard writes them: one line moves to another core if
    /// that core had the shard last.
    /// </summary>
    [StructLayout(LayoutKind.Explicit, Size = 192)]
    private struct Padded
    {
        [FieldOffset(64)] public int Held;
        [FieldOffset(68)] public int Waiting;
        [FieldOffset(72)] public int Scheduled;
        [FieldOffset(80)] public long Entered;      // written only under the hold
        [FieldOffset(88)] public long Budget;
        [FieldOffset(96)] public long Awaited;      // written only under the hold
    }
}
