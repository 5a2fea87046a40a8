using System.Text;
using RedisClone.Engine.Shards;

namespace RedisClone.Server.Tests.Clients;

/// <summary>A command that takes long is restarted on a worker. Clients cannot observe the restart.</summary>
public sealed class WorkerTests
{
    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task AMissingKeyCausesOneKeymissEvent(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect(), listener = server.Connect();
        Assert.Equal("OK", client.Run("CONFIG SET notify-keyspace-events Em"));
        listener.Run("PSUBSCRIBE *");
        Assert.Equal("10000", client.Call(["SADD", "many", .. Enumerable.Range(0, 10_000).Select(i => $"{i}")]));
        client.Run("SUNION none many never");
        client.Run("GET gone");
        Assert.Equal("1", client.Run("PUBLISH all told"));
        Assert.Equal("[pmessage * __keyevent@0__:keymiss none]", listener.Read());
        Assert.Equal("[pmessage * __keyevent@0__:keymiss never]", listener.Read());
        Assert.Equal("[pmessage * __keyevent@0__:keymiss gone]", listener.Read());
        Assert.Equal("[pmessage * all told]", listener.Read());
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task TheMemoryOfAStreamIsReportedAndItsCopyTakesAsMuch(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect();
        for (int i = 1; i <= 500; i++) client.Run($"XADD stream {i} name {new string('v', 100)}");
        client.Run("XGROUP CREATE stream group 0");
        for (int i = 0; i < 50; i++) client.Run($"XREADGROUP GROUP group consumer:{i} COUNT 2 STREAMS stream >");
        client.Run("COPY stream others");
        string usage = client.Run("MEMORY USAGE stream");
        Assert.InRange(int.Parse(usage, System.Globalization.CultureInfo.InvariantCulture), 50_000, 500_000);
        Assert.InRange(int.Parse(client.Run("MEMORY USAGE others"), System.Globalization.CultureInfo.InvariantCulture), 50_000, 500_000);
    }

    /// <summary>Commands of one batch for one busy shard run in one hold, in their order, with the replies that they have one by one.</summary>
    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task CommandsOfABatchForABusyShardRunTogether(TransportKind transport)
    {
        const int commands = 50;
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect();
        ShardMap shards = server.Core.Shards;
        Shard shard = shards.Of(shards.HashOf("counter"u8));
        client.Run("PING");
        Assert.True(SpinWait.SpinUntil(shard.TryEnter, TimeSpan.FromMinutes(1)));
        long before = Hops();
        client.Socket.Send(Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat("INCR counter\r\n", commands)) +
            "GET\r\nLPUSH counter x\r\nSET other 1\r\nAPPEND counter 0\r\nMULTI\r\nINCR counter\r\nEXEC\r\nGET counter\r\n"));
        Assert.True(SpinWait.SpinUntil(() => shard.Queued == 1, TimeSpan.FromMinutes(1)));
        shard.Exit();
        for (int i = 1; i <= commands; i++) Assert.Equal($"{i}", client.Read());
        Assert.Equal("ERR wrong number of arguments for 'get' command", client.Read().TrimStart('-'));
        Assert.StartsWith("WRONGTYPE", client.Read().TrimStart('-'), StringComparison.Ordinal);
        Assert.Equal("OK", client.Read());
        Assert.Equal("3", client.Read());
        Assert.Equal("OK", client.Read());
        Assert.Equal("QUEUED", client.Read());
        Assert.Equal($"[{commands}1]", client.Read());
        Assert.Equal($"{commands}1", client.Read());
        Assert.InRange(Hops() - before, 1, commands / 2);

        long Hops() => server.Core.Lanes.Sum(static lane => lane.Hops);
    }

    /// <summary>
    /// A walk over all keys would take minutes. It ends when its client is killed or disconnects, and other clients are served.
    /// </summary>
    [Theory]
    [InlineData(TransportKind.EventLoop, true)]
    [InlineData(TransportKind.EventLoop, false)]
    [InlineData(TransportKind.Sockets, true)]
    [InlineData(TransportKind.Sockets, false)]
    public async Task ALongWalkOverAllKeysEndsWithItsClient(TransportKind transport, bool killed)
    {
        const int keys = 400;
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect(), admin = server.Connect();
        for (int i = 0; i < keys; i++) admin.Call("SET", new string('a', 60_000) + i, "v");
        string id = client.Run("CLIENT ID");
        client.Send("KEYS", $"*?{new string('a', 20_000)}b*");
        while (server.Core.Shards.TryEnterAll())
        {
            server.Core.Shards.ExitAll();
            await Task.Delay(1);
        }
        if (killed) Assert.Equal("1", admin.Run($"CLIENT KILL ID {id}"));
        else client.Socket.Close();
        Assert.Equal($"{keys}", admin.Run("DBSIZE"));
        Assert.Equal("OK", admin.Run("SET another 1"));
    }
}
