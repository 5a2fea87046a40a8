using Microsoft.Extensions.Logging;

namespace RedisClone.Transport.EventLoop;

/// <summary>What can be set on the event-loop transport. Read when an endpoint is bound.</summary>
public sealed class EventLoopOptions
{
    /// <summary>
    /// Receives an exception that nothing below the top of a loop's or a connection's work handled, with the work that it cut short. The loop goes on. Must
    /// not throw.
    /// </summary>
    public Action<ILogger, Exception, string> Failed { get; set; } = static (log, error, work) => log.LogError(error, "{Work}", work);

    /// <summary>Ends the process after rounds of a loop have failed again and again. Must not return.</summary>
    public Action<string, Exception> End { get; set; } = static (why, cause) => Environment.FailFast(why, cause);

    /// <summary>How long a stop waits until all endpoints are closed.</summary>
    public TimeSpan StopPatience { get; set; } = TimeSpan.FromSeconds(5);

    /// <summary>How many loops, each with a thread of its own.</summary>
    public int LoopCount { get; set; } = Environment.ProcessorCount;

    /// <summary>Connections that the kernel may hold ready before they are accepted.</summary>
    public int Backlog { get; set; } = 511;

    /// <summary>Seconds of silence after which the kernel probes a TCP peer; 0 leaves that off.</summary>
    public int KeepAliveSeconds { get; set; } = 300;

    /// <summary>The mode of a unix socket's file, in force before the first connection is accepted; null leaves it to the umask.</summary>
    public UnixFileMode? UnixSocketMode { get; set; }

    /// <summary>
    /// How much unconsumed input a connection may pile up. A reader that has examined that much and still wants more is told
    /// that its input has ended.
    /// </summary>
    public int MaxReadBufferBytes { get; set; } = 1 << 30;

    /// <summary>What one connection may receive, and send, in a round, so that none starves its loop.</summary>
    public int MaxBytesPerTurn { get; set; } = 256 * 1024;

    /// <summary>What all connections may receive, write and send in a round before whoever has much to do waits for the next: half a millisecond's work, or so.</summary>
    public int MaxBytesPerRound { get; set; } = 1024 * 1024;

    /// <summary>Unsent output beyond which a flush waits.</summary>
    public long PauseWriterBytes { get; set; } = 256 * 1024;

    /// <summary>Unsent output at which a waiting flush goes on.</summary>
    public long ResumeWriterBytes { get; set; } = 128 * 1024;

    /// <summary>How long a peer takes nothing before it counts as one that does not read.</summary>
    public int StallMilliseconds { get; set; } = 100;

    /// <summary>How long it may take nothing once the server ends: then it is cut off.</summary>
    public int LastStallMilliseconds { get; set; } = 500;

    /// <summary>
    /// Unsent output beyond which a flush waits for a peer that does not read either. Up to there it does not, so that the peer's backlog shows, and whoever
    /// limits it can act.
    /// </summary>
    public long UnreadBytes { get; set; } = 16 << 20;

    /// <summary>What may be unsent on all loops before every flush waits.</summary>
    public long UnreadBytesOfAll { get; set; } = 256 << 20;
}
