using System.Net;
using System.Net.Sockets;

namespace RedisClone.Tests;

/// <summary>
/// Ports for servers that must be told theirs. They are below those that the system gives to whoever takes any, and those of <c>tests/documented</c>,
/// and none is given twice: so nobody takes one between the look and its use.
/// </summary>
internal static class Ports
{
    private const int First = 10_000, Count = 10_000;

    // Test projects that run side by side begin at different places.
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
                // Somebody serves there.
            }
        }
        throw new InvalidOperationException("no port is free");
    }
}
