using Microsoft.Extensions.Logging;

namespace RedisClone.Transport.EventLoop;

/// <summary>The options of the event-loop transport. They are read when an endpoint is bound.</summary>
public sealed class EventLoopOptions
{
    /// <summary>
    /// Receives an exception that no code handled, and a description of the work that the exception ended. The event loop
    /// continues. The callback must not throw.
    /// </summary>
    public Action<ILogger, Exception, string> Failed { get; set; } = static (log, error, work) => log.LogError(error, "{Work}", work);

    /// <summary>Ends the process after many rounds of an event loop have failed in a row. It must not return.</summary>
    public Action<string, Exception> End { get; set; } = static (why, cause) => Environment.FailFast(why, cause);

    /// <summary>
    /// Asked before memory is allocated for an accepted connection. If it returns false, the connection gets <see
    /// cref="Refusal"/> and is closed. It must not throw.
    /// </summary>
    public Func<bool> TryOpen { get; set; } = static () => true;

    /// <summary>
    /// Called once for each connection that <see cref="TryOpen"/> let in, when it is closed. It must not throw.
    /// </summary>
    public Action Closed { get; set; } = static () => { };

    /// <summary>The last words to a connection that is refused.</summary>
    public byte[] Refusal { get; set; } = [];

    /// <summary>The longest time that a stop waits until all endpoints are closed.</summary>
    public TimeSpan StopPatience { get; set; } = TimeSpan.FromSeconds(5);

    /// <summary>The number of event loops. Each has its own thread.</summary>
    public int LoopCount { get; set; } = Environment.ProcessorCount;

    /// <summary>
    /// Whether event loops join only when others are busy, and connections move between them. Otherwise all event loops share the
    /// connections by their number.
    /// </summary>
    public bool LoopsJoinByLoad { get; set; }

    /// <summary>The number of connections that the kernel may queue before they are accepted.</summary>
    public int Backlog { get; set; } = 511;

    /// <summary>Seconds of silence after which the kernel probes a TCP peer; 0 turns the probes off.</summary>
    public int KeepAliveSeconds { get; set; } = 300;

    /// <summary>
    /// The mode of a unix socket's file, set before the first connection is accepted. With null, the umask determines it.
    /// </summary>
    public UnixFileMode? UnixSocketMode { get; set; }

    /// <summary>
    /// The largest unconsumed input of a connection. A reader that has examined this much and asks for more sees the end of its
    /// input.
    /// </summary>
    public int MaxReadBufferBytes { get; set; } = 1 << 30;

    /// <summary>
    /// The bytes that one connection may receive, and may send, in a round, so that no connection starves the others of its
    /// event loop.
    /// </summary>
    public int MaxBytesPerTurn { get; set; } = 256 * 1024;

    /// <summary>
    /// The bytes that all connections together may receive, write and send in a round before long work waits for the next round.
    /// The default is about half a millisecond of work.
    /// </summary>
    public int MaxBytesPerRound { get; set; } = 1024 * 1024;

    /// <summary>A flush waits when the unsent output exceeds this size.</summary>
    public long PauseWriterBytes { get; set; } = 256 * 1024;

    /// <summary>A waiting flush resumes when the unsent output has dropped to this size.</summary>
    public long ResumeWriterBytes { get; set; } = 128 * 1024;

    /// <summary>A peer that has taken no bytes for this long counts as one that does not read.</summary>
    public int StallMilliseconds { get; set; } = 100;

    /// <summary>During shutdown, a connection whose peer has taken no bytes for this long is closed.</summary>
    public int LastStallMilliseconds { get; set; } = 500;

    /// <summary>
    /// A flush to a peer that does not read also waits when the unsent output exceeds this size. Below it the flush does not
    /// wait, so that the backlog is visible to the code that limits it.
    /// </summary>
    public long UnreadBytes { get; set; } = 16 << 20;

    /// <summary>When the unsent output of all event loops exceeds this size, peers that do not read get no allowance.</summary>
    public long UnreadBytesOfAll { get; set; } = 256 << 20;
}
