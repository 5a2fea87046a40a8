using RedisClone.EndToEnd.Tests.Support;
using StackExchange.Redis;

namespace RedisClone.EndToEnd.Tests.Clients;

/// <summary>A tour with StackExchange.Redis, which multiplexes everything over one connection.</summary>
public sealed class StackExchangeTests
{
    [Theory]
    [InlineData("eventloop")]
    [InlineData("sockets")]
    public async Task A_tour_ends_well(string transport)
    {
        using ServerProcess server = ServerProcess.Ours("--transport", transport);
        HashSet<string> commands = CommandNames.Of(server);
        using ConnectionMultiplexer redis = await ConnectionMultiplexer.ConnectAsync(
            $"127.0.0.1:{server.Port},syncTimeout=60000,connectTimeout=60000,responseTimeout=60000,allowAdmin=true,name=tour");
        IDatabase db = redis.GetDatabase();

        await Strings(db);
        await ManyAtOnce(db);
        await Transactions(db);
        await Keys(redis, db);
        if (commands.Contains("HSET")) await Hashes(db);
        if (commands.Contains("ZADD")) await SortedSets(db);
        if (commands.Contains("RPUSH")) await Lists(db);
        if (commands.Contains("SUBSCRIBE")) await Messages(redis);
        if (commands.Contains("EVAL")) Assert.Equal("value!", (string)await db.ScriptEvaluateAsync("return redis.call('GET', KEYS[1]) .. ARGV[1]", ["script"], ["!"]));
        server.AssertWell();

        // Letting commands complete, version 1.2.6 waits for the subscription's QUIT as long as a command may take.
        redis.Close(allowCommandsToComplete: false);
    }

