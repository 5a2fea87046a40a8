using RedisClone.Engine.Clients;
using RedisClone.Engine.Execution;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;

namespace RedisClone.Engine.Commands;

/// <summary>The part with which a handler blocks its client.</summary>
internal ref partial struct CommandContext
{
    /// <summary>
    /// Whether this command may block. It may not within a transaction or a script, or while it is being served.
    /// </summary>
    public readonly bool CanBlock => Session.Connection is not null && !Session.InTransaction && Session.Waiter is null;

    /// <summary>Set by <see cref="Block"/>. The command has had no effect yet; it will run again or reply null.</summary>
    public readonly bool Blocked => Waiter is not null;

    /// <summary>
    /// Blocks the client until one of the keys holds a value that serves it, or the timeout passes. A handler calls it with all
    /// shards of the command held, before any effect, and then returns without a reply.
    /// </summary>
    /// <param name="milliseconds">The timeout; 0 for none.</param>
    /// <param name="wanted">The type of value that serves the client.</param>
    /// <param name="firstKey">The first argument that is a key to wait for.</param>
    /// <param name="keyCount">The number of consecutive keys.</param>
    /// <param name="nullIsArray">Whether the reply to a timeout is a null array.</param>
    /// <param name="test">A further condition on the key's value.</param>
    /// <param name="state">The state that the test uses.</param>
    /// <param name="againAfter">Milliseconds until the command runs again, if time alone may end the wait; 0 for never.</param>
    /// <param name="servedWithoutValue">Whether the command also runs again if a key is gone or holds another type.</param>
    public void Block(
        long milliseconds, ValueType wanted, int firstKey, int keyCount, bool nullIsArray, WaitTest? test = null, object? state = null,
        bool servedWithoutValue = false, long againAfter = 0)
    {
        if (_server.ClientMemory.IsHeldMuch || _server.ClientMemory.IsFull || _server.Failures.IsShortOfMemory)
        {
            Fail(Errors.AllocationFailed);
            return;
        }
        _server.Invalidations.BeforeWait(ref this);
        // A command that runs again keeps its original deadline.
        long deadline = milliseconds > 0 ? Now + milliseconds : 0;
        if (Earlier is { Deadline: > 0 and var before }) (deadline, milliseconds) = (before, Math.Max(1, before - Now));
        Action<ReplyWriter> answer = nullIsArray ? static reply => reply.NullArray() : static reply => reply.Null();
        var waiter = new Waiter(Session, wanted, Router.ShardsOf(_server, Session, Row, Args), test, answer)
        {
            State = state,
            IsWrite = Row.IsWrite,
            ServedWithoutValue = servedWithoutValue,
            Deadline = deadline,
        };
        try
        {
            for (int i = firstKey; i < firstKey + keyCount; i++)
                _server.Shards.Of(HashOf(i)).Keys.AddWaiter(waiter, Session.Database, Args[i]);
            NoteWrittenKeys(waiter, firstKey, keyCount);
            Block(waiter, milliseconds, againAfter);
        }
        catch (OutOfMemoryException)
        {
            if (!TryWithdraw(waiter)) return;
            throw;
        }
    }

    /// <summary>
    /// Blocks the client for a time (0: without limit) in which no key can serve it. The reply is <paramref name="answer"/>.
    /// </summary>
    /// <param name="milliseconds">The timeout; 0 for none.</param>
    /// <param name="answer">Writes the reply.</param>
    /// <param name="register">Hands the waiter to what can wake it. Without memory for it, the client does not wait.</param>
    public void BlockFor(long milliseconds, Action<ReplyWriter> answer, Action<Waiter>? register = null)
    {
        var waiter = new Waiter(Session, default, default, test: null, answer);
        try
        {
            Block(waiter, milliseconds, againAfter: 0);
            register?.Invoke(waiter);
        }
        catch (OutOfMemoryException)
        {
            if (!TryWithdraw(waiter)) return;
            throw;
        }
    }

    /// <summary>
    /// Blocks the client while work outside of the server is done. The work wakes the waiter with <see cref="WakeReason.Again"/>,
    /// and the command runs again with its <see cref="Earlier"/> wait. Neither the end of the client nor CLIENT UNBLOCK ends the wait.
    /// </summary>
    public Waiter? BlockForWork()
    {
        if (_server.Failures.IsShortOfMemory)
        {
            Fail(Errors.AllocationFailed);
            return null;
        }
        var waiter = new Waiter(Session, default, default, test: null, static _ => { }) { Deadline = Now, MustFinish = true };
        Block(waiter, milliseconds: 0, againAfter: 0);
        return waiter;
    }

    /// <summary>Ends a wait for work that could not begin.</summary>
    public void EndWork(Waiter waiter)
    {
        if (waiter.TryClaim(WakeReason.Again)) Unblock(waiter);
    }

    /// <summary>Ends a wait that lacked memory. Returns false if its timer has claimed the waiter, which then resumes by itself.</summary>
    private bool TryWithdraw(Waiter waiter)
    {
        if (!waiter.TryClaim(WakeReason.None)) return false;
        Unblock(waiter);
        return true;
    }

    private void Unblock(Waiter waiter)
    {
        for (int i = waiter.Shards.Next(0); i >= 0; i = waiter.Shards.Next(i + 1)) _server.Shards[i].Keys.RemoveWaiter(waiter);
        waiter.Dispose();
        if (Waiter is null) return;
        (Waiter, Session.Waiter) = (null, null);
        _server.Blocked.Left();
    }

    private void Block(Waiter waiter, long milliseconds, long againAfter)
    {
        Waiter = waiter;
        Session.LastCommand = Row;
        Session.Waiter = waiter;
        _server.Blocked.Entered();
        // The timer may fire at once on another thread, so all state must be in place.
        if (againAfter > 0) waiter.StartAgain(againAfter);
        if (milliseconds > 0) waiter.StartTimer(milliseconds);
        // The client may have gone before its waiter was visible. With the full fence, either this thread sees that, or the
        // other thread sees the waiter.
        Interlocked.MemoryBarrier();
        if (Session.CloseAfterReply || Session.Connection is { IsClosed: true }) waiter.Wake(WakeReason.Closed);
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
