using System.Net.Sockets;
using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>What a node answers about keys that it serves, that it does not serve, and that it gives away. The oracle is redis-server.</summary>
public sealed class RedirectionTests
{
    private const string Foreign = "0123456789012345678901234567890123456789";

    private static readonly string[][] Requests =
    [
        ["SET", "foo", "1"], ["GET", "bar"], ["MGET", "foo", "bar"], ["MSET", "{t}1", "a", "{t}2", "b"], ["MGET", "{t}1", "{t}2", "{t}3"],
        ["SELECT", "0"], ["SELECT", "1"], ["MOVE", "foo", "1"], ["SWAPDB", "0", "1"], ["COPY", "foo", "{foo}2", "DB", "1"], ["COPY", "foo", "{foo}2"],
        ["REPLICAOF", "127.0.0.1", "1"], ["EVAL", "return redis.call('get', KEYS[1])", "1", "foo"], ["EVAL", "return 1", "2", "foo", "bar"],
        ["READONLY"], ["READWRITE"], ["ASKING"], ["CLUSTER", "KEYSLOT", "foo"],
        ["CLUSTER", "COUNTKEYSINSLOT", "12182"], ["CLUSTER", "GETKEYSINSLOT", "12182", "0"],
        ["CLUSTER", "COUNTKEYSINSLOT", "16384"], ["CLUSTER", "GETKEYSINSLOT", "1", "-1"], ["CLUSTER", "ADDSLOTS", "1"], ["CLUSTER", "ADDSLOTS", "x"],
        ["CLUSTER", "ADDSLOTS", "16384"], ["CLUSTER", "DELSLOTS", "1", "1"], ["CLUSTER", "ADDSLOTSRANGE", "1"], ["CLUSTER", "DELSLOTSRANGE", "9", "1"],
        ["CLUSTER", "DELSLOTSRANGE", "1", "2", "3"], ["CLUSTER", "SETSLOT", "1", "NODE", Foreign], ["CLUSTER", "SETSLOT", "1", "MIGRATING", Foreign],
        ["CLUSTER", "SETSLOT", "1", "IMPORTING", Foreign], ["CLUSTER", "SETSLOT", "1", "STABLE"], ["CLUSTER", "SETSLOT", "1", "NOWHERE"],
        ["CLUSTER", "FORGET", Foreign], ["CLUSTER", "REPLICATE", Foreign], ["CLUSTER", "REPLICAS", Foreign], ["CLUSTER", "COUNT-FAILURE-REPORTS", Foreign],
        ["CLUSTER", "FAILOVER"], ["CLUSTER", "FAILOVER", "NOW"], ["CLUSTER", "RESET"], ["CLUSTER", "RESET", "NOW"], ["CLUSTER", "FLUSHSLOTS"],
        ["CLUSTER", "MEET", "nowhere", "1"], ["CLUSTER", "SET-CONFIG-EPOCH", "-1"], ["CLUSTER", "SET-CONFIG-EPOCH", "5"],
        ["CLUSTER", "SET-CONFIG-EPOCH", "5"], ["CLUSTER", "BUMPEPOCH"], ["CLUSTER", "SAVECONFIG"], ["CLUSTER", "LINKS"], ["SORT", "foo", "BY", "w_*"],
        ["SSUBSCRIBE", "foo", "bar"],
        // The order of the errors, for a slot of this node (foo) and another one (bar).
        ["CONFIG", "SET", "cluster-require-full-coverage", "no"], ["CLUSTER", "DELSLOTS", "5061"], ["CONFIG", "SET", "min-replicas-to-write", "1"],
        ["SET", "foo", "1"], ["SET", "bar", "1"], ["MULTI"], ["SET", "foo", "1"], ["SET", "bar", "1"], ["EXEC"], ["CONFIG", "SET", "maxmemory", "1"],
        ["SET", "foo", "1"], ["SET", "bar", "1"], ["WATCH", "bar"], ["MULTI"], ["SET", "bar", "1"], ["EXEC"], ["EVAL", "return 1", "1", "bar"],
    ];

