using RedisClone.Protocol;
using RedisClone.Server.Net;
using RedisClone.Server.Shards;
using RedisClone.Storage;

namespace RedisClone.Server.Commands;

/// <summary>How a handler has its client wait.</summary>
internal ref partial struct CommandContext
{
    /// <summary>Whether this command may block: not within a transaction or a script, nor when it is already being served.</summary>
    public readonly bool CanBlock => Session.Connection is not null && !Session.InTransaction && Session.Waiter is null;

    /// <summary>Set by <see cref="Block"/>: the command has done nothing yet and will be run again, or answered by a null.</summary>
    public readonly bool Blocked => Waiter is not null;

    /// <summary>
    /// Blocks the client until one of these keys holds what it wants, or the time is over (0: never). Called with all the command's
    /// shards held and before any effect; the handler returns without a reply.
    /// </summary>
    /// <param name="milliseconds">Time to wait, 0 for ever.</param>
    /// <param name="wanted">The type that serves it.</param>
    /// <param name="firstKey">The first argument that is a key to wait for.</param>
    /// <param name="keyCount">How many follow one another.</param>
    /// <param name="nullIsArray">Which null answers a timeout.</param>
    /// <param name="test">A further condition on the key's value.</param>
    /// <param name="state">What the test compares with.</param>
    /// <param name="againAfter">Milliseconds after which time alone may have brought what is waited for, 0 for never.</param>
    /// <param name="servedWithoutValue">Whether the command is to run again, for its error, when a key is gone or holds something else.</param>
    public void Block(
        long milliseconds, ValueType wanted, int firstKey, int keyCount, bool nullIsArray, WaitTest? test = null, object? state = null,
        bool servedWithoutValue = false, long againAfter = 0)
    {
        if (keyCount > 1 && (Server.ClientMemory.IsHeldMuch || Server.Failures.IsShortOfMemory))
        {
            Fail(Errors.AllocationFailed);
            return;
        }
        // A command that runs again waits until the time that it was to wait at first.
        long deadline = milliseconds > 0 ? Now + milliseconds : 0;
        if (Session.WaitingAgain is { } before && (deadline = before.Deadline) > 0) milliseconds = Math.Max(1, deadline - Now);
        Action<ReplyWriter> answer = nullIsArray ? static reply => reply.NullArray() : static reply => reply.Null();
        var waiter = new Waiter(Session, wanted, Router.ShardsOf(Server, Session, Row, Args), test, answer)
        {
            State = state,
            ServedWithoutValue = servedWithoutValue,
            Deadline = deadline,
        };
        try
        {
            for (int i = firstKey; i < firstKey + keyCount; i++)
                Server.Shards.Of(HashOf(i)).Keys.AddWaiter(waiter, Session.Database, Args[i]);
            NoteWrittenKeys(waiter, firstKey, keyCount);
            Block(waiter, milliseconds, againAfter);
        }
        catch (OutOfMemoryException)
        {
            // A waiter that its timer has claimed already goes on by itself.
            if (!waiter.TryClaim(WakeReason.None)) return;
            Unblock(waiter);
            throw;
        }
    }

    /// <summary>Blocks the client for a time (0: for ever) in which no key can serve it; then this is the reply.</summary>
    public void BlockFor(long milliseconds, Action<ReplyWriter> answer) =>
        Block(new Waiter(Session, default, default, test: null, answer), milliseconds, againAfter: 0);

    private void Unblock(Waiter waiter)
    {
        for (int i = waiter.Shards.Next(0); i >= 0; i = waiter.Shards.Next(i + 1)) Server.Shards[i].Keys.RemoveWaiter(waiter);
        waiter.Dispose();
        if (Waiter is null) return;
        (Waiter, Session.Waiter) = (null, null);
        Server.Blocked.Left();
    }

    private void Block(Waiter waiter, long milliseconds, long againAfter)
    {
        Waiter = waiter;
        Session.LastCommand = Row;
        Session.Waiter = waiter;
        Server.Blocked.Entered();
        // The timer may fire at once, on another thread: everything it needs is in place.
        if (againAfter > 0) waiter.StartAgain(againAfter);
        if (milliseconds > 0) waiter.StartTimer(milliseconds);
        // The client may have gone before its waiter was there to be told. Full fence: either we see that, or the other side sees the waiter.
        Interlocked.MemoryBarrier();
        if (Session.Connection is { IsClosed: true }) waiter.Wake(WakeReason.Closed);
    }

    private readonly void NoteWrittenKeys(Waiter waiter, int firstKey, int keyCount)
    {
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        if (Row.CollectKeys(Args, ref positions))
            for (int i = 0; i < positions.Count; i++)
                if (positions[i] < firstKey || positions[i] >= firstKey + keyCount)
                    waiter.Written.Add(new DatabaseKey(Session.Database, Args[positions[i]].ToArray()));
        positions.Dispose();
    }
}