    [Fact]
    public async Task Conditional_transactions_from_several_multiplexers_lose_nothing()
    {
        using ServerProcess server = ServerProcess.Ours();
        ConnectionMultiplexer[] all = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => ConnectAsync(server)));
        await all[0].GetDatabase().StringSetAsync("balance", 0);
        await Task.WhenAll(all.Select(redis => IncrementAsync(redis.GetDatabase(), times: 25)));
        Assert.Equal(100, (int)await all[0].GetDatabase().StringGetAsync("balance"));
        Assert.Equal(100, await all[0].GetDatabase().ListLengthAsync("history"));
        foreach (ConnectionMultiplexer redis in all) redis.Close(allowCommandsToComplete: false);
        server.AssertWell();
    }

    [Fact]
    public async Task Messages_arrive_in_the_order_in_which_each_publisher_sent_them()
    {
        const int publishers = 3, messages = 1000;
        using ServerProcess server = ServerProcess.Ours();
        using ConnectionMultiplexer listener = await ConnectAsync(server);
        var received = new List<int>[publishers];
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        int left = 2 * publishers * messages;
        // One publisher, one channel and one pattern: each is told of in order.
        for (int i = 0; i < publishers; i++)
        {
            List<int> mine = received[i] = [];
            await listener.GetSubscriber().SubscribeAsync($"news.{i}", (_, message) => Take(mine, (int)message));
        }
        await listener.GetSubscriber().SubscribeAsync(new RedisChannel("news.*", RedisChannel.PatternMode.Pattern), (_, _) => Take(null, 0));
        ConnectionMultiplexer[] senders = await Task.WhenAll(Enumerable.Range(0, publishers).Select(_ => ConnectAsync(server)));
        long[][] counts = await Task.WhenAll(senders.Select((sender, i) =>
            Task.WhenAll(Enumerable.Range(0, messages).Select(n => sender.GetSubscriber().PublishAsync($"news.{i}", n)))));
        Assert.All(counts, of => Assert.All(of, receivers => Assert.Equal(2, receivers)));
        await done.Task.WaitAsync(TimeSpan.FromMinutes(1));
        Assert.All(received, of => Assert.Equal(Enumerable.Range(0, messages), of));
        foreach (ConnectionMultiplexer sender in senders) sender.Close(allowCommandsToComplete: false);
        listener.Close(allowCommandsToComplete: false);
        server.AssertWell();

        void Take(List<int>? into, int message)
        {
            into?.Add(message);
            if (Interlocked.Decrement(ref left) == 0) done.SetResult();
        }
    }

    private static Task<ConnectionMultiplexer> ConnectAsync(ServerProcess server) => ConnectionMultiplexer.ConnectAsync(
        $"127.0.0.1:{server.Port},syncTimeout=60000,connectTimeout=60000,responseTimeout=60000");

    private static async Task IncrementAsync(IDatabase db, int times)
    {
        for (int done = 0; done < times;)
        {
            RedisValue before = await db.StringGetAsync("balance");
            ITransaction transaction = db.CreateTransaction();
            transaction.AddCondition(Condition.StringEqual("balance", before));
            _ = transaction.StringSetAsync("balance", (int)before + 1);
            _ = transaction.ListRightPushAsync("history", before);
            if (await transaction.ExecuteAsync()) done++;
        }
    }

    private static async Task Strings(IDatabase db)
    {
        Assert.True(await db.StringSetAsync("key", "value", TimeSpan.FromHours(1)));
        Assert.False(await db.StringSetAsync("key", "other", when: When.NotExists));
        Assert.Equal("value", (string)await db.StringGetAsync("key"));
        TimeSpan? left = await db.KeyTimeToLiveAsync("key");
        Assert.True(left > TimeSpan.FromMinutes(50));
        byte[] bytes = [.. Enumerable.Range(0, 100_000).Select(i => (byte)i)];
        Assert.True(await db.StringSetAsync("bytes", bytes));
        Assert.Equal(bytes, (byte[])await db.StringGetAsync("bytes"));
        Assert.Equal(RedisValue.Null, await db.StringGetAsync("missing"));
        Assert.Equal(5, await db.StringIncrementAsync("counter", 5));
        RedisServerException error = await Assert.ThrowsAsync<RedisServerException>(() => db.StringIncrementAsync("key"));
        Assert.Equal("ERR value is not an integer or out of range", error.Message);
        Assert.True(await db.StringSetAsync("script", "value"));
    }

    private static async Task ManyAtOnce(IDatabase db)
    {
        Task<long>[] increments = [.. Enumerable.Range(0, 5000).Select(_ => db.StringIncrementAsync("many"))];
        long[] results = await Task.WhenAll(increments);
        Assert.Equal(Enumerable.Range(1, 5000).Select(i => (long)i), results);
    }

    private static async Task Transactions(IDatabase db)
    {
        ITransaction transaction = db.CreateTransaction();
        transaction.AddCondition(Condition.StringEqual("counter", 5));
        Task<long> incremented = transaction.StringIncrementAsync("counter");
        Assert.True(await transaction.ExecuteAsync());
        Assert.Equal(6, await incremented);

        ITransaction refused = db.CreateTransaction();
        refused.AddCondition(Condition.KeyNotExists("counter"));
        _ = refused.StringSetAsync("counter", 0);
        Assert.False(await refused.ExecuteAsync());
        Assert.Equal(6, (int)await db.StringGetAsync("counter"));

        Assert.True(await db.LockTakeAsync("lock", "me", TimeSpan.FromMinutes(5)));
        Assert.False(await db.LockTakeAsync("lock", "you", TimeSpan.FromMinutes(5)));
        Assert.True(await db.LockReleaseAsync("lock", "me"));
    }

    private static async Task Keys(ConnectionMultiplexer redis, IDatabase db)
    {
        for (int i = 0; i < 300; i++) await db.StringSetAsync($"walk:{i}", i, flags: CommandFlags.FireAndForget);
        IServer server = redis.GetServer(redis.GetEndPoints()[0]);
        Assert.Equal(300, server.Keys(pattern: "walk:*", pageSize: 20).Distinct().Count());
        Assert.True(await db.KeyRenameAsync("walk:1", "renamed"));
        Assert.False(await db.KeyExistsAsync("walk:1"));
        Assert.Equal(2, await db.KeyDeleteAsync(["renamed", "walk:2", "walk:1"]));
        Assert.Contains(server.Info("server")[0], field => field.Key == "redis_version");
        await server.FlushDatabaseAsync(5);
    }

    private static async Task Hashes(IDatabase db)
    {
        await db.HashSetAsync("hash", [new HashEntry("name", "x"), new HashEntry("size", 3)]);
        Assert.Equal(4, await db.HashIncrementAsync("hash", "size"));
        Assert.Equal(2, (await db.HashGetAllAsync("hash")).Length);
    }

    private static async Task SortedSets(IDatabase db)
    {
        await db.SortedSetAddAsync("scores", [new SortedSetEntry("one", 1), new SortedSetEntry("two", 2.5)]);
        Assert.Equal(["one", "two"], (await db.SortedSetRangeByRankAsync("scores")).Select(v => (string)v));
        Assert.Equal(2.5, await db.SortedSetScoreAsync("scores", "two"));
    }

    private static async Task Lists(IDatabase db)
    {
        await db.ListRightPushAsync("list", ["a", "b", "c"]);
        Assert.Equal("c", (string)await db.ListRightPopLeftPushAsync("list", "other"));
        Assert.Equal(["a", "b"], (await db.ListRangeAsync("list")).Select(v => (string)v));
    }

    private static async Task Messages(ConnectionMultiplexer redis)
    {
        var received = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        await redis.GetSubscriber().SubscribeAsync("news", (_, message) => received.TrySetResult((string)message));
        Assert.Equal(1, await redis.GetDatabase().PublishAsync("news", "today"));
        Assert.Equal("today", await received.Task.WaitAsync(TimeSpan.FromMinutes(1)));
    }
}