    [Fact]
    public async Task ASingleNodeAnswersAsRedisDoes()
    {
        int metrics = Ports.Free();
        using ServerProcess ours = ClusterOfNodes.Start('o', "--metrics-port", $"{metrics}"), redis = ClusterOfNodes.Start('r');
        using RespClient one = ours.Connect(), other = redis.Connect();
        foreach (RespClient client in new[] { one, other })
        {
            client.Expect("-CLUSTERDOWN Hash slot not served", "GET", "foo");
            client.Expect("+OK", "CLUSTER", "ADDSLOTSRANGE", "0", "16383");
        }
        foreach (ServerProcess node in new[] { ours, redis })
            FollowingTests.Until(() => ClusterOfNodes.IsUp(node), "the cluster is down", node);
        using var http = new HttpClient();
        var ready = new Uri($"http://127.0.0.1:{metrics}/health/ready");
        Assert.Equal("ready\n", await http.GetStringAsync(ready));
        Assert.Contains("cluster_slots_ok:16384", ClusterOfNodes.Call(ours, "INFO", "cluster").Text, StringComparison.Ordinal);
        AssertInvalidated(ours, one);
        foreach (string[] request in Requests)
        {
            // Redis 7.4 compares the slots of patterns; the oracle is older.
            if (request[0] == "SORT") continue;
            Assert.Equal($"{string.Join(' ', request)}: {other.Call(request)}", $"{string.Join(' ', request)}: {one.Call(request)}");
        }
        ours.AssertWell();
        one.Expect("+OK", "CONFIG", "SET", "cluster-require-full-coverage", "yes");
        FollowingTests.Until(() => ClusterOfNodes.Info(ours).Contains("cluster_state:fail", StringComparison.Ordinal), "the cluster is up", ours);
        using HttpResponseMessage answer = await http.GetAsync(ready);
        Assert.Equal("the cluster is down\n", await answer.Content.ReadAsStringAsync());
    }

    private static void AssertInvalidated(ServerProcess node, RespClient writer)
    {
        using RespClient cache = node.Connect();
        cache.Call("HELLO", "3");
        cache.Expect("+OK", "CLIENT", "TRACKING", "ON");
        cache.Call("GET", "tracked");
        writer.Expect("+OK", "SET", "tracked", "1");
        FollowingTests.Until(
            () =>
            {
                cache.Expect("+PONG", "PING");
                return cache.Pushes.Count == 1;
            }, "no invalidation", node);
        Assert.Equal("invalidate", cache.Pushes.Dequeue().Items![0].Text);
        writer.Expect(":1", "DEL", "tracked");
    }

    /// <summary>While a slot moves, present keys are served, absent ones are elsewhere, and some of both must be tried again.</summary>
    [Fact]
    public void ASlotThatMovesAsks()
    {
        using var cluster = new ClusterOfNodes("oor", replicas: 0);
        ServerProcess owner = cluster.Nodes[0], target = cluster.Nodes[1];
        const string key = "{06S}1", absent = "{06S}2";
        using RespClient at = owner.Connect(), to = target.Connect();
        string slot = at.Call("CLUSTER", "KEYSLOT", key).Text!;
        Assert.Equal("0", slot);
        at.Expect("+OK", "SET", key, "1");
        to.Expect("+OK", "CLUSTER", "SETSLOT", slot, "IMPORTING", ClusterOfNodes.NameOf(owner));
        at.Expect("+OK", "CLUSTER", "SETSLOT", slot, "MIGRATING", ClusterOfNodes.NameOf(target));
        at.Expect("$\"1\"", "GET", key);
        at.Expect($"-ASK {slot} 127.0.0.1:{target.Port}", "GET", absent);
        at.Expect("-TRYAGAIN Multiple keys request during rehashing of slot", "MGET", key, absent);
        to.Expect($"-MOVED {slot} 127.0.0.1:{owner.Port}", "GET", absent);
        to.Expect("+OK", "ASKING");
        to.Expect("+OK", "SET", absent, "2");
        to.Expect($"-MOVED {slot} 127.0.0.1:{owner.Port}", "GET", absent);
        to.Expect("+OK", "ASKING");
        to.Expect("-TRYAGAIN Multiple keys request during rehashing of slot", "MGET", key, absent);
        // ASKING before a transaction has its effect on all of it.
        to.Expect("+OK", "ASKING");
        to.Expect("+OK", "MULTI");
        to.Expect("+QUEUED", "SET", absent, "3");
        to.Expect("+QUEUED", "GET", absent);
        Assert.Equal("3", to.Call("EXEC").Items![1].Text);
        to.Expect($"-MOVED {slot} 127.0.0.1:{owner.Port}", "GET", absent);
        AssertGoneOnBothSides(owner, target);
        at.Expect($"-ERR Can't assign hashslot {slot} to a different node while I still hold keys for this hash slot.",
            "CLUSTER", "SETSLOT", slot, "NODE", ClusterOfNodes.NameOf(target));
        at.Expect("+OK", "MIGRATE", "127.0.0.1", $"{target.Port}", key, "0", "5000");
        to.Expect("+OK", "CLUSTER", "SETSLOT", slot, "NODE", ClusterOfNodes.NameOf(target));
        at.Expect("+OK", "CLUSTER", "SETSLOT", slot, "NODE", ClusterOfNodes.NameOf(target));
        at.Expect($"-MOVED {slot} 127.0.0.1:{target.Port}", "GET", key);
        Assert.Equal(2, to.Call("MGET", key, absent).Items!.Length);
        to.Expect("$\"1\"", "GET", key);
    }

