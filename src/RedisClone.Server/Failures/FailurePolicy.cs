using Microsoft.Extensions.Logging;
using RedisClone.Server.Admin;
using RedisClone.Server.Commands;
using RedisClone.Server.Shards;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Failures;

/// <summary>
/// What the server does about an exception that no code expected. An error that cannot have left damage is answered, counted and logged. An error after
/// which memory and the stream of effects might differ is mended: what the command may have changed is written down as it is now. Where that is
/// impossible, the process ends, and the next start recovers what was promised.
/// </summary>
internal sealed class FailurePolicy(ServerCore server)
{
    private const int NoticeMilliseconds = 10_000;

    private readonly KeyImages _images = new(server);
    private long _nextNotice;
    private volatile bool _isHeapFull;
    private readonly MemoryReserve _reserve = new(Limits.FailureReserve);

    /// <summary>Whether memory was short, which is no fault of the code.</summary>
    public static bool IsForMemory(Exception failure) => failure is OutOfMemoryException or InsufficientExecutionStackException;

    /// <summary>The error that a client is told.</summary>
    public static string ErrorOf(Exception failure) => failure is OutOfMemoryException ? Errors.AllocationFailed : Errors.Internal;

    /// <summary>
    /// A handler threw, with its shards held. The effects that it has completed stay, and the state of its keys follows them: on return, the stream of
    /// effects says what memory holds.
    /// </summary>
    /// <param name="c">The run.</param>
    /// <param name="failure">What the handler threw.</param>
    /// <param name="effectsBefore">Commands in the unit of effects when the handler began.</param>
    /// <param name="changesBefore">What <see cref="ChangesOf"/> was then.</param>
    public void HandlerFailed(ref CommandContext c, Exception failure, int effectsBefore, long changesBefore)
    {
        Note(failure, c.Lane);
        // A change of one element that fails for lack of memory has not taken place, and is not counted.
        bool isUnchanged = failure is OutOfMemoryException && c.Changes == 0 && ChangesOf(ref c) == changesBefore;
        try
        {
            c.Lane.Effects.DropUnfinished();
            CheckWhole(c.Held, failure);
            for (int i = c.Held.Next(0); i >= 0; i = c.Held.Next(i + 1)) server.Shards[i].Store.ClearScratch();
            // A command that reads changes its keys too when it finds that they have expired; PFCOUNT keeps its result in the key.
            bool changed = c.Row.IsWrite || c.Changes > 0 || c.Row.Has(CommandFlags.ReadOnly) && c.Lane.Effects.Commands > effectsBefore;
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

    private void WriteImages(ref CommandContext c, bool isUnchanged)
    {
        try
        {
            _images.Write(ref c, isUnchanged);
        }
        catch (OutOfMemoryException) when (!_reserve.IsOut)
        {
            _reserve.Release();
            c.Lane.Effects.DropUnfinished();
            // Images that were written already are written again: they are the same.
            _images.Write(ref c, isUnchanged);
        }
    }

    /// <summary>Changes that were made so far in the stores of a write command's keys.</summary>
    public long ChangesOf(ref CommandContext c)
    {
        if (!c.Row.IsWrite) return 0;
        if (c.Row.HasSingleKey) return server.Shards.Of(c.HashOf(c.Row.FirstKey)).Store.Changes;
        long changes = 0;
        for (int i = c.Held.Next(0); i >= 0; i = c.Held.Next(i + 1)) changes += server.Shards[i].Store.Changes;
        return changes;
    }

    /// <summary>
    /// Something outside the handler threw during a run. Effects that are complete get their place, and the clients that they concern are served and told.
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
    /// Work that no client asked for threw, with a shard held or none. A lack of memory that left the shard whole is logged; anything else ends the process.
    /// </summary>
    public void BackgroundFailed(string work, Exception failure, Shard? shard)
    {
        ReleaseReserve(failure);
        Lane lane = server.Lanes.Current;
        Note(failure, lane);
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
        server.Log.LogError(failure, "{Work}", work);
    }

    /// <summary>A connection cannot go on; no command of it was running.</summary>
    public void ConnectionFailed(Exception failure)
    {
        ReleaseReserve(failure);
        Note(failure, server.Lanes.Current);
        server.Log.LogError(failure, "A connection failed unexpectedly");
    }

    /// <summary>Takes back the memory that a failure was given. Where it cannot be had, the clients that hold the most are disconnected.</summary>
    public void Tend()
    {
        _reserve.Refill();
        _isHeapFull = HeapBudget.OfProcess.IsHeapFull();
        if (IsShortOfMemory) server.ClientMemory.EvictLargest(Limits.FailureReserve);
    }

    /// <summary>
    /// The heap is full, or an allocation has failed and there is not enough memory yet to be prepared for the next: commands that may take more are refused.
    /// </summary>
    public bool IsShortOfMemory => _reserve.IsOut || _isHeapFull;

    /// <summary>A bug is told with its stack. A lack of memory is told once in a while: a client can meet it thousands of times a second.</summary>
    private void Log(ref CommandContext c, Exception failure)
    {
        if (!IsForMemory(failure))
        {
            server.Log.LogError(failure, "Command {Command} of client {Client} failed unexpectedly", c.Row.FullName, c.Session.Id);
            return;
        }
        long now = Environment.TickCount64, next = Volatile.Read(ref _nextNotice);
        if (now < next || Interlocked.CompareExchange(ref _nextNotice, now + NoticeMilliseconds, next) != next) return;
        server.Log.LogWarning(
            "Out of memory: command {Command} of client {Client} failed. failed_allocations of INFO counts such failures", c.Row.FullName, c.Session.Id);
    }

    private void Note(Exception failure, Lane lane)
    {
        if (IsForMemory(failure)) lane.FailedAllocations++;
        else lane.UnexpectedErrors++;
        ReleaseReserve(failure);
    }

    private void ReleaseReserve(Exception failure)
    {
        // The budget of the arenas ends before the heap is full: the rest of the heap is the reserve then.
        if (failure is OutOfMemoryException and not InsufficientMemoryException) _reserve.Release();
    }

    private void CheckWhole(in ShardSet held, Exception failure)
    {
        for (int i = held.Next(0); i >= 0; i = held.Next(i + 1))
            if (server.Shards[i].Store.IsTorn) Fatal.End("a shard was left in the middle of a change", failure);
    }
}
