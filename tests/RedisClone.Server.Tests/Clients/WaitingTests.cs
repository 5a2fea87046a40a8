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
}