    /// <summary>A key that a client deletes while MIGRATE transfers it is not at the target either.</summary>
    private static void AssertGoneOnBothSides(ServerProcess owner, ServerProcess target)
    {
        const string key = "{06S}large", busy = "{06S}busy";
        using RespClient at = owner.Connect(), migrating = owner.Connect(), to = target.Connect();
        at.Expect("+OK", "CLUSTER", "SETSLOT", "0", "STABLE");
        at.Expect("+OK", "SET", busy, "1");
        to.Expect("+OK", "ASKING");
        to.Expect("+OK", "SET", busy, "2");
        for (int round = 0; round < 6; round++)
        {
            at.Expect("+OK", "SET", key, new string('v', 30_000_000));
            // In every second round, another key of the command fails, because the target has it.
            if (round % 2 == 0) migrating.Send("MIGRATE", "127.0.0.1", $"{target.Port}", key, "0", "20000");
            else migrating.Send("MIGRATE", "127.0.0.1", $"{target.Port}", "", "0", "20000", "KEYS", key, busy);
            Thread.Sleep(30 * round);
            bool isDeleted = at.Call("DEL", key).Text == "1";
            migrating.Read();
            to.Expect("+OK", "ASKING");
            to.Expect(isDeleted ? ":0" : ":1", "DEL", key);
        }
        at.Expect(":1", "DEL", busy);
        to.Expect("+OK", "ASKING");
        to.Expect(":1", "DEL", busy);
        at.Expect("+OK", "CLUSTER", "SETSLOT", "0", "MIGRATING", ClusterOfNodes.NameOf(target));
    }

    /// <summary>Messages that were published before arrive before the end of the subscription.</summary>
    [Theory]
    [InlineData("2")]
    [InlineData("3")]
    public void SubscriptionsToChannelsOfASlotThatMovesEnd(string protocol)
    {
        using var cluster = new ClusterOfNodes("ooo", replicas: 0);
        ServerProcess owner = cluster.Nodes[0], target = cluster.Nodes[1];
        using RespClient subscriber = owner.Connect(), publisher = owner.Connect();
        subscriber.Call("HELLO", protocol);
        foreach (string channel in new[] { "{06S}1", "{Qi}2", "{06S}3" }) subscriber.Send("SSUBSCRIBE", channel);
        for (int i = 1; i <= 3; i++) Assert.Equal("ssubscribe", Next().Items![0].Text);
        publisher.Expect(":1", "SPUBLISH", "{06S}1", "last");
        Assert.Equal("OK", ClusterOfNodes.Call(owner, "CLUSTER", "SETSLOT", "0", "NODE", ClusterOfNodes.NameOf(target)).Text);
        Assert.Equal(["smessage", "{06S}1", "last"], Next().Items!.Select(static item => item.Text));
        string[] ended = [Next().ToString(), Next().ToString()];
        Assert.Contains("\"sunsubscribe\" $\"{06S}1\"", string.Join(' ', ended), StringComparison.Ordinal);
        Assert.Contains("\"sunsubscribe\" $\"{06S}3\"", string.Join(' ', ended), StringComparison.Ordinal);
        Assert.EndsWith(":1]", ended[1], StringComparison.Ordinal);
        publisher.Expect($"-MOVED 0 127.0.0.1:{target.Port}", "SPUBLISH", "{06S}1", "late");
        publisher.Expect(":1", "SPUBLISH", "{Qi}2", "here");
        Assert.Equal("here", Next().Items![2].Text);

        Reply Next() => subscriber.ReadAny();
    }

