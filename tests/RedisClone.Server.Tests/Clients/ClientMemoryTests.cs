using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Server.Tests.Embedding;

namespace RedisClone.Server.Tests.Clients;

/// <summary>
/// The memory of clients: how it is counted, and which clients are evicted above maxmemory-clients. On both transports.
/// </summary>
public sealed class ClientMemoryTests
{
    private const int Mega = 1 << 20;

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task TheLargestClientIsEvictedAndTheOthersStay(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport, config => config.MaxMemoryClients = 2 * Mega);
        using TestClient client = server.Connect(), small = server.Connect(), large = server.Connect();
        small.SendRaw(HalfSent(Mega / 2));
        large.SendWhatIsTaken(HalfSent(Mega * 2));
        Assert.Equal("", large.ReadToEnd());
        Assert.Contains("evicted_clients:1\r\n", client.Run("INFO stats"));
        small.SendRaw("\r\n");
        Assert.StartsWith("ERR unknown command", small.Read());
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task AClientAboveItsOwnLimitDoesNotCauseEvictionOfOthers(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect(), querying = server.Connect(), reading = server.Connect();
        client.Run($"SETRANGE k {4 * Mega} v");
        client.Call("CONFIG", "SET", "maxmemory-clients", $"{10 * Mega}", "client-output-buffer-limit", $"normal {3 * Mega} 0 0");
        querying.SendRaw(HalfSent(6 * Mega));
        await client.UntilAsync("CLIENT LIST", list => list.Contains($" qbuf={6 * Mega} ", StringComparison.Ordinal));
        reading.Send("GET", "k");
        Assert.Equal("", reading.ReadToEnd());
        Assert.Contains("evicted_clients:0\r\n", client.Run("INFO stats"));
        Assert.Contains("client_output_buffer_limit_disconnections:1\r\n", client.Run("INFO stats"));
        Assert.Contains($" qbuf={6 * Mega} ", client.Run("CLIENT LIST"));
    }

