using System.Net.Sockets;

namespace RedisClone.Transport.Sockets;

/// <summary>Has the kernel ask whether a silent peer is still there, in Redis's shape: three probes, a third of the interval apart.</summary>
public static class TcpKeepAlive
{
    /// <param name="socket">A connection's, or one that listens: what it accepts inherits the setting.</param>
    /// <param name="seconds">Of silence; 0 never asks.</param>
    public static void Apply(Socket socket, int seconds)
    {
        if (seconds <= 0) return;
        socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, true);
        socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveTime, seconds);
        socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveInterval, Math.Max(seconds / 3, 1));
        socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveRetryCount, 3);
    }
}
