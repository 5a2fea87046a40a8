using System.Net.Sockets;
using System.Text;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>Expensive clients: large requests, requests that never end, and replies that the client never reads.</summary>
public sealed class ExhaustionTests
{
    private const long Megabyte = 1024 * 1024;

    public static TheoryData<string> Transports => ["eventloop", "sockets"];

    [Theory]
    [MemberData(nameof(Transports))]
    public void ARequestMayHaveAMillionArguments(string transport)
    {
        const int pairs = 600_000, keys = 1_100_000;
        string folder = Directory.CreateTempSubdirectory("redisclone-many-").FullName;
        string[] arguments = ["--transport", transport, "--dir", folder, "--appendonly", "yes", "--save", ""];
        using (ServerProcess server = ServerProcess.Ours(arguments))
        using (RespClient client = server.Connect())
        {
            client.Expect("+OK", ["MSET", .. Enumerable.Range(0, pairs).SelectMany(static i => new[] { $"k{i}", $"{i}" })]);
            client.Expect($":{pairs}", "DBSIZE");
            client.Expect($":{pairs}", ["EXISTS", .. Enumerable.Range(0, keys).Select(static i => $"k{i}")]);
            server.AssertWell();
        }
        using (ServerProcess server = ServerProcess.Ours(arguments))
        using (RespClient client = server.Connect())
        {
            client.Expect($":{pairs}", "DBSIZE");
            client.Expect($"$\"{pairs - 1}\"", "GET", $"k{pairs - 1}");
            client.Expect($":{pairs}", ["DEL", .. Enumerable.Range(0, keys).Select(static i => $"k{i}")]);
            client.Expect(":0", "DBSIZE");
            server.AssertWell();
        }
        Directory.Delete(folder, recursive: true);
    }

