using System.Globalization;
using System.Net.Sockets;
using System.Text;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>
/// Many clients that each hold little memory, on a server whose heap has a limit. Together they would need more than the heap.
/// The server disconnects or refuses some of them, stays up, answers new clients, and loses nothing that it acknowledged.
/// </summary>
public sealed class ClientFloodTests
{
    private const int Clients = 1500;
    private const string Durable = "--appendonly yes --appendfsync always";

    [Theory]
    [InlineData("multi")]
    [InlineData("blpop")]
    [InlineData("half")]
    [InlineData("inline")]
    [InlineData("unread")]
    [InlineData("arguments")]
    [InlineData("himport")]
    [InlineData("multi blpop half idle")]
    [InlineData("unread arguments himport inline name")]
    public void ManySmallClientsDoNotExhaustTheHeap(string kinds)
    {
        string[] mix = kinds.Split(' ');
        using var server = new ShellServer("export DOTNET_GCHeapHardLimit=0x6000000; exec SERVER > log", "--save ''", Durable);
        int acknowledged = 0;
        var held = new List<RespClient>();
        for (int i = 0; i < Clients; i++)
        {
            if (TryOpen(server.Port, Request(mix[i % mix.Length], i)) is { } client) held.Add(client);
            if (i % 100 == 0 && TrySet(server.Port, acknowledged)) acknowledged++;
        }
        // A new client is served while the others are still connected, and after they have gone.
        using (RespClient other = server.Connect()) other.Expect("+PONG", "PING");
        foreach (RespClient client in held) client.Dispose();
        using (RespClient other = server.Connect()) other.Expect("+PONG", "PING");
        AwaitSet(server.Port, acknowledged);
        acknowledged++;
        server.AssertStops();

        using ServerProcess again = ServerProcess.Ours(["--dir", server.Folder, .. Durable.Split(' ')]);
        using RespClient reader = again.Connect();
        for (int i = 0; i < acknowledged; i++) reader.Expect(":1000", "STRLEN", $"key:{i}");
    }

    /// <summary>
    /// All clients read the same value, so they wait for its shard with replies that they have not flushed. Those count as memory of the
    /// clients too.
    /// </summary>
    [Fact]
    public void LongRepliesDoNotExhaustTheHeap()
    {
        using var server = new ShellServer("export DOTNET_GCHeapHardLimit=0x6000000; exec SERVER > log", "--save ''");
        using (RespClient writer = server.Connect())
        {
            string value = new('v', 100_000);
            for (int i = 0; i < 100; i++) writer.Expect("+OK", "SET", $"long:{i}", value);
        }
        byte[] request = [.. Enumerable.Repeat(Requests.Encode("GET", "long:0"), 20).SelectMany(static bytes => bytes)];
        var held = new List<RespClient>();
        for (int i = 0; i < Clients; i++)
            if (TryOpen(server.Port, request) is { } client) held.Add(client);
        foreach (RespClient client in held) client.Dispose();
        AwaitSet(server.Port, 0);
        server.AssertStops();
    }

    /// <summary>
    /// Replicas that take nothing of the snapshot and the stream are disconnected, and nothing of them stays: the stream would be kept for
    /// them until writes are refused.
    /// </summary>
    [Fact]
    public void ReplicasThatDoNotReadLeaveNothing()
    {
        using var server = new ShellServer("export DOTNET_GCHeapHardLimit=0x6000000; exec SERVER > log", "--save '' --repl-diskless-sync-delay 0");
        byte[] request = Requests.Encode("PSYNC", "?", "-1");
        using (RespClient writer = server.Connect())
        {
            for (int i = 0; i < 100; i++) writer.Expect("+OK", "SET", $"k{i}", new string('v', 100_000));
            var held = new List<RespClient>();
            for (int i = 0; i < 400; i++)
            {
                if (TryOpen(server.Port, request) is { } client) held.Add(client);
                TrySet(server.Port, 0);
            }
            foreach (RespClient client in held) client.Dispose();
        }
        for (int tries = 0; ; tries++)
        {
            using RespClient client = server.Connect();
            if (client.Figure("connected_slaves") == "0") break;
            Assert.True(tries < 300, "a replica that is gone is still listed");
            Thread.Sleep(100);
        }
        AwaitSet(server.Port, 0);
        server.AssertStops();
    }

