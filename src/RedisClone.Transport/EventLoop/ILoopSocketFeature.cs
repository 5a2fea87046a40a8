namespace RedisClone.Transport.EventLoop;

/// <summary>
/// The connection feature that tells the state of a socket of an event loop. It also holds for a connection with TLS, whose bytes are not those
/// of the socket and which has no <see cref="IEventLoopFeature"/>.
/// </summary>
public interface ILoopSocketFeature
{
    /// <summary>The descriptor of the socket.</summary>
    int Descriptor { get; }

    /// <summary>
    /// Bytes that were flushed and that the kernel has not taken yet. Any thread may read it; the value is exact only on the
    /// event loop.
    /// </summary>
    long UnsentBytes { get; }

    /// <summary>Bytes of the array that holds input which is not consumed. Any thread may read it.</summary>
    long InputRoom { get; }

    /// <summary>
    /// Bytes of the arrays that hold written and unsent output, if they are more than usual or if the peer does not read. Any
    /// thread may read it.
    /// </summary>
    long OutputRoom { get; }

    /// <summary>
    /// The peer has reset the connection, or it has closed both directions: nothing can be sent any more. Any thread may read it.
    /// </summary>
    bool IsBroken { get; }

    /// <summary>A flush waits when the unsent output exceeds this size. A peer that does not read may leave more: <see cref="MostUnread"/>.</summary>
    long MostUnsent { get; set; }

    /// <summary>A flush waits when the unsent output exceeds this size, even if the peer does not read.</summary>
    long MostUnread { get; set; }
}
