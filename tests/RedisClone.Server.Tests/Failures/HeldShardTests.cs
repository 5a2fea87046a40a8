using RedisClone.Configuration;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Shards;
using RedisClone.Journal.Disk;
using RedisClone.Scheduling;
using RedisClone.Server.Tests.Clients;
using RedisClone.Server.Tests.Embedding;
using RedisClone.Storage.Memory;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Failures;

/// <summary>
/// A failure while shards are held. The shards are released, waiting clients continue, and other clients are served.
/// </summary>
[Collection(nameof(Fatal))]
public sealed class HeldShardTests(ITestOutputHelper output) : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-held-").FullName;
    private readonly ShardMap _shards = new(8, 1, isCluster: false);

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    internal void AHoldEndsWhenItsWorkThrows(bool onWorker)
    {
        using var work = new ThrowingWork();
        var hold = new ShardHold(_shards, work);
        if (onWorker) hold.AcquireOnWorker(_shards.All);
        else if (hold.TryAcquire(_shards.All)) hold.RunHere();
        Assert.True(work.Ended.Wait(TimeSpan.FromMinutes(1)));
        Assert.IsType<InvalidOperationException>(work.Failure);
        AssertIdle(_shards);
    }

    /// <summary>A caller on a worker blocks it, so the action must not need a second one: many callers would stop all workers.</summary>
    [Fact]
    public void AnActionOnIdleShardsRunsOnTheCallingThread()
    {
        int thread = 0;
        new HeldAction(_shards, () => thread = Environment.CurrentManagedThreadId).RunAndWait();
        Assert.Equal(Environment.CurrentManagedThreadId, thread);
        AssertIdle(_shards);
        Assert.Throws<InvalidOperationException>(
            () => new HeldAction(_shards, static () => throw new InvalidOperationException("a test's")).RunAndWait());
        AssertIdle(_shards);
    }

    [Fact]
    public async Task AVisitThatThrowsEndsItsHoldAndVisitsTheOtherShards()
    {
        int visited = 0;
        var visit = new ShardVisit(_shards, _shards.All, shard =>
        {
            visited++;
            if (shard.Index == 2) throw new InvalidOperationException("a test's");
        }, PoolScheduler.Instance);
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await visit.RunAsync());
        Assert.Equal(_shards.Count, visited);
        AssertIdle(_shards);
    }

    /// <summary>Sends every command with keys over a connection, and makes it fail at each of its fault points.</summary>
    [Fact]
    public async Task AFailedCommandLeavesNoShardHeld()
    {
        if (!FaultPoint.Exist) return;
        var random = Seed.Random(output);
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect(), other = server.Connect();
        InjectedRows.Prepare(line => client.Run(line));
        IEventLoop loop = server.Core.Sessions.Unordered.First(session => session.Connection is not null).Connection!.Loop!;
        int faults = 0;
        foreach (CommandRow row in server.Core.Commands.All)
        {
            if (row.Keys.Length == 0 || row.Has(CommandFlags.Blocking | CommandFlags.PubSub | CommandFlags.Admin)) continue;
            foreach (string[] words in InjectedRows.RequestsOf(row, random))
            {
                for (int nth = 1; nth < 20; nth++)
                {
                    await OnLoopAsync(loop, () => FaultPoint.Arm(nth, FaultKinds.Allocation | FaultKinds.Call));
                    client.Call(words);
                    bool thrown = false;
                    await OnLoopAsync(loop, () => thrown = FaultPoint.Disarm());
                    server.Core.Failures.Tend();
                    AssertIdle(server.Core.Shards);
                    Assert.Equal("PONG", other.Run("PING"));
                    if (!thrown) break;
                    faults++;
                }
            }
            if (faults % 20 == 0) await AssertReplayedAsync(other);
        }
        Assert.True(faults > 200, $"only {faults} faults were met");
        await AssertReplayedAsync(other);
    }

    /// <summary>The push fails after its effect. The client that it serves continues with its element, or still waits.</summary>
    [Fact]
    public async Task AFailureWhileABlockedClientIsServedLeavesNoClientWaiting()
    {
        if (!FaultPoint.Exist) return;
        await using RunningServer server = await StartAsync();
        using TestClient pusher = server.Connect(), waiter = server.Connect();
        pusher.Run("PING");
        IEventLoop loop = server.Core.Sessions.Unordered.First(session => session.Connection is not null).Connection!.Loop!;
        bool thrown = true;
        for (int nth = 1; thrown; nth++)
        {
            waiter.Send("BLPOP", "queue", "0");
            await pusher.UntilAsync("INFO clients", info => info.Contains("blocked_clients:1", StringComparison.Ordinal));
            await OnLoopAsync(loop, () => FaultPoint.Arm(nth, FaultKinds.Allocation | FaultKinds.Call));
            pusher.Run("RPUSH queue a b");
            await OnLoopAsync(loop, () => thrown = FaultPoint.Disarm());
            server.Core.Failures.Tend();
            // After any failure, the next push serves the client, unless the client already got an error.
            pusher.Run("RPUSH queue c");
            Assert.NotEqual("", waiter.Read());
            pusher.Run("DEL queue");
            AssertIdle(server.Core.Shards);
        }
    }

    private Task<RunningServer> StartAsync() => RunningServer.StartAsync(new ServerConfig(), TransportKind.EventLoop, config =>
    {
        config.Dir = _folder;
        config.AppendOnly = true;
        config.AppendFsync = AppendFsync.No;
        config.IoLoops = 1;
    }, RealDisk.Instance);

    /// <summary>Checks that the journal restores the data in memory.</summary>
    private static Task AssertReplayedAsync(TestClient client)
    {
        string digest = client.Run("DEBUG DIGEST");
        Assert.Equal("OK", client.Run("DEBUG LOADAOF"));
        Assert.Equal(digest, client.Run("DEBUG DIGEST"));
        return Task.CompletedTask;
    }

    private static Task OnLoopAsync(IEventLoop loop, Action action)
    {
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        loop.Post(_ =>
        {
            action();
            done.SetResult();
        }, null);
        return done.Task;
    }

    private static void AssertIdle(ShardMap shards)
    {
        for (int i = 0; i < shards.Count; i++)
            Assert.True(SpinWait.SpinUntil(() => shards[i].IsIdle, TimeSpan.FromMinutes(1)), $"shard {i} is still held");
    }

    private sealed class ThrowingWork : IHeldWork, IDisposable
    {
        public ManualResetEventSlim Ended { get; } = new();

        public Exception? Failure { get; private set; }

        public bool RunHeld() => throw new InvalidOperationException("a test's");

        public void Released(Exception? failure)
        {
            Failure = failure;
            Ended.Set();
        }

        public void Dispose() => Ended.Dispose();
    }
}