    /// <summary>Without AUTH, clients have a smaller part. A client that can authenticate is served.</summary>
    [Fact]
    public void UnauthenticatedClientsHaveASmallerPartOfTheHeap()
    {
        using var server = new ShellServer("export DOTNET_GCHeapHardLimit=0x6000000; exec SERVER > log", "--save ''",
            "--requirepass pw");
        RespClient? first = null;
        while (first is null) first = TryOpen(server.Port, []);
        first.Expect("+OK", "AUTH", "pw");
        // A server that loads its data queues no write.
        for (int tries = 0; first.Call("PING").Text != "PONG"; tries++)
        {
            Assert.True(tries < 600, "the server does not end its load");
            Thread.Sleep(100);
        }
        string name = new('n', 60_000);
        first.Expect("+OK", "MULTI");
        first.Expect("+QUEUED", "SET", "k", name);
        var held = new List<RespClient>();
        for (int i = 0; i < Clients; i++)
            if (TryOpen(server.Port, Request("inline", i)) is { } client) held.Add(client);
        first.Expect("*[+OK]", "EXEC");
        foreach (RespClient client in held) client.Dispose();
        using (var other = new RespClient(server.Port)) other.Expect("+OK", "AUTH", "pw");
        first.Dispose();
        server.AssertStops();
    }

    /// <summary>Connections alone: the server refuses them as it refuses those beyond maxclients.</summary>
    [Fact]
    public void ConnectionsBeyondTheirPartOfTheHeapAreRefused()
    {
        using var server = new ShellServer("export DOTNET_GCHeapHardLimit=0x4000000; exec SERVER > log", "--save ''");
        using RespClient first = server.Connect();
        var held = new List<RespClient>();
        for (int i = 0; i < 2000; i++)
            if (TryOpen(server.Port, []) is { } client) held.Add(client);
        Assert.Equal("-ERR max number of clients reached\r\n", held[^1].ReadToClose());
        Assert.True(int.Parse(first.Figure("rejected_connections"), CultureInfo.InvariantCulture) > 0);
        foreach (RespClient client in held) client.Dispose();
        using (RespClient other = server.Connect()) other.Expect("+PONG", "PING");
        server.AssertStops();
    }

    private static byte[] Request(string kind, int number) => kind switch
    {
        "multi" => [.. Requests.Encode("MULTI"), .. Requests.Encode("SET", "q", new string('z', 50_000))],
        "blpop" => Requests.Encode("BLPOP", $"none:{number}" + new string('x', 30_000), "0"),
        "half" => Encoding.ASCII.GetBytes("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5000000\r\n" + new string('x', 60_000)),
        "inline" => Encoding.ASCII.GetBytes(new string('x', 60_000)),
        "unread" => [.. Enumerable.Repeat(Requests.Encode("ECHO", new string('x', 30_000)), 40).SelectMany(static bytes => bytes)],
        "arguments" => Encoding.ASCII.GetBytes("*1000000\r\n" + string.Concat(Enumerable.Repeat("$0\r\n\r\n", 10_000))),
        "himport" => [.. Enumerable.Range(0, 60).SelectMany(set =>
            Requests.Encode(["HIMPORT", "PREPARE", $"f{set}", .. Enumerable.Range(0, 30).Select(field => $"n{number}_{set}_{field}")]))],
        "name" => Requests.Encode("CLIENT", "SETNAME", new string('x', 30_000)),
        _ => [],
    };

    private static RespClient? TryOpen(int port, byte[] request)
    {
        RespClient? client = null;
        try
        {
            client = new RespClient(port);
            client.SendWhatIsTaken(request, patience: 2000);
            return client;
        }
        catch (SocketException)
        {
            // The server may be starting, or the connection was refused before it was accepted.
            client?.Dispose();
            return null;
        }
    }

    /// <summary>Repeats a write that may be refused until the memory of clients that have gone is free.</summary>
    private static void AwaitSet(int port, int number)
    {
        for (int tries = 0; !TrySet(port, number); tries++)
        {
            Assert.True(tries < 100, "writes are still refused after all clients have gone");
            Thread.Sleep(100);
        }
    }

    /// <summary>Whether a write was acknowledged. It may be refused while memory is short.</summary>
    private static bool TrySet(int port, int number)
    {
        try
        {
            using var client = new RespClient(port);
            return client.Call("SET", $"key:{number}", new string('v', 1000)) is { Type: '+', Text: "OK" };
        }
        catch (Exception e) when (e is IOException or SocketException)
        {
            return false;
        }
    }
}
