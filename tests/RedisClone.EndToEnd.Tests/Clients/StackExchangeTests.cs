using RedisClone.EndToEnd.Tests.Support;
using StackExchange.Redis;

namespace RedisClone.EndToEnd.Tests.Clients;

/// <summary>A tour with StackExchange.Redis, which multiplexes all requests over one connection.</summary>
public sealed class StackExchangeTests
{
    [Theory]
    [InlineData("eventloop", "resp2")]
    [InlineData("eventloop", "resp3")]
    [InlineData("sockets", "resp2")]
    [InlineData("sockets", "resp3")]
    public async Task TheTourSucceeds(string transport, string protocol)
    {
        using ServerProcess server = ServerProcess.Ours("--transport", transport);
        await using ConnectionMultiplexer redis = await ConnectAsync(server, $"protocol={protocol},allowAdmin=true,name=tour");
        IDatabase db = redis.GetDatabase();

        await Strings(db);
        await Conditions(db);
        await ManyAtOnce(db);
        await Transactions(db);
        await Keys(redis, db);
        await Hashes(db);
        await SortedSets(db);
        await Lists(db);
        await Streams(db);
        await Messages(redis);
        await ConnectionsOf(redis, protocol);
        const string script = "return redis.call('GET', KEYS[1]) .. ARGV[1]";
        Assert.Equal("value!", (string?)await db.ScriptEvaluateAsync(script, ["script"], ["!"]));
        server.AssertWell();
    }

