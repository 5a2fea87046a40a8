namespace RedisClone.Transport.EventLoop;

/// <summary>
/// One thread that owns many connections. It works in rounds: everything readable is received and handed to its readers, which
/// run right there or gather; what has gathered runs together; then some of what was postponed; then what was posted; then the callbacks of the round's
/// end; then every reply is sent, and some of the messages and of the replies that are long.
/// </summary>
public interface IEventLoop : IConnectionScheduler
{
    /// <summary>Whether the caller runs on this loop's thread.</summary>
    bool IsOnLoop { get; }

    /// <summary>Runs <paramref name="callback"/> on the loop, in the order posted. Any thread may call it.</summary>
    void Post(Action<object?> callback, object? state);

    /// <summary>
    /// Has work run in this round after all that it received: memory that one is waiting for is fetched while others are received, and each
    /// step's code runs for all before the next step's. Only the loop's own thread may call it.
    /// </summary>
    void Gather(IGatheredWork work);

    /// <summary>
    /// Whether so many bytes came, were written and were sent in this round that long work had better wait: who wants little is served in between.
    /// </summary>
    bool RoundIsFull { get; }

    /// <summary>
    /// Has work run after all that gathers, in this round or a later one that has room for it; nothing is fetched for it before. Only the loop's own thread may
    /// call it.
    /// </summary>
    void Postpone(IGatheredWork work);

    /// <summary>
    /// Runs <paramref name="callback"/> once, when all that this round had to execute has been executed and before its output is
    /// sent. Only the loop's own thread may call it; a callback may ask for another, which runs in the same round.
    /// </summary>
    void AtEndOfRound(Action<object?> callback, object? state);

    /// <summary>
    /// Runs a whole round within the present one, without waiting for events: for what takes long on the loop's thread and lets others be served
    /// in between. Only the loop's own thread may call it.
    /// </summary>
    void RunRound();

    /// <summary>
    /// Ends when all that had arrived by now was handed to its readers; where ever more arrives, after some rounds. Any thread may ask, but only another than the
    /// loop's may wait for it.
    /// </summary>
    Task ReceiveAllAsync();
}

/// <summary>What runs in a round together with its like.</summary>
public interface IGatheredWork
{
    /// <summary>Asks for the memory that <see cref="Run"/> will read; called for all that has gathered before the first of them runs.</summary>
    void Fetch();

    void Run();
}

/// <summary>The connection feature that tells which loop a connection belongs to, and how much output waits there.</summary>
public interface IEventLoopFeature
{
    IEventLoop EventLoop { get; }

    /// <summary>The socket's number.</summary>
    int Descriptor { get; }

    /// <summary>Flushed, and not yet taken by the kernel. Any thread may ask; only on the loop is the answer exact.</summary>
    long UnsentBytes { get; }

    /// <summary>What may pile up behind a peer that does not read before a flush waits.</summary>
    long MostUnread { get; set; }

    /// <summary>
    /// Sends at the end of the round, past the connection's pipe. Only on the loop, while the connection waits for input and has flushed
    /// all that it wrote.
    /// </summary>
    void Send(ReadOnlySpan<byte> message);
}
