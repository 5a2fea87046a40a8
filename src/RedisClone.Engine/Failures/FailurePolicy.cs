using System.Reflection;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Memory;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Failures;

/// <summary>
/// Handles unexpected exceptions. An error that cannot have damaged data is answered, counted and logged. After an error that
/// may leave memory and the stream of effects different, the current state of the keys that the command may have changed is
/// written to the stream. If that is impossible, the process ends, and the next start recovers all acknowledged writes.
/// </summary>
internal sealed class FailurePolicy(ServerCore server, Func<long>? clock = null)
{
    /// <summary>Rounds of maintenance without the reserve after which the log says so.</summary>
    private const int RoundsUntilNotice = 10;

    private readonly Func<long> _clock = clock ?? (static () => Environment.TickCount64);
    private readonly NoticeLimit _commandNotices = new(), _otherNotices = new(), _refusalNotices = new();
    private int _roundsWithoutReserve;
    private volatile bool _isHeapFull;
    private readonly MemoryReserve _reserve = new MemoryReserve(Limits.FailureReserve).Publish();

    public KeyImages Images { get; } = new(server);

    /// <summary>Whether memory was exhausted, which is not a bug.</summary>
    public static bool IsForMemory(Exception failure) => IsOutOfMemory(failure) || failure is InsufficientExecutionStackException;

    /// <summary>The error reply for an exception.</summary>
    public static string ErrorOf(Exception failure) => IsOutOfMemory(failure) ? Errors.AllocationFailed : Errors.Internal;

    /// <summary>Whether an allocation failed, perhaps in a constructor that the runtime called for its caller, or in a new thread.</summary>
    public static bool IsOutOfMemory(Exception failure) =>
        failure is OutOfMemoryException or ThreadStartException or TargetInvocationException { InnerException: OutOfMemoryException };

    /// <summary>
    /// Handles an exception of a command's handler. The shards are held. Effects that the handler completed are kept if it has changed
    /// something, followed by the current state of its keys. On return, the stream of effects matches memory.
    /// </summary>
    /// <param name="c">The context of the command.</param>
    /// <param name="failure">The exception.</param>
    /// <param name="effectsBefore">The end of the unit of effects when the handler began.</param>
    /// <param name="changesBefore">The result of <see cref="ChangesOf"/> when the handler began.</param>
    public void HandlerFailed(ref CommandContext c, Exception failure, EffectMark effectsBefore, long changesBefore)
    {
        Note(failure, c.Lane);
        // A change of a single element that fails for lack of memory has no effect and is not counted.
        bool isUnchanged = IsOutOfMemory(failure) && c.Changes == 0 && ChangesOf(ref c) == changesBefore;
        try
        {
            // Some handlers write their effect before the change, which has not taken place. The changes of a stream are not all counted: its
            // effects tell them, or its image does.
            if (isUnchanged && c.Row.IsWrite && !c.IsTold) c.Lane.Effects.Rollback(effectsBefore);
            else c.Lane.Effects.DropUnfinished();
            CheckWhole(c.Held, failure);
            for (int i = c.Held.Next(0); i >= 0; i = c.Held.Next(i + 1)) server.Shards[i].Store.ClearScratch();
            // A command that only reads also changes its keys if it finds them expired. PFCOUNT stores its result in the key.
            bool changed = c.Row.IsWrite || c.Changes > 0 || c.Row.Has(CommandFlags.ReadOnly) && c.Lane.Effects.Commands > effectsBefore.Commands;
            if (c.Row.Keys.Length > 0 && changed) WriteImages(ref c, isUnchanged);
            else if (c.Row.Image is { } image)
            {
                if (c.Changes > 0) image(server, c.Lane);
            }
            else if (c.Row.IsWrite || c.Changes > 0) Fatal.End("a command failed after it may have changed more than single keys", failure);
            if (c.Row.IsWrite) c.Lane.Changes++;
            c.ForgetChanges();
        }
        catch (Exception handling)
        {
            Fatal.End("a command failed, and the effect of what it changed cannot be written", failure, handling);
        }
        Log(ref c, failure);
    }