    /// <summary>
    /// The count that a client announces takes no memory, however large it is. The arguments are limited as they arrive, even if
    /// they are empty.
    /// </summary>
    [Theory]
    [MemberData(nameof(Transports))]
    public void AnAnnouncedNumberOfArgumentsTakesNoMemory(string transport)
    {
        using ServerProcess server = ServerProcess.Ours("--transport", transport, "--client-query-buffer-limit", "8mb");
        using RespClient other = server.Connect();
        var held = new List<RespClient>();
        long before = server.ResidentBytes;
        for (int i = 0; i < 200; i++)
        {
            held.Add(server.Connect());
            held[^1].SendRaw("*2147483647\r\n");
        }
        for (int i = 0; i < 1000; i++) other.Expect("+PONG", "PING");
        Assert.InRange(server.ResidentBytes - before, long.MinValue, 100 * Megabyte);
        byte[] empty = Encoding.Latin1.GetBytes(string.Concat(Enumerable.Repeat("$0\r\n\r\n", 1_500_000)));
        held[0].SendWhatIsTaken(empty, patience: 5000);
        Assert.Equal("", held[0].ReadToClose());
        string stats = other.Call("INFO", "stats").Text!;
        Assert.Contains("client_query_buffer_limit_disconnections:1\r\n", stats, StringComparison.Ordinal);
        held[1].SendRaw("$4\r\nPING\r\n");
        held[2].SendRaw("PING\r\n");
        Assert.Equal("-ERR Protocol error: expected '$', got 'P'\r\n", held[2].ReadToClose());
        foreach (string announced in new[] { "2147483648", "9223372036854775807", "9223372036854775808" })
        {
            using RespClient client = server.Connect();
            client.SendRaw($"*{announced}\r\n");
            Assert.Equal("-ERR Protocol error: invalid multibulk length\r\n", client.ReadToClose());
        }
        foreach (RespClient client in held) client.Dispose();
        server.AssertWell();
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void IncompleteRequestsTakeLittleMemory(string transport)
    {
        using ServerProcess server = ServerProcess.Ours("--transport", transport);
        using RespClient other = server.Connect();
        string[] halves =
        [
            "*1000000\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000000\r\nabc", "*2\r\n$4\r\nEC", "SET half", "*1", "$",
            "*2\r\n$4\r\nECHO\r\n$5\r\nhello\r",
        ];
        var held = new List<RespClient>();
        long before = server.ResidentBytes;
        for (int i = 0; i < 400; i++)
        {
            held.Add(server.Connect());
            held[^1].SendRaw(halves[i % halves.Length]);
        }
        for (int i = 0; i < 1000; i++) other.Expect("+PONG", "PING");
        Assert.InRange(server.ResidentBytes - before, long.MinValue, 200 * Megabyte);
        // Clients whose requests can still be completed get their replies.
        for (int i = 2; i < held.Count; i += halves.Length)
        {
            held[i].SendRaw("HO\r\n$1\r\nx\r\n");
            Assert.Equal("$\"x\"", held[i].Read().ToString());
        }
        foreach (RespClient client in held) client.Dispose();
        server.AssertWell();
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void ClientsThatNeverReadTakeBoundedMemory(string transport)
    {
        const int valueLength = 1_000_000;
        using ServerProcess server = ServerProcess.Ours("--transport", transport, "--client-output-buffer-limit", "normal", "32mb", "16mb", "1");
        using RespClient other = server.Connect();
        other.Expect("+OK", "SET", "big", new string('v', valueLength));
        byte[] gets = Encoding.Latin1.GetBytes(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$3\r\nbig\r\n", 2000)));
        var nonReading = new List<RespClient>();
        long before = server.ResidentBytes;
        for (int i = 0; i < 4; i++)
        {
            var client = new RespClient(server.Port, receiveBuffer: 4096);
            nonReading.Add(client);
            // The server stops reading from the client, or closes the connection. Both limit the memory of the client.
            client.SendWhatIsTaken(gets, patience: 2000);
        }
        for (int i = 0; i < 200; i++) Assert.Equal(valueLength, other.Call("GET", "big").Text!.Length);
        Assert.InRange(server.ResidentBytes - before, long.MinValue, 400 * Megabyte);
        foreach (RespClient client in nonReading) client.Dispose();
        server.AssertWell();
    }

    [Fact]
    public void ShortConnectionsLeaveNoClients()
    {
        using ServerProcess server = ServerProcess.Ours();
        Random random = Seed.Random("come and go");
        byte[] request = Requests.Encode("SET", "key", new string('v', 5000));
        using RespClient other = server.Connect();
        for (int i = 0; i < 1500; i++)
        {
            using RespClient client = server.Connect();
            client.SendRaw(request.AsSpan(0, random.Next(request.Length + 1)));
            if (random.Next(2) == 0) client.Socket.LingerState = new LingerOption(true, 0); // closes the connection with a reset
        }
        server.AssertWell();
        string clients = "";
        for (int i = 0; i < 1200 && !clients.Contains("connected_clients:1\r\n", StringComparison.Ordinal); i++)
        {
            Thread.Sleep(50);
            clients = other.Call("INFO", "clients").Text!;
        }
        Assert.Contains("connected_clients:1\r\n", clients, StringComparison.Ordinal);
    }

    [Fact]
    public void RandomBytesEndOnlyTheirConnection()
    {
        using ServerProcess server = ServerProcess.Ours();
        Random random = Seed.Random("noise");
        string[] fragments =
        [
            "*1\r\n", "*3\r\n", "$3\r\nSET\r\n", "$3\r\nGET\r\n", "$1\r\nk\r\n", "PING\r\n", "*-1\r\n", "$-1\r\n", "\r\n", "\0", "\"",
            "MULTI\r\n", "EXEC\r\n", "HELLO 3\r\n", "*2\r\n$4\r\nECHO\r\n",
        ];
        for (int i = 0; i < 500; i++)
        {
            using RespClient client = server.Connect();
            var bytes = new StringBuilder();
            for (int n = random.Next(60); n > 0; n--)
                bytes.Append(random.Next(4) == 0 ? ((char)random.Next(256)).ToString() : fragments[random.Next(fragments.Length)]);
            client.SendWhatIsTaken(Encoding.Latin1.GetBytes(bytes.ToString()));
            try
            {
                client.Socket.Shutdown(SocketShutdown.Send);
            }
            catch (SocketException)
            {
                // The server closed the connection before the end of the random bytes.
            }
            client.ReadToClose();
        }
        server.AssertWell();
    }
}
