using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Clients;

/// <summary>
/// The part of a limited heap that clients may use: the memory that counts, the commands that are refused, and the clients that
/// are disconnected.
/// </summary>
public sealed class ClientShareTests
{
    private const int Mega = 1 << 20;

    /// <summary>The clients' part of this heap is 16 MB.</summary>
    private const long Heap = 64 * Mega, Room = 40 * Mega;

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task EachKindOfMemoryCountsUntilTheClientDisconnects(TransportKind transport)
    {
        await using RunningServer server = await StartAsync(transport);
        ClientMemory memory = server.Core.ClientMemory;
        using TestClient client = server.Connect();
        client.Run("PING");
        long before = memory.Total;
        (string Line, int Least)[] kinds =
        [
            ("CLIENT SETNAME " + new string('n', 50_000), 100_000), ("WATCH " + new string('w', 50_000), 50_000),
            ("HIMPORT PREPARE set " + new string('f', 50_000), 100_000), ("SUBSCRIBE " + new string('c', 50_000), 50_000),
            ("BLPOP " + new string('b', 50_000) + " 0", 50_000),
        ];
        foreach ((string line, int least) in kinds)
        {
            TestClient holder = server.Connect();
            holder.SendRaw(line + "\r\n");
            await client.UntilAsync("PING", _ => memory.Total >= before + least + Limits.BytesPerConnection);
            holder.Dispose();
            await client.UntilAsync("PING", _ => memory.Total == before);
        }
        Assert.Equal(0, memory.Leaving);
    }

    [Fact]
    public async Task TheLargestClientsAreDisconnectedUntilMemoryIsAvailable()
    {
        await using RunningServer server = await StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        var small = new List<TestClient>();
        for (int i = 0; i < 40; i++) small.Add(server.Connect());
        for (int i = 0; i < 400; i++)
        {
            TestClient large = server.Connect();
            large.SendRaw("*1\r\n$500000\r\n" + new string('x', 60_000));
            small.Add(large);
        }
        await client.UntilAsync("INFO stats", stats => !stats.Contains("evicted_clients:0\r\n", StringComparison.Ordinal));
        // The last clients may still send, so more of them may have to go after a moment with enough memory.
        await client.UntilAsync("PING", _ => server.Core.ClientMemory is { Leaving: 0, IsFull: false, Total: > 0 and <= 16 * Mega });
        for (int i = 0; i < 40; i++) Assert.Equal("PONG", small[i].Run("PING"));
        foreach (TestClient one in small) one.Dispose();
    }

    [Fact]
    public async Task UnauthenticatedClientsHaveAQuarterOfTheMemory()
    {
        await using RunningServer server = await StartAsync(TransportKind.EventLoop, "secret");
        using TestClient client = server.Connect();
        client.Run("AUTH secret");
        var unauthenticated = new List<TestClient>();
        for (int i = 0; i < 100; i++)
        {
            unauthenticated.Add(server.Connect());
            unauthenticated[^1].SendRaw(new string('x', 60_000));
        }
        await client.UntilAsync("INFO stats", stats => !stats.Contains("evicted_clients:0\r\n", StringComparison.Ordinal));
        await client.UntilAsync("PING", _ => server.Core.ClientMemory.Strangers <= 4 * Mega);
        Assert.Equal("PONG", client.Run("PING"));
        foreach (TestClient one in unauthenticated) one.Dispose();
    }

    [Fact]
    public async Task CommandsThatAddToTheMemoryOfClientsAreRefusedWhenItIsFull()
    {
        await using RunningServer server = await StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Run("MULTI");
        HeapBudget budget = server.Core.Shards.Budget;
        // This is the state after another server of the process has disconnected clients that have not released their memory yet.
        long others = budget.ClientLimit;
        server.Core.Debug.BackgroundWork = false;
        budget.ClientsChanged(others);
        Assert.Equal(Errors.AllocationFailed, client.Run("SET k v"));
        Assert.StartsWith("EXECABORT", client.Run("EXEC"), StringComparison.Ordinal);
        Assert.Equal(Errors.AllocationFailed, client.Run("BLPOP k 0"));
        Assert.Equal(Errors.AllocationFailed, client.Run("WATCH k"));
        Assert.Equal(Errors.AllocationFailed, client.Run("SUBSCRIBE c"));
        Assert.Equal(Errors.AllocationFailed, client.Run("HIMPORT PREPARE set field"));
        Assert.Equal("OK", client.Run("SET k v"));
        budget.ClientsChanged(-others);
        Assert.Equal("OK", client.Run("WATCH k"));
    }

    private static async Task<RunningServer> StartAsync(TransportKind transport, string password = "")
    {
        RunningServer server = await RunningServer.StartAsync(transport, config => config.RequirePass = password);
        server.Core.Shards.Restrict(new HeapBudget(Heap, Room));
        return server;
    }
}