    /// <summary>Counts and logs that a command was refused before its first effect, because an allocation failed.</summary>
    public void Refused(ref CommandContext c, Exception failure)
    {
        Note(failure, c.Lane);
        Log(ref c, failure);
    }

    /// <summary>Writes what the keys of a command are now as its effect.</summary>
    public void WriteImages(ref CommandContext c, bool isUnchanged)
    {
        for (int attempt = 0; ; attempt++)
        {
            EffectMark mark = c.Lane.Effects.Mark();
            try
            {
                Images.Write(ref c, isUnchanged);
                return;
            }
            catch (OutOfMemoryException) when (MemoryReserve.TryWait(attempt))
            {
                // The unit ends where it ended before. The next attempt may find memory that another thread has released.
                c.Lane.Effects.Rollback(mark);
            }
        }
    }

    /// <summary>The number of changes so far in the stores of a write command's keys.</summary>
    public long ChangesOf(ref CommandContext c)
    {
        if (!c.Row.IsWrite) return 0;
        if (c.Row.HasSingleKey) return server.Shards.Of(c.HashOf(c.Row.FirstKey)).Store.Changes;
        long changes = 0;
        for (int i = c.Held.Next(0); i >= 0; i = c.Held.Next(i + 1)) changes += server.Shards[i].Store.Changes;
        return changes;
    }

    /// <summary>
    /// Handles an exception outside the handler during a command. Completed effects are placed in the stream, blocked clients
    /// that wait for the keys are served, and clients that cache them are notified.
    /// </summary>
    public void RunFailed(ref CommandContext c, Exception failure)
    {
        Note(failure, c.Lane);
        try
        {
            c.Lane.Effects.DropUnfinished();
            CheckWhole(c.Held, failure);
            server.Executor.PlaceEffects(c.Session, c.Lane, c.Held);
            if (c.Lane.HasFollowUps) server.Executor.FollowUp(c.Lane, c.Held);
        }
        catch (Exception handling)
        {
            Fatal.End("a command's effects cannot be placed in the stream of effects", failure, handling);
        }
        Log(ref c, failure);
    }

    /// <summary>
    /// Counts and logs that a script used a key outside the shards that it holds, though it was proved not to. The command was
    /// refused before it used the key. In a test that asks for it, the process ends.
    /// </summary>
    public void ProofFailed(string script, CommandRow row, Lane lane)
    {
        lane.UnexpectedErrors++;
        const string text = "a script used a key that it did not declare, though it was proved not to";
        if (server.Debug.EndsOnFailedProof) Fatal.End(text);
        server.Log.LogError(new InvalidOperationException(text), "The command {Command} of the script {Script} was refused", row.FullName, script);
    }

    /// <summary>
    /// Handles an exception in background work, with or without a held shard. A lack of memory that left the shard consistent
    /// is logged. Any other exception ends the process.
    /// </summary>
    public void BackgroundFailed(string work, Exception failure, Shard? shard)
    {
        Lane lane = Note(failure);
        if (!IsForMemory(failure) || shard is { Store.IsTorn: true }) Fatal.End(work, failure);
        if (shard is not null)
        {
            try
            {
                lane.Effects.DropUnfinished();
                server.Executor.EndOwnUnit(shard, lane);
            }
            catch (Exception handling)
            {
                Fatal.End("the effects of background work cannot be placed in the stream of effects", failure, handling);
            }
        }
        LogWork(work, failure);
    }

    /// <summary>
    /// Counts and logs an exception that reached the top of a thread or of a timer, where no shard is held. The thread continues.
    /// Never throws.
    /// </summary>
    public void WorkFailed(string work, Exception failure)
    {
        InternalErrors.Add();
        LogWork(work, failure);
    }

    /// <summary>Handles an exception that ends a connection while none of its commands was running.</summary>
    public void ConnectionFailed(Exception failure)
    {
        try
        {
            Note(failure);
        }
        catch (OutOfMemoryException)
        {
            // The thread has no lane yet. Nothing handles an exception of its work.
            InternalErrors.Add();
        }
        LogWork("A connection failed unexpectedly", failure);
    }

