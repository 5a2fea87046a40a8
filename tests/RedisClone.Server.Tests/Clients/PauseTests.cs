using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Shards;

namespace RedisClone.Server.Tests.Clients;

/// <summary>The pause of CLIENT PAUSE and the pause during a failover or a shutdown are independent.</summary>
public sealed class PauseTests
{
    [Fact]
    public void TheStrongerPauseCounts()
    {
        using var pause = new ClientPause();
        pause.HoldWrites();
        Assert.True(pause.HoldsBack(CommandFlags.Write));
        Assert.False(pause.HoldsBack(CommandFlags.ReadOnly));
        pause.Begin(ServerCore.UnixMilliseconds() + 60_000, PauseMode.All);
        Assert.True(pause.HoldsBack(CommandFlags.ReadOnly));
        pause.End();
        Assert.True(pause.HoldsBack(CommandFlags.Write));
        Assert.False(pause.HoldsBack(CommandFlags.ReadOnly));
        pause.HoldWrites();
        pause.ReleaseWrites();
        Assert.True(pause.HoldsWrites);
        pause.ReleaseWrites();
        Assert.False(pause.IsOn);
        pause.Begin(ServerCore.UnixMilliseconds() + 60_000, PauseMode.Write);
        pause.HoldWrites();
        pause.ReleaseWrites();
        Assert.True(pause.HoldsBack(CommandFlags.Write));
        Assert.False(pause.HoldsWrites);
    }

    /// <summary>A script and a write that waits for its shards were admitted before the pause.</summary>
    [Fact]
    public async Task NothingIsWrittenAfterThePauseHasBegun()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient runner = server.Connect(), writer = server.Connect(), admin = server.Connect();
        runner.Send("EVAL", "local n = 0 while n < 1e7 do n = n + 1 end return redis.call('INCR', 'x')", "0");
        writer.Send("INCR", "x");
        Assert.Equal("OK", admin.Run("CLIENT PAUSE 60000 WRITE"));
        string before = admin.Run("GET x");
        await Task.Delay(300);
        Assert.Equal(before, admin.Run("GET x"));
        Assert.Equal("OK", admin.Run("CLIENT UNPAUSE"));
        runner.Read();
        writer.Read();
        Assert.Equal("2", admin.Run("GET x"));
    }

    /// <summary>A command that waits for its shard, and then for the end of a pause, is shown when it runs.</summary>
    [Fact]
    public async Task AMonitorSeesADelayedCommandOnce()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient monitor = server.Connect(), writer = server.Connect(), reader = server.Connect();
        monitor.Run("MONITOR");
        Shard shard = server.Core.Shards.Of(server.Core.Shards.HashOf("x"u8));
        SpinWait.SpinUntil(shard.TryEnter);
        writer.Send("INCR", "x");
        Assert.Equal("PONG", reader.Run("PING"));
        server.Core.Pause.HoldWrites();
        shard.Exit();
        SpinWait.SpinUntil(() => server.Core.Pause.WaitingClients == 1);
        server.Core.Pause.ReleaseWrites();
        Assert.Equal("1", writer.Read());
        Assert.Equal("1", reader.Run("GET x"));
        foreach (string command in new[] { "\"PING\"", "\"INCR\" \"x\"", "\"GET\" \"x\"" }) Assert.EndsWith(command, monitor.Read(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task NothingIsEvictedDuringAPause()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        for (int i = 0; i < 1000; i++) Assert.Equal("OK", client.Run($"SET key:{i} {new string('v', 1000)}"));
        Assert.Equal("OK", client.Run("CLIENT PAUSE 60000 WRITE"));
        Assert.Equal("OK", client.Run("CONFIG SET maxmemory-policy allkeys-lru maxmemory 100kb"));
        for (int i = 0; i < 1000; i++) client.Run($"GET key:{i}");
        Assert.Equal("1000", client.Run("DBSIZE"));
        Assert.Equal("OK", client.Run("CLIENT UNPAUSE"));
        await client.UntilAsync("DBSIZE", static count => count != "1000");
    }
}
