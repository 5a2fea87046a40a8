using System.Net;
using System.Net.Sockets;
using System.Text;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Clients;

/// <summary>Clients such as redis-py send a whole pipeline before they read its first reply.</summary>
public sealed class LongPipelineTests
{
    private const int Patience = 60_000;

    [Fact]
    public void APipelineMayBeSentBeforeItsRepliesAreRead()
    {
        const int Requests = 40_000;
        string key = new('k', 300), value = new('v', 2_000);
        using ServerProcess server = ServerProcess.Ours();
        using RespClient client = server.Connect();
        client.Expect("+OK", "SET", key, value);

        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Connect(IPAddress.Loopback, server.Port);
        socket.SendTimeout = socket.ReceiveTimeout = Patience;
        byte[] request = Encoding.ASCII.GetBytes($"GET {key}\r\n"), all = new byte[request.Length * Requests];
        for (int i = 0; i < Requests; i++) request.CopyTo(all, i * request.Length);
        for (int sent = 0; sent < all.Length;) sent += socket.Send(all.AsSpan(sent));

        byte[] reply = Encoding.ASCII.GetBytes($"${value.Length}\r\n{value}\r\n"), received = new byte[reply.Length];
        for (int i = 0; i < Requests; i++)
        {
            for (int at = 0; at < received.Length;)
            {
                int more = socket.Receive(received.AsSpan(at));
                Assert.True(more > 0, $"the server closed the connection after {i} replies");
                at += more;
            }
            Assert.True(received.AsSpan().SequenceEqual(reply), $"reply {i} differs");
        }
        server.AssertWell();
    }
}
