using System.IO.Pipelines;
using RedisClone.Scheduling;

namespace RedisClone.Transport.EventLoop;

/// <summary>The connection feature that gives access to the connection's event loop and to its input and output there.</summary>
public interface IEventLoopFeature : ILoopSocketFeature
{
    IEventLoop EventLoop { get; }

    /// <summary>Takes input instead of a waiting read of the pipe. It is set before the first read.</summary>
    IInputConsumer? Consumer { get; set; }

    /// <summary>For the consumer, while it owns the reader: the same as the pipe's AdvanceTo, in bytes of the input that it took.</summary>
    void Advance(int consumed, int examined);

    /// <summary>
    /// For the consumer, on the event loop: the read waits for more input again. Returns false if there is input that was not examined.
    /// </summary>
    bool TryAwaitInput();

    /// <summary>
    /// For the consumer, on any thread: completes the read with the input that is not consumed. The reader of the pipe continues within
    /// the call.
    /// </summary>
    void CompleteRead();

    /// <summary>
    /// Flushes the pipe's output. It is held until the event loop's <see cref="IOutputGate"/> is open up to <paramref
    /// name="position"/>, and all later output of the connection is held behind it. The writer does not wait for that, unless
    /// the unsent output exceeds the limit of a flush.
    /// </summary>
    ValueTask<FlushResult> FlushHeldAsync(long position);

    /// <summary>
    /// Releases output that was written and not flushed. Otherwise it is sent when the pipe is completed, and the event loop may be long
    /// in releasing the output of a connection that was aborted.
    /// </summary>
    void DropUnflushed();

    /// <summary>
    /// Sends a message at the end of the round without the connection's pipe. The caller must be on the event loop, and the
    /// connection must wait for input and have flushed all its output.
    /// </summary>
    /// <returns>False if output that another thread has flushed has not arrived on the event loop yet: it must leave first.</returns>
    bool TrySend(ReadOnlySpan<byte> message);
}