    [Fact]
    public async Task ConditionalTransactionsOfSeveralMultiplexersLoseNoUpdate()
    {
        using ServerProcess server = ServerProcess.Ours();
        ConnectionMultiplexer[] all = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => ConnectAsync(server)));
        await all[0].GetDatabase().StringSetAsync("balance", 0);
        await Task.WhenAll(all.Select(redis => IncrementAsync(redis.GetDatabase(), times: 25)));
        Assert.Equal(100, (int)await all[0].GetDatabase().StringGetAsync("balance"));
        Assert.Equal(100, await all[0].GetDatabase().ListLengthAsync("history"));
        foreach (ConnectionMultiplexer redis in all) await redis.DisposeAsync();
        server.AssertWell();
    }

    [Theory]
    [InlineData("resp2")]
    [InlineData("resp3")]
    public async Task MessagesOfEachPublisherArriveInOrder(string protocol)
    {
        const int publishers = 3, messages = 1000;
        using ServerProcess server = ServerProcess.Ours();
        await using ConnectionMultiplexer listener = await ConnectAsync(server, $"protocol={protocol}");
        // Each publisher has a channel, and a pattern subscription matches all channels. Only the queues of the client keep the
        // order.
        ISubscriber subscriber = listener.GetSubscriber();
        ChannelMessageQueue[] channels = await Task.WhenAll(
            Enumerable.Range(0, publishers).Select(i => subscriber.SubscribeAsync(Channel(i))));
        ChannelMessageQueue pattern = await subscriber.SubscribeAsync(RedisChannel.Pattern("news.*"));
        ConnectionMultiplexer[] senders = await Task.WhenAll(Enumerable.Range(0, publishers).Select(_ => ConnectAsync(server)));
        long[][] counts = await Task.WhenAll(senders.Select((sender, i) =>
            Task.WhenAll(Enumerable.Range(0, messages).Select(n => sender.GetSubscriber().PublishAsync(Channel(i), n)))));
        Assert.All(counts, of => Assert.All(of, receivers => Assert.Equal(2, receivers)));

        using var limit = new CancellationTokenSource(TimeSpan.FromMinutes(1));
        int[] sent = [.. Enumerable.Range(0, messages)];
        foreach (ChannelMessageQueue channel in channels)
            Assert.Equal(sent, (await TakeAsync(channel, messages)).Select(message => (int)message.Message));
        List<ChannelMessage> matched = await TakeAsync(pattern, publishers * messages);
        foreach (IGrouping<RedisChannel, ChannelMessage> of in matched.GroupBy(message => message.Channel))
            Assert.Equal(sent, of.Select(message => (int)message.Message));
        foreach (ConnectionMultiplexer sender in senders) await sender.DisposeAsync();
        server.AssertWell();

        static RedisChannel Channel(int publisher) => RedisChannel.Literal($"news.{publisher}");

        async Task<List<ChannelMessage>> TakeAsync(ChannelMessageQueue queue, int count)
        {
            var taken = new List<ChannelMessage>();
            while (taken.Count < count) taken.Add(await queue.ReadAsync(limit.Token));
            return taken;
        }
    }

    private static Task<ConnectionMultiplexer> ConnectAsync(ServerProcess server, string options = "") =>
        ConnectionMultiplexer.ConnectAsync(
            $"127.0.0.1:{server.Port},syncTimeout=60000,asyncTimeout=60000,connectTimeout=60000,{options}");

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
        Assert.Equal("value", (string?)await db.StringGetAsync("key"));
        TimeSpan? left = await db.KeyTimeToLiveAsync("key");
        Assert.True(left > TimeSpan.FromMinutes(50));
        byte[] bytes = [.. Enumerable.Range(0, 100_000).Select(i => (byte)i)];
        Assert.True(await db.StringSetAsync("bytes", bytes));
        Assert.Equal(bytes, (byte[]?)await db.StringGetAsync("bytes"));
        Assert.Equal(RedisValue.Null, await db.StringGetAsync("missing"));
        Assert.Equal(5, await db.StringIncrementAsync("counter", 5));
        RedisServerException error = await Assert.ThrowsAsync<RedisServerException>(() => db.StringIncrementAsync("key"));
        Assert.Equal("ERR value is not an integer or out of range", error.Message);
        Assert.True(await db.StringSetAsync("script", "value"));
    }

    /// <summary>The client computes the digests of IFDEQ and IFDNE.</summary>
    private static async Task Conditions(IDatabase db)
    {
        foreach (int length in new[] { 3, 100, 200, 5000 })
        {
            RedisValue first = new string('a', length), second = new string('b', length);
            Assert.True(await db.StringSetAsync("guarded", first));
            Assert.Equal(ValueCondition.DigestEqual(first), await db.StringDigestAsync("guarded"));
            Assert.False(await db.StringSetAsync("guarded", second, default, ValueCondition.DigestNotEqual(first)));
            Assert.True(await db.StringSetAsync("guarded", second, default, ValueCondition.DigestEqual(first)));
            Assert.False(await db.StringDeleteAsync("guarded", ValueCondition.Equal(first)));
            Assert.True(await db.StringDeleteAsync("guarded", ValueCondition.DigestEqual(second)));
        }
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
        _ = refused.StringSetAsync("other", 0);
        Assert.False(await refused.ExecuteAsync());
        Assert.False(await db.KeyExistsAsync("other"));

        Assert.True(await db.LockTakeAsync("lock", "me", TimeSpan.FromMinutes(5)));
        Assert.False(await db.LockTakeAsync("lock", "you", TimeSpan.FromMinutes(5)));
        Assert.True(await db.LockReleaseAsync("lock", "me"));
    }

    private static async Task Keys(ConnectionMultiplexer redis, IDatabase db)
    {
        for (int i = 0; i < 300; i++) await db.StringSetAsync($"walk:{i}", i, flags: CommandFlags.FireAndForget);
        IServer server = redis.GetServers().Single();
        Assert.Equal(300, await server.KeysAsync(pattern: "walk:*", pageSize: 20).Distinct().CountAsync());
        Assert.True(await db.KeyRenameAsync("walk:1", "renamed"));
        Assert.False(await db.KeyExistsAsync("walk:1"));
        Assert.Equal(2, await db.KeyDeleteAsync(["renamed", "walk:2", "walk:1"]));
        Assert.Contains((await server.InfoAsync("server"))[0], field => field.Key == "redis_version");
        await server.FlushDatabaseAsync(5);
    }

    private static async Task Hashes(IDatabase db)
    {
        await db.HashSetAsync("hash", [new HashEntry("name", "x"), new HashEntry("size", 3)]);
        Assert.Equal(4, await db.HashIncrementAsync("hash", "size"));
        Assert.Equal(2, (await db.HashGetAllAsync("hash")).Length);
        ExpireResult[] expires = await db.HashFieldExpireAsync("hash", ["name", "none"], TimeSpan.FromHours(1));
        Assert.Equal([ExpireResult.Success, ExpireResult.NoSuchField], expires);
        Assert.InRange((await db.HashFieldGetTimeToLiveAsync("hash", ["name"]))[0], 3_000_000, 3_600_000);
    }

    private static async Task SortedSets(IDatabase db)
    {
        await db.SortedSetAddAsync("scores", [new SortedSetEntry("one", 1), new SortedSetEntry("two", 2.5)]);
        Assert.Equal(["one", "two"], (await db.SortedSetRangeByRankAsync("scores")).Select(v => (string?)v));
        Assert.Equal(2.5, await db.SortedSetScoreAsync("scores", "two"));
        Assert.Equal([1, null], await db.SortedSetScoresAsync("scores", ["one", "none"]));
        SortedSetPopResult popped = await db.SortedSetPopAsync(["none", "scores"], 5, Order.Descending);
        Assert.Equal("scores", popped.Key);
        Assert.Equal([new SortedSetEntry("two", 2.5), new SortedSetEntry("one", 1)], popped.Entries);
    }

    private static async Task Lists(IDatabase db)
    {
        await db.ListRightPushAsync("list", ["a", "b", "c"]);
        Assert.Equal("c", (string?)await db.ListMoveAsync("list", "moved", ListSide.Right, ListSide.Left));
        Assert.Equal(["a", "b"], (await db.ListRangeAsync("list")).Select(v => (string?)v));
    }

    private static async Task Streams(IDatabase db)
    {
        Assert.True(await db.StreamCreateConsumerGroupAsync("stream", "group", StreamPosition.Beginning));
        RedisValue[] ids = [.. await Task.WhenAll(Enumerable.Range(0, 10).Select(i => db.StreamAddAsync("stream", "number", i)))];
        StreamEntry[] read = await db.StreamReadGroupAsync("stream", "group", "consumer", StreamPosition.NewMessages);
        Assert.Equal(ids, read.Select(entry => entry.Id));
        Assert.Equal(9, (int)read[^1]["number"]);
        Assert.Equal(9, await db.StreamAcknowledgeAsync("stream", "group", ids[1..]));
        Assert.Equal(ids[0], (await db.StreamPendingMessagesAsync("stream", "group", 10, "consumer")).Single().MessageId);
        Assert.Equal(10, (await db.StreamInfoAsync("stream")).Length);
    }

    private static async Task Messages(ConnectionMultiplexer redis)
    {
        RedisChannel channel = RedisChannel.Literal("news");
        ChannelMessageQueue received = await redis.GetSubscriber().SubscribeAsync(channel);
        Assert.Equal(1, await redis.GetDatabase().PublishAsync(channel, "today"));
        using var limit = new CancellationTokenSource(TimeSpan.FromMinutes(1));
        Assert.Equal("today", (await received.ReadAsync(limit.Token)).Message);
    }

    private static async Task ConnectionsOf(ConnectionMultiplexer redis, string protocol)
    {
        IServer server = redis.GetServers().Single();
        Assert.Equal(protocol == "resp3" ? RedisProtocol.Resp3 : RedisProtocol.Resp2, server.Protocol);
        ClientInfo[] connections = [.. (await server.ClientListAsync()).Where(client => client.Name == "tour")];
        Assert.All(connections, client => Assert.Equal(server.Protocol, client.Protocol));
        // The client subscribes to an internal channel in addition to the channel of Messages.
        Assert.Equal(2, connections.Sum(client => client.SubscriptionCount));
    }
}