    /// <summary>
    /// The server serves a client that does not read for a while, so that its memory becomes visible and a new limit can act.
    /// </summary>
    [Fact]
    public async Task UnreadRepliesAccumulateUntilALimitClosesTheClient()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), nonReading = server.Connect();
        client.Run($"SETRANGE k {Mega} v");
        nonReading.Run("CLIENT SETNAME nonReading");
        int sent = await GrowAsync(client, nonReading, 12 * Mega);
        // The client may send a whole pipeline before it reads, so these are executed too.
        const int More = 30;
        for (int i = 0; i < More; i++) nonReading.Send("GET", "k");
        // The arrays count, which are up to twice as long as the replies.
        Assert.InRange(Held(client), 12 * Mega, 2L * (sent + More) * Mega);
        client.Run($"CONFIG SET maxmemory-clients {4 * Mega}");
        await client.UntilAsync("CLIENT LIST", list => !list.Contains("name=nonReading", StringComparison.Ordinal));
        Assert.Contains("evicted_clients:1\r\n", client.Run("INFO stats"));
    }

    [Fact]
    public async Task MemoryOfClientsReducesTheMemoryForDataAtOnce()
    {
        await using RunningServer server = await RunningServer.StartAsync(
            TransportKind.EventLoop, config => (config.MaxMemorySetting, config.MaxMemoryPolicy, config.Hz) = (8 * Mega, MaxMemoryPolicy.AllKeysLru, 1));
        using TestClient client = server.Connect(), large = server.Connect();
        server.Core.Debug.BackgroundWork = false;
        for (int i = 0; i < 40; i++) client.Run($"SETRANGE k{i} 100000 v");
        Assert.Equal("40", client.Run("DBSIZE"));
        large.SendRaw(HalfSent(6 * Mega));
        await client.UntilAsync("CLIENT LIST", list => list.Contains($" qbuf={6 * Mega} ", StringComparison.Ordinal));
        client.Run("SETRANGE k0 100000 v");
        Assert.DoesNotContain("evicted_keys:0\r\n", client.Run("INFO stats"));
    }

    /// <summary>
    /// A list of clients includes the bytes that arrived before the request, even if another event loop received them.
    /// </summary>
    [Fact]
    public async Task AListOfClientsCountsAllBytesThatHaveArrived()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), other = server.Connect();
        other.Socket.NoDelay = true;
        other.Run("CLIENT SETNAME other");
        other.SendRaw($"*1\r\n${50 * Mega}\r\n");
        // The pieces together fit into the buffer of a new socket. The sender still holds bytes that do not fit.
        string piece = new('v', 4096);
        for (int sent = piece.Length; sent <= 12 * piece.Length; sent += piece.Length)
        {
            other.SendRaw(piece);
            Assert.Matches($"name=other .* qbuf={sent} qbuf-free={Mega - sent} .* tot-mem={Mega} ", SoonAnswered(client,
                "CLIENT LIST"));
        }
    }

    /// <summary>The replication stream is stored once for all replicas, and belongs to no client.</summary>
    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task TheReplicationStreamCountsOnce(TransportKind transport)
    {
        string directory = Directory.CreateTempSubdirectory("redisclone-replicas-").FullName;
        await using (RunningServer server = await RunningServer.StartAsync(transport, config => (config.Dir, config.MaxMemorySetting) = (directory, 1 << 30)))
        {
            using TestClient client = server.Connect();
            using TestClient one = server.Connect(), two = server.Connect(), three = server.Connect(), four = server.Connect();
            foreach (TestClient replica in (TestClient[])[one, two, three, four]) replica.Send("SYNC");
            await client.UntilAsync("INFO replication", info => Regex.Count(info, "state=online") == 4);
            string value = new('v', 4 * Mega);
            for (int i = 0; i < 16; i++) client.Call("SET", "k", value);

            string info = client.Run("INFO memory");
            long waiting = Field(info, "mem_clients_slaves");
            // Bytes in the socket buffers of the system do not count. Each replica holds one partially sent piece.
            Assert.InRange(waiting, 32 * Mega, 80 * Mega);
            Assert.Equal(waiting, Field(info, "mem_not_counted_for_evict"));
            Assert.InRange(Field(info, "mem_clients_normal"), 0, 8 * Mega);
            Assert.InRange(Field(info, "used_memory"), waiting, waiting + 24 * Mega);
            Assert.InRange(server.Core.Eviction.UsedBytes, 0, 24 * Mega);
        }
        Directory.Delete(directory, recursive: true);
    }

    /// <summary>Returns a reply that the server sent before its wait for other event loops could time out.</summary>
    private static string SoonAnswered(TestClient client, string line)
    {
        for (int tries = 1; ; tries++)
        {
            long start = Stopwatch.GetTimestamp();
            string answer = client.Run(line);
            if (tries == 500 || Stopwatch.GetElapsedTime(start) < Limits.ArrivalPatience * 0.9) return answer;
        }
    }

    /// <summary>Requests replies without reading them until the unread replies have this size.</summary>
    /// <summary>Returns the number of requests that were sent.</summary>
    private static async Task<int> GrowAsync(TestClient client, TestClient nonReading, long bytes)
    {
        int sent = 0;
        for (; Held(client) < bytes; sent++)
        {
            Assert.True(sent < 2_000, "the unread replies do not accumulate");
            nonReading.Send("GET", "k");
            await Task.Delay(5);
        }
        return sent;
    }

    private static long Held(TestClient client) =>
        long.Parse(Regex.Match(client.Run("CLIENT LIST"), "name=nonReading .* tot-mem=(\\d+) ").Groups[1].Value, CultureInfo.InvariantCulture);

    private static long Field(string info, string name) =>
        long.Parse(Regex.Match(info, $@"\b{name}:(\d+)\r").Groups[1].Value, CultureInfo.InvariantCulture);

    /// <summary>Returns a command of one argument without its line end.</summary>
    private static string HalfSent(int bytes) => $"*1\r\n${bytes}\r\n" + new string('v', bytes);
}
