using RedisClone.Journal;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Durability;

/// <summary>
/// One event loop's part in group commit: it says when it begins to execute and when it is done, and its connections wait here for the
/// flush. At the end of a round the group is closed, and what it made durable leaves in the same round.
/// </summary>
internal sealed class LoopRounds(int index, IEventLoop loop, JournalEngine engine)
{
    private static readonly Action<object?> EndRound = static state => ((LoopRounds)state!).End();
    private static readonly Action<object?> ReleaseGate = static state => ((LoopRounds)state!).Release();
    private bool _inRound;
    private int _posted;

    public DurableGate Gate { get; } = new();

    /// <summary>Before a connection executes; on the loop.</summary>
    public void Enter()
    {
        if (_inRound || !loop.IsOnLoop) return;
        _inRound = true;
        engine.RoundStarting(index);
        loop.AtEndOfRound(EndRound, this);
    }

    /// <summary>The journal's thread made something durable.</summary>
    public void Durable()
    {
        if (!Gate.Any || Interlocked.Exchange(ref _posted, 1) != 0) return;
        try
        {
            loop.Post(ReleaseGate, this);
        }
        catch
        {
            // The engine tells it again.
            Volatile.Write(ref _posted, 0);
            throw;
        }
    }

    private void End()
    {
        _inRound = false;
        engine.RoundEnding(index);
        if (Gate.Any) Gate.Release(Released);
    }

    private void Release()
    {
        // Reset first: what becomes durable from here on posts again.
        Interlocked.Exchange(ref _posted, 0);
        Gate.Release(Released);
    }

    /// <summary>A failed journal lets everybody go, to be closed; so does one that was turned off.</summary>
    private long Released => JournalKeeper.IsKept(engine) ? engine.DurableLsn : long.MaxValue;
}
