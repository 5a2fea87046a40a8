namespace RedisClone.Transport.EventLoop;

/// <summary>
/// Takes a connection's input on its event loop while a read of the pipe waits, without completing that read. This spares the two
/// resumptions of an asynchronous method that a small batch would cost.
/// </summary>
public interface IInputConsumer
{
    /// <summary>
    /// On the event loop: input has arrived. The consumer owns the pipe's reader from here on, and may keep it after the call. It gives the
    /// reader back by <see cref="IEventLoopFeature.TryAwaitInput"/> or <see cref="IEventLoopFeature.CompleteRead"/>. An exception
    /// must not leave the method.
    /// </summary>
    void Take(ArraySegment<byte> input);
}
