using System.Net.Sockets;

namespace RedisClone.Transport.Sockets;

/// <summary>Turns on TCP keepalive as Redis does: three probes, a third of the interval apart.</summary>
public static class TcpKeepAlive
{
    /// <summary>Linux refuses a longer time.</summary>
    private const int MostSeconds = 32_767;

    /// <param name="socket">A connection's socket, or a listening socket, whose accepted sockets inherit the setting.</param>
    /// <param name="seconds">The silence before the first probe, up to about nine hours; 0 turns the probes off.</param>
    public static void Apply(Socket socket, int seconds)
    {
        socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, seconds > 0);
        if (seconds <= 0) return;
        seconds = Math.Min(seconds, MostSeconds);
        socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveTime, seconds);
        socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveInterval, Math.Max(seconds / 3, 1));
        socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveRetryCount, 3);
    }
}
