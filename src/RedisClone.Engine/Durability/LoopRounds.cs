using RedisClone.Scheduling;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Group commit for one event loop. The loop reports when it begins and ends executing commands, and holds the output of its
/// connections until the effects that the output saw are durable or, without <c>appendfsync always</c>, written. The end of a
/// round closes the group; the replies that it made safe leave in the same round.
/// </summary>
internal sealed class LoopRounds(int index, IEventLoop loop, JournalKeeper keeper) : IOutputGate
{
    private static readonly Action<object?> EndRound = static state => ((LoopRounds)state!).End();

    // Race: the flag is reset before the gate is consulted at the end of the round, so a later durable LSN posts again.
    private static readonly Action<object?> Consult = static state => Interlocked.Exchange(ref ((LoopRounds)state!)._posted, 0);
    private bool _inRound;
    private int _posted;

    public IEventLoop Loop => loop;

    public bool IsFinal => keeper.IsFinal;

    public long Open => keeper.OpenUpTo;

    /// <summary>Called before a connection executes commands. It has an effect only on the loop's thread.</summary>
    public void Enter()
    {
        if (_inRound || !loop.IsOnLoop) return;
        _inRound = true;
        keeper.Engine.RoundStarting(index);
        loop.AtEndOfRound(EndRound, this);
    }

    /// <summary>Called when the gate has opened further or will not open any more.</summary>
    public void Moved()
    {
        Interlocked.MemoryBarrier(); // See HeldOutput.Release.
        // On the event loop, the end of the present round consults the gate.
        long first = loop.FirstHeld;
        if (first == long.MaxValue || (first > Open && !IsFinal)) return;
        if (loop.IsOnLoop || Interlocked.Exchange(ref _posted, 1) != 0) return;
        try
        {
            loop.Post(Consult, this);
        }
        catch
        {
            // The engine reports progress again, and that report can post.
            Volatile.Write(ref _posted, 0);
            throw;
        }
    }

    private void End()
    {
        _inRound = false;
        keeper.Engine.RoundEnding(index);
    }
}
