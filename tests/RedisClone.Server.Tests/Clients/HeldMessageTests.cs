using RedisClone.Configuration;
using RedisClone.Engine.Effects;
using RedisClone.Server.Tests.Durability;

namespace RedisClone.Server.Tests.Clients;

/// <summary>Messages that wait for the end of a unit of effects, with a journal: those of a script wait until the script has ended.</summary>
public sealed class HeldMessageTests : IDisposable
{
    private const string PublishAndWork = "redis.call('PUBLISH', 'ch', 'm') local e = os.clock() + 3 while os.clock() < e do end return 1";

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-held-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    /// <summary>A client that has left takes the next line for the reply to its next command.</summary>
    [Theory]
    [InlineData("HELLO 2", "SUBSCRIBE ch", "UNSUBSCRIBE ch")]
    [InlineData("HELLO 3", "SUBSCRIBE ch", "UNSUBSCRIBE")]
    [InlineData("HELLO 2", "PSUBSCRIBE c*", "PUNSUBSCRIBE c*")]
    [InlineData("HELLO 3", "SUBSCRIBE ch", "RESET")]
    [InlineData("HELLO 2", "MONITOR", "RESET")]
    public async Task NoMessageFollowsTheEndOfASubscription(string hello, string begin, string end)
    {
        await using RunningServer server = await StartAsync();
        using TestClient runner = server.Connect(), listener = server.Connect();
        listener.Run(hello);
        listener.Run(begin);
        runner.Send("EVAL", PublishAndWork, "0");
        Assert.True(SpinWait.SpinUntil(() => server.Core.Lanes.Sum(static lane => lane.Messages.IsHolding ? 1 : 0) > 0, TimeSpan.FromSeconds(60)));
        string ended = listener.Run(end);
        // A monitor sees the commands before the end, its own too.
        while (ended.Contains("lua", StringComparison.Ordinal) || ended.Contains("127.0.0.1", StringComparison.Ordinal)) ended = listener.Read();
        Assert.DoesNotContain("message", ended, StringComparison.Ordinal);
        Assert.Equal("1", runner.Read());
        Assert.Equal("PONG", listener.Run("PING"));
    }

    /// <summary>A subscriber that stays gets the message, in the protocol that it speaks by then.</summary>
    [Fact]
    public async Task AMessageArrivesInTheProtocolOfItsReceiver()
    {
        await using RunningServer server = await StartAsync();
        using TestClient runner = server.Connect(), listener = server.Connect();
        listener.Run("HELLO 3");
        listener.Run("SUBSCRIBE ch");
        runner.Send("EVAL", PublishAndWork, "0");
        Assert.True(SpinWait.SpinUntil(() => server.Core.Lanes.Sum(static lane => lane.Messages.IsHolding ? 1 : 0) > 0, TimeSpan.FromSeconds(60)));
        listener.Run("HELLO 2");
        Assert.Equal("1", runner.Read());
        Assert.Equal("[message ch m]", listener.Read());
        Assert.Equal("[pong ]", listener.Run("PING"));
    }

    /// <summary>What waits for a receiver is limited while it waits, and not only when it leaves.</summary>
    [Fact]
    public void ReceiversOfTooMuchAreGivenUp()
    {
        var held = new HeldMessages(new MessageOrder(), most: 128 << 20);
        Receiver slow = new(most: 8 << 20), unlimited = new(long.MaxValue), modest = new(most: 8 << 20);
        held.Hold();
        for (int i = 0; i < 10_000; i++)
        {
            byte[] message = new byte[64 << 10];
            if (!slow.IsLost) Assert.True(held.TryAdd(slow, message));
            if (!unlimited.IsLost) Assert.True(held.TryAdd(unlimited, message));
            if (i % 200 == 0) Assert.True(held.TryAdd(modest, message));
        }
        Assert.True(slow.IsLost);
        Assert.True(unlimited.IsLost);
        held.Release(1);
        Assert.Equal((0, 0, 50), (slow.Received, unlimited.Received, modest.Received));
        Assert.False(modest.IsLost);
    }

    private Task<RunningServer> StartAsync() => RunningServer.StartAsync(new ServerConfig(), TransportKind.EventLoop, config =>
    {
        config.Dir = _folder;
        config.AppendOnly = true;
        config.AppendFsync = AppendFsync.No;
    }, new WatchedDisk());

    private sealed class Receiver(long most) : IMessageTarget
    {
        public bool IsLost { get; private set; }

        public int Received { get; private set; }

        public void PushNow(byte[] message, long lsn) => Received++;

        public bool IsTooMuch(long bytes) => bytes > most;

        public void Lose() => IsLost = true;
    }
}
