using System.Globalization;
using RedisClone.Server.Tests.Embedding;

namespace RedisClone.Server.Tests.Clients;

/// <summary>Clients that wait for keys: the order in which they are served, and the removal of their waits.</summary>
public sealed class WaitingTests
{
    [Fact]
    public async Task AServedClientNoLongerWaitsForItsOtherKeys()
    {
        const int keys = 10_000;
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient waiting = server.Connect(), second = server.Connect(), client = server.Connect();
        // The command names each key twice.
        waiting.Send(["BLPOP", .. Enumerable.Range(0, 2 * keys).Select(i => $"key:{i % keys}"), "0"]);
        await client.UntilAsync("INFO clients", info => info.Contains("blocked_clients:1\r", StringComparison.Ordinal));
        second.Send("BLPOP", "key:0", $"key:{keys - 1}", "0");
        await client.UntilAsync("INFO clients", info => info.Contains("blocked_clients:2\r", StringComparison.Ordinal));
        Assert.Contains($"total_blocking_keys:{keys}\r", client.Run("INFO clients"), StringComparison.Ordinal);
        Assert.Equal("1", client.Run($"RPUSH key:{keys / 2} a"));
        Assert.Equal($"[key:{keys / 2} a]", waiting.Read());
        await client.UntilAsync("INFO clients", info => info.Contains("total_blocking_keys:2\r", StringComparison.Ordinal));
        Assert.Equal("1", client.Run($"RPUSH key:{keys - 1} b"));
        Assert.Equal($"[key:{keys - 1} b]", second.Read());
        Assert.Equal("1", client.Run("RPUSH key:0 c"));
        Assert.Equal("1", client.Run("LLEN key:0"));
    }

    /// <summary>The killer's next command must not pop an element for a client that is gone.</summary>
    [Theory]
    [InlineData(TransportKind.EventLoop, false)]
    [InlineData(TransportKind.EventLoop, true)]
    [InlineData(TransportKind.Sockets, false)]
    public async Task AKilledClientIsNotServed(TransportKind transport, bool inTransaction)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect();
        for (int i = 1; i <= 20; i++)
        {
            using TestClient waiting = server.Connect();
            string id = waiting.Run("CLIENT ID");
            waiting.Send("BLPOP", $"queue:{i}", "0");
            await client.UntilAsync("INFO clients", info => info.Contains("blocked_clients:1\r", StringComparison.Ordinal));
            string requests = TestClient.Encode("CLIENT", "KILL", "ID", id) + TestClient.Encode("RPUSH", $"queue:{i}", "x");
            client.SendRaw(inTransaction ? TestClient.Encode("MULTI") + requests + TestClient.Encode("EXEC") : requests);
            foreach (string reply in inTransaction ? (string[])["OK", "QUEUED", "QUEUED", "[1 1]"] : ["1", "1"]) Assert.Equal(reply, client.Read());
        }
        Assert.Equal("20", client.Run("DBSIZE"));
        await client.UntilAsync("INFO clients", info => info.Contains("blocked_clients:0\r", StringComparison.Ordinal));
    }

    [Fact]
    public async Task WaitingClientsAreServedInOrderOfArrival()
    {
        const int workers = 40;
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        TestClient[] waiting = [.. Enumerable.Range(0, workers).Select(_ => server.Connect())];
        for (int i = 0; i < workers; i++)
        {
            // BLMOVE moves the element to another queue, so serving one client makes a key ready for which other clients may
            // wait.
            waiting[i].Send("BLMOVE", "queue", $"queue:{i % 3}", "LEFT", "RIGHT", "0");
            await client.UntilAsync("INFO clients", info => info.Contains($"blocked_clients:{i + 1}\r", StringComparison.Ordinal));
        }
        using TestClient last = server.Connect();
        last.Send("BLPOP", "queue:0", "queue:1", "queue:2", "0");
        await client.UntilAsync("INFO clients", info => info.Contains($"blocked_clients:{workers + 1}\r", StringComparison.Ordinal));
        client.Call(["RPUSH", "queue", .. Enumerable.Range(0, workers).Select(i => $"{i}")]);
        for (int i = 0; i < workers; i++) Assert.Equal($"{i}", waiting[i].Read());
        Assert.Equal("[queue:0 0]", last.Read());
        Assert.Equal("[2 5 8]", client.Run("LRANGE queue:2 0 2"));
        Assert.Equal("0", client.Run("EXISTS queue"));
        foreach (TestClient worker in waiting) worker.Dispose();
    }

    /// <summary>The first client in the queue needs a second shard, which the command that makes the key ready must hold too.</summary>
    [Theory]
    [InlineData("MOVE {0} 1")]
    [InlineData("COPY {0} {0} DB 1")]
    [InlineData("EVAL return(redis.call('MOVE',KEYS[1],1)) 1 {0}")]
    [InlineData("EVAL redis.call('SELECT',1)return(redis.call('RPUSH',KEYS[1],'x')) 1 {0}")]
    public async Task WaitingClientsOfAnotherDatabaseAreServedInOrderOfArrival(string command)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), first = server.Connect(), second = server.Connect();
        first.Run("SELECT 1");
        second.Run("SELECT 1");
        for (int i = 0; i < 20; i++)
        {
            string key = $"key:{i}";
            first.Send("BLMOVE", key, "moved", "LEFT", "RIGHT", "0");
            await client.UntilAsync("INFO clients", info => info.Contains("blocked_clients:1\r", StringComparison.Ordinal));
            second.Send("BLPOP", key, "last", "0");
            await client.UntilAsync("INFO clients", info => info.Contains("blocked_clients:2\r", StringComparison.Ordinal));
            client.Run($"RPUSH {key} x");
            Assert.Equal("1", client.Run(string.Format(CultureInfo.InvariantCulture, command, key)));
            Assert.Equal("x", first.Read());
            Assert.Equal("1", client.Run("EVAL redis.call('SELECT',1)return(redis.call('RPUSH',KEYS[1],'y')) 1 last"));
            Assert.Equal("[last y]", second.Read());
        }
    }
}
