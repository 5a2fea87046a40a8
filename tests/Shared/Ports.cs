using System.Net;
using System.Net.Sockets;

namespace RedisClone.Tests;

/// <summary>
/// Finds ports for servers that cannot choose one themselves. The ports are below the ephemeral range of the system and
/// below the ports of <c>tests/documented</c>, and no port is returned twice. No other process should therefore take a
/// port between the check and its use.
/// </summary>
internal static class Ports
{
    private const int First = 10_000, Count = 10_000;

    // Test projects that run at the same time start at different ports.
    private static int s_last = Environment.ProcessId * 401 % Count;

    public static int Free()
    {
        for (int tried = 0; tried < Count; tried++)
        {
            int port = First + Interlocked.Increment(ref s_last) % Count;
            using var probe = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            try
            {
                probe.Bind(new IPEndPoint(IPAddress.Loopback, port));
                return port;
            }
            catch (SocketException)
            {
                // The port is in use.
            }
        }
        throw new InvalidOperationException("no port is free");
    }
}
