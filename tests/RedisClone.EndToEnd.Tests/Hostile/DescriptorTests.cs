using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text.RegularExpressions;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>Connections leave descriptors for the files and threads of the process.</summary>
public sealed partial class DescriptorTests
{
    private const int Limit = 400, Reserved = 64;

    [Fact]
    public void IdleHttpConnectionsLeaveTheReserve()
    {
        int metrics = Ports.Free();
        using var server = new ShellServer($"ulimit -n {Limit}; exec SERVER > log", $"--metrics-port {metrics}");
        using RespClient client = server.Connect();
        int process = int.Parse(ProcessId().Match(client.Call("INFO", "server").Text!).Groups[1].ValueSpan, CultureInfo.InvariantCulture);
        var connections = new List<Socket>();
        try
        {
            // Some of these exceed the ceiling too, and are closed or wait.
            for (int i = 0; i < 300; i++) connections.Add(Connect(server.Port));
            for (int i = 0; i < 60; i++) connections.Add(Connect(metrics));
            for (int i = 0; i < 20; i++)
            {
                // One that is above the ceiling exists until it is closed.
                Assert.InRange(Directory.GetFileSystemEntries($"/proc/{process}/fd").Length, 1, Limit - Reserved + 4);
                Thread.Sleep(50);
            }
            using (var refused = new StreamReader(new NetworkStream(Connect(server.Port), ownsSocket: true)))
                Assert.Equal("-ERR max number of clients reached", refused.ReadLine());
            Assert.Equal("PONG", client.Call("PING").Text);
            Assert.Equal("OK", client.Call("SAVE").Text);
        }
        finally
        {
            foreach (Socket connection in connections) connection.Dispose();
        }
    }

    [Fact]
    public void AStartThatCouldServeNoClientIsRefused()
    {
        // With the lowest limits not even the runtime starts.
        for (int limit = 100; ; limit += 20)
        {
            using var server = new ShellServer($"ulimit -n {limit}; exec SERVER > log");
            int exit = server.WaitForExit();
            string log = File.ReadAllText(Path.Combine(server.Folder, "log"));
            if (limit < Limit && !log.Contains("Failed listening on port", StringComparison.Ordinal)) continue;
            Assert.Equal(1, exit);
            Assert.Contains($"the process may open {limit} files (ulimit -n), but needs at least ", log, StringComparison.Ordinal);
            return;
        }
    }

    private static Socket Connect(int port)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Connect(IPAddress.Loopback, port);
        return socket;
    }

    [GeneratedRegex("process_id:([0-9]+)")]
    private static partial Regex ProcessId();
}