    /// <summary>A transaction is redirected as a whole, and a blocked client learns that its key has moved.</summary>
    [Fact]
    public void TransactionsAndBlockedClientsAreRedirected()
    {
        using var cluster = new ClusterOfNodes("ooo", replicas: 0);
        ServerProcess owner = cluster.Nodes[0], target = cluster.Nodes[1];
        const string key = "{06S}1";
        using RespClient at = owner.Connect(), blocked = owner.Connect(), to = target.Connect();
        to.Expect("+OK", "MULTI");
        to.Expect($"-MOVED 0 127.0.0.1:{owner.Port}", "SET", key, "1");
        to.Expect("-EXECABORT Transaction discarded because of previous errors.", "EXEC");
        blocked.Send("BLPOP", key, "0");
        at.Expect("+OK", "MULTI");
        at.Expect("+QUEUED", "SET", "{06S}2", "1");
        FollowingTests.Until(
            () => ClusterOfNodes.Call(owner, "INFO", "clients").Text!.Contains("blocked_clients:1", StringComparison.Ordinal), "not blocked", owner);
        string name = ClusterOfNodes.NameOf(target);
        // As in redis-server, the client waits on while the slot moves.
        Assert.Equal("OK", ClusterOfNodes.Call(owner, "CLUSTER", "SETSLOT", "0", "MIGRATING", name).Text);
        Assert.False(blocked.Socket.Poll(200_000, SelectMode.SelectRead));
        Assert.Equal("OK", ClusterOfNodes.Call(owner, "CLUSTER", "SETSLOT", "0", "NODE", name).Text);
        at.Expect($"-MOVED 0 127.0.0.1:{target.Port}", "EXEC");
        Assert.Equal($"MOVED 0 127.0.0.1:{target.Port}", blocked.Read().Text);
    }

    /// <summary>A reader that waits for what comes after the last entry misses none when other slots leave its node.</summary>
    [Fact]
    public async Task AReaderMissesNoEntryWhileOtherSlotsMove()
    {
        using var cluster = new ClusterOfNodes("ooo", replicas: 0, "--cluster-require-full-coverage", "no");
        ServerProcess node = cluster.Nodes[0];
        const string key = "{06S}1";
        using RespClient at = node.Connect();
        at.Call("XADD", key, "1-1", "f", "v");
        using var end = new CancellationTokenSource();
        Task mover = Task.Run(() =>
        {
            using RespClient admin = node.Connect();
            while (!end.IsCancellationRequested)
            {
                admin.Expect("+OK", "CLUSTER", "DELSLOTS", "5");
                admin.Expect("+OK", "CLUSTER", "ADDSLOTS", "5");
            }
        });
        RespClient[] readers = [.. Enumerable.Range(0, 8).Select(_ => node.Connect())];
        for (int i = 2; i < 60; i++)
        {
            foreach (RespClient reader in readers) reader.Send("XREAD", "BLOCK", "0", "STREAMS", key, "$");
            FollowingTests.Until(
                () => at.Call("INFO", "clients").Text!.Contains($"blocked_clients:{readers.Length}", StringComparison.Ordinal), "no wait", node);
            at.Call("XADD", key, $"{i}-1", "f", "v");
            foreach (RespClient reader in readers) Assert.Equal($"{i}-1", reader.Read().Items![0].Items![1].Items![0].Items![0].Text);
        }
        end.Cancel();
        await mover;
        foreach (RespClient reader in readers) reader.Dispose();
    }