    /// <summary>
    /// Allocates the reserve again after a failure released it. Disconnects the clients that use the most memory while memory
    /// is short.
    /// </summary>
    public void Tend()
    {
        _reserve.Refill();
        NoteReserve();
        _isHeapFull = IsHeapFull();
        server.ClientMemory.Tend(IsShortOfMemory);
        long now = _clock();
        if (_commandNotices.TryTakeLeftOut(now, out long commands))
            server.Log.LogWarning("Out of memory: {Count} more commands failed", commands);
        if (_otherNotices.TryTakeLeftOut(now, out long others))
            server.Log.LogWarning("Out of memory: {Count} more failures outside commands", others);
    }

    /// <summary>
    /// Whether the heap is full. If data and clients do not fill it, the rest is garbage and spare buffers, which a collection frees, and
    /// unused space between pinned objects, which stays. New data fill that space. Therefore the heap counts as full after a collection
    /// only if less than a quarter of the reserve is left.
    /// </summary>
    private static bool IsHeapFull()
    {
        HeapBudget budget = HeapBudget.OfProcess;
        return budget.IsHeapFull() && (budget.IsShort || !HeapRelief.TryRelieve() || budget.IsHeapFull(quarters: 3));
    }

    /// <summary>Logs that connections and writes are refused, if this lasts.</summary>
    private void NoteReserve()
    {
        _roundsWithoutReserve = _reserve.IsOut ? _roundsWithoutReserve + 1 : 0;
        if (_roundsWithoutReserve < RoundsUntilNotice || !_refusalNotices.TryPass(_clock(), out _)) return;
        server.Log.LogWarning(
            "Out of memory: new connections, and commands that may use memory, are refused until {Bytes} bytes are free", Limits.FailureReserve);
    }

    /// <summary>
    /// True if the heap is full, or if the reserve is still missing after a failed allocation. Commands that may allocate
    /// memory are refused.
    /// </summary>
    public bool IsShortOfMemory => _reserve.IsOut || _isHeapFull;

    /// <summary>True from a failed allocation until the reserve is allocated again, usually a tenth of a second later.</summary>
    public bool IsReserveOut => _reserve.IsOut;

    /// <summary>Logs a bug with its stack. A lack of memory is logged with a limit, and without a stack.</summary>
    private void Log(ref CommandContext c, Exception failure)
    {
        if (!IsForMemory(failure))
        {
            server.Log.LogError(failure, "Command {Command} of client {Client} failed unexpectedly", c.Row.FullName, c.Session.Id);
            return;
        }
        if (!_commandNotices.TryPass(_clock(), out long leftOut)) return;
        server.Log.LogWarning(
            "Out of memory: command {Command} of client {Client} failed, and {Count} commands since the last such line. " +
            "failed_allocations of INFO counts such failures", c.Row.FullName, c.Session.Id, leftOut);
    }

    /// <summary>The same outside commands. The stack is logged, because nothing else tells which allocation failed.</summary>
    private void LogWork(string work, Exception failure)
    {
        if (!IsForMemory(failure)) server.Log.LogError(failure, "{Work}", work);
        else if (_otherNotices.TryPass(_clock(), out long leftOut))
        {
            server.Log.LogError(
                failure, "{Work}. Since the last such line, {Count} failures for lack of memory were not logged", work, leftOut);
        }
    }

    /// <summary>Releases the reserve and counts the failure. Returns the lane that counts it: the current one, unless given.</summary>
    private Lane Note(Exception failure, Lane? lane = null)
    {
        // The reserve comes first, because a thread's first lane takes memory. The arenas' memory limit is reached before the
        // heap is full, and the rest of the heap is the reserve then.
        if (IsOutOfMemory(failure) && failure is not InsufficientMemoryException) _reserve.Release();
        lane ??= server.Lanes.Current;
        if (IsForMemory(failure)) lane.FailedAllocations++;
        else lane.UnexpectedErrors++;
        return lane;
    }

    private void CheckWhole(in ShardSet held, Exception failure)
    {
        for (int i = held.Next(0); i >= 0; i = held.Next(i + 1))
            if (server.Shards[i].Store.IsTorn) Fatal.End("a shard was left in the middle of a change", failure);
    }
}
