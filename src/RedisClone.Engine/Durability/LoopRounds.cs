using RedisClone.Journal;
using RedisClone.Scheduling;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Group commit for one event loop. The loop reports when it begins and ends executing commands, and its connections wait
/// here for the flush. The end of a round closes the group; the replies that it made durable leave in the same round.
/// </summary>
internal sealed class LoopRounds(int index, IEventLoop loop, JournalEngine engine)
{
    private static readonly Action<object?> EndRound = static state => ((LoopRounds)state!).End();
    private static readonly Action<object?> ReleaseGate = static state => ((LoopRounds)state!).Release();
    private bool _inRound;
    private int _posted;

    public DurableGate Gate { get; } = new();

    /// <summary>Called before a connection executes commands. It has an effect only on the loop's thread.</summary>
    public void Enter()
    {
        if (_inRound || !loop.IsOnLoop) return;
        _inRound = true;
        engine.RoundStarting(index);
        loop.AtEndOfRound(EndRound, this);
    }

    /// <summary>
    /// Called when the durable LSN has advanced or the journal has failed; schedules a release of the gate on the loop.
    /// </summary>
    public void Durable()
    {
        if (!Gate.Any || Interlocked.Exchange(ref _posted, 1) != 0) return;
        try
        {
            loop.Post(ReleaseGate, this);
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
        engine.RoundEnding(index);
        if (Gate.Any) Gate.Release(Released);
    }

    private void Release()
    {
        // Race: the flag is reset before the release, so a later durable LSN posts again.
        Interlocked.Exchange(ref _posted, 0);
        Gate.Release(Released);
    }

    /// <summary>
    /// The LSN up to which connections are released. A journal that failed releases all of them, and they are closed. One
    /// that was turned off releases all of them too.
    /// </summary>
    private long Released => JournalKeeper.IsKept(engine) ? engine.DurableLsn : long.MaxValue;
}