    /// <summary>A client that waits for a key of a slot that is imported learns that the import has ended without the slot.</summary>
    [Fact]
    public void AnImportThatEndsRedirectsItsBlockedClients()
    {
        using var cluster = new ClusterOfNodes("ooo", replicas: 0);
        ServerProcess owner = cluster.Nodes[0], target = cluster.Nodes[1];
        using RespClient blocked = target.Connect(), to = target.Connect();
        to.Expect("+OK", "CLUSTER", "SETSLOT", "0", "IMPORTING", ClusterOfNodes.NameOf(owner));
        blocked.Expect("+OK", "ASKING");
        blocked.Send("BLPOP", "{06S}1", "0");
        FollowingTests.Until(() => to.Call("INFO", "clients").Text!.Contains("blocked_clients:1", StringComparison.Ordinal), "not blocked", target);
        to.Expect("+OK", "CLUSTER", "SETSLOT", "0", "STABLE");
        Assert.Equal($"MOVED 0 127.0.0.1:{owner.Port}", blocked.Read().Text);
    }

    /// <summary>A client that reads from a replica learns that the slot has left its primary.</summary>
    [Fact]
    public void AReplicaRedirectsItsBlockedReaders()
    {
        using var cluster = new ClusterOfNodes("oooooo", replicas: 1);
        ServerProcess owner = cluster.Nodes[0], target = cluster.Nodes[1];
        string itself = $"myself,slave {ClusterOfNodes.NameOf(owner)}";
        ServerProcess replica = cluster.Nodes.First(node => ClusterOfNodes.Call(node, "CLUSTER", "NODES").Text!.Contains(itself, StringComparison.Ordinal));
        using RespClient reader = replica.Connect(), to = target.Connect(), at = owner.Connect();
        reader.Expect("+OK", "READONLY");
        reader.Send("XREAD", "BLOCK", "0", "STREAMS", "{06S}1", "$");
        FollowingTests.Until(
            () => ClusterOfNodes.Call(replica, "INFO", "clients").Text!.Contains("blocked_clients:1", StringComparison.Ordinal), "not blocked", replica);
        string name = ClusterOfNodes.NameOf(target);
        to.Expect("+OK", "CLUSTER", "SETSLOT", "0", "IMPORTING", ClusterOfNodes.NameOf(owner));
        to.Expect("+OK", "CLUSTER", "SETSLOT", "0", "NODE", name);
        at.Expect("+OK", "CLUSTER", "SETSLOT", "0", "NODE", name);
        Assert.Equal($"MOVED 0 127.0.0.1:{target.Port}", reader.Read().Text);
    }

    /// <summary>A script that has begun on its slot ends on it, although the slot goes or the rights of its user change meanwhile.</summary>
    [Theory]
    [InlineData("CLUSTER DELSLOTS 0")]
    [InlineData("ACL SETUSER tester -incr")]
    public void AScriptIsNotEndedHalfway(string change)
    {
        using ServerProcess node = ClusterOfNodes.Start('o');
        using RespClient admin = node.Connect(), client = node.Connect();
        admin.Expect("+OK", "CLUSTER", "ADDSLOTSRANGE", "0", "16383");
        FollowingTests.Until(() => ClusterOfNodes.IsUp(node), "the cluster is down", node);
        admin.Expect("+OK", "ACL", "SETUSER", "tester", "on", "nopass", "~*", "+@all", "-config");
        client.Expect("+OK", "AUTH", "tester", "");
        const string script = "redis.call('INCR', KEYS[1]) redis.call('SET', 'other', 1) for i = 1, 3e7 do end return redis.call('INCR', KEYS[2])";
        client.Send("EVAL", script, "2", "{06S}1", "{06S}2");
        // The script is running when the node is busy; on a fast machine it may have ended.
        Thread.Sleep(50);
        admin.Expect("+OK", change.Split(' '));
        Assert.Equal(":1", client.Read().ToString());
    }
}
