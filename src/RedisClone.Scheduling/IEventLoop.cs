namespace RedisClone.Scheduling;

/// <summary>
/// One thread at a time that owns many connections. It works in rounds. A round receives everything that is readable; the readers continue
/// at once or gather their work. Then it runs the gathered work, some of the postponed work, the posted callbacks, and the
/// end-of-round callbacks. Last, it sends all replies, and a part of the messages and of the long replies.
/// </summary>
public interface IEventLoop : IConnectionScheduler
{
    /// <summary>Whether the calling thread is the event loop's thread.</summary>
    bool IsOnLoop { get; }

    /// <summary>Runs <paramref name="callback"/> on the event loop, in the order of the posts. Any thread may call it.</summary>
    void Post(Action<object?> callback, object? state);

    /// <summary>
    /// Runs work in this round after everything was received. The memory for one item is fetched while others are received, and
    /// each step runs for all items before the next step. Only the event loop's thread may call it.
    /// </summary>
    void Gather(IGatheredWork work);

    /// <summary>
    /// Whether this round has moved so many bytes that long work should wait, so that short commands are served first.
    /// </summary>
    bool RoundIsFull { get; }

    /// <summary>
    /// Runs work after all gathered work, in this round or in a later one that has room for it. <see
    /// cref="IGatheredWork.Fetch"/> is not called for it. Only the event loop's thread may call it.
    /// </summary>
    void Postpone(IGatheredWork work);

    /// <summary>
    /// Runs <paramref name="callback"/> once, after the round has executed all its work and before its output is sent. Only the
    /// event loop's thread may call it. A callback may register another, which runs in the same round.
    /// </summary>
    void AtEndOfRound(Action<object?> callback, object? state);

    /// <summary>
    /// Before long work on the event loop's thread: another thread becomes the event loop's thread and serves the other
    /// connections meanwhile. The calling thread is then an ordinary thread, until its call stack has returned to the event
    /// loop. Returns false if no other thread can be had. Only the event loop's thread may call it.
    /// </summary>
    bool TryHandOver();

    /// <summary>
    /// Consulted at the end of each round in which output is held. It is set before output is held, and not replaced.
    /// </summary>
    IOutputGate? OutputGate { get; set; }

    /// <summary>
    /// The position of the oldest held output, or <see cref="long.MaxValue"/> if none is held. Any thread may read it. When the
    /// gate opens up to it, a callback must be posted, so that a round consults the gate.
    /// </summary>
    long FirstHeld { get; }

    /// <summary>
    /// Completes when everything that has arrived so far was handed to its readers. If input never stops arriving, it completes
    /// after a number of rounds. Any thread may call it, but the event loop's thread must not wait for it.
    /// </summary>
    Task ReceiveAllAsync();
}
