using System.Globalization;
using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;
using RedisClone.Tests;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>CLUSTER MIGRATION moves slots with all their keys at once, while clients write, or leaves everything as it was.</summary>
public sealed class SlotMigrationTests
{
    private const int Slots = 2000, Keys = 20_000, FewKeys = 3000, Clients = 3;

    /// <summary>Keys of all types move under load. A client sees one redirection for each slot, and no error.</summary>
    [Fact]
    public void SlotsMoveUnderLoad()
    {
        using var cluster = new ClusterOfNodes("oooooo", replicas: 1, "--appendonly", "yes");
        ServerProcess source = cluster.OwnerOf(0, at: 2), target = cluster.OwnerOf(16383, at: 2);
        string[] keys = Fill(source, Keys);
        Reply[] before = Values(source, keys);
        ClusterLoad[] load = [.. Enumerable.Range(0, Clients).Select(i => new ClusterLoad(i, Slots, source.Port))];
        string id = Import(target);
        AwaitState(source, id, "completed");
        AwaitState(target, id, "completed");
        FollowingTests.Until(() => RawKeys(source) == 0, "the source keeps keys", source);
        // Each client meets each of its slots once more.
        Thread.Sleep(500);
        foreach (ClusterLoad client in load) client.StopAndCheck(cluster);
        foreach (ClusterLoad client in load)
        {
            Assert.Empty(client.Errors);
            Assert.InRange(client.Redirections, 1, client.Slots);
            client.Dispose();
        }
        AssertSame(before, Values(target, keys));
        Assert.Equal(0, ClusterOfNodes.Call(source, "DBSIZE").Integer);
        AssertReplicaHas(cluster, target, keys, before);
        foreach (ServerProcess node in cluster.Nodes) node.AssertWell();
        // A restart finds the same.
        target.Kill();
        cluster.Restart(target);
        foreach (string key in keys.Take(100)) Assert.NotEqual("none", cluster.Follow("TYPE", key).Text);
    }

    /// <summary>A cancelled migration leaves nothing at the destination, and the source serves on.</summary>
    [Fact]
    public void ACancelledMigrationLeavesNothing()
    {
        using var cluster = new ClusterOfNodes("ooo", replicas: 0, "--appendonly", "yes");
        ServerProcess source = cluster.Nodes[0], target = cluster.Nodes[1];
        string[] keys = Fill(source, FewKeys);
        using RespClient at = source.Connect(), to = target.Connect();
        at.Expect("+OK", "CONFIG", "SET", "rdb-key-save-delay", "1000");
        string id = Import(target);
        AwaitState(source, id, "send-bulk-and-stream");
        to.Expect(":1", "CLUSTER", "MIGRATION", "CANCEL", "ID", id);
        AwaitState(target, id, "canceled");
        AwaitState(source, id, "failed");
        // The source cancels the next one, and the destination tries again until it is cancelled too.
        id = Import(target);
        AwaitState(source, id, "send-bulk-and-stream");
        at.Expect(":1", "CLUSTER", "MIGRATION", "CANCEL", "ALL");
        AwaitState(target, id, "failed");
        FollowingTests.Until(() => int.Parse(ClusterOfNodes.MigrationField(target, id, "retries")) > 0, "no further attempt", target);
        to.Expect(":1", "CLUSTER", "MIGRATION", "CANCEL", "ALL");
        AssertUntouched(source, target, keys);
    }

    /// <summary>A destination without enough memory gives up, and has no key of the slots, also not after a restart.</summary>
    [Fact]
    public void ADestinationWithoutMemoryGivesUp()
    {
        using var cluster = new ClusterOfNodes("ooo", replicas: 0, "--appendonly", "yes");
        ServerProcess source = cluster.Nodes[0], target = cluster.Nodes[1];
        string[] keys = Fill(source, FewKeys);
        long used = long.Parse(ClusterOfNodes.Call(target, "INFO", "memory").Text!.Split("used_memory:")[1].Split('\r')[0], CultureInfo.InvariantCulture);
        Assert.Equal("OK", ClusterOfNodes.Call(target, "CONFIG", "SET", "maxmemory", $"{used + 200_000}").Text);
        string id = Import(target);
        FollowingTests.Until(
            () => ClusterOfNodes.MigrationField(target, id, "last_error").Contains("memory", StringComparison.Ordinal), "it does not fail", target);
        Assert.Equal("1", ClusterOfNodes.Call(target, "CLUSTER", "MIGRATION", "CANCEL", "ID", id).Text);
        AssertUntouched(source, target, keys);
        target.Kill();
        cluster.Restart(target);
        // On a busy machine, the start takes longer than cluster-node-timeout.
        FollowingTests.Until(() => cluster.Nodes.All(ClusterOfNodes.IsUp), "the cluster stays down", source);
        AssertUntouched(source, cluster.Nodes[1], keys);
    }

    /// <summary>
    /// A source that is killed after it has removed the keys of moved slots, and before its files have the removal, removes them again when it
    /// starts. The keys are older than those of the new owner.
    /// </summary>
    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public void RemovedKeysStayRemoved(string journal)
    {
        using var cluster = new ClusterOfNodes("ooo", replicas: 0, "--appendonly", journal, "--save", "", "--enable-debug-command", "yes");
        ServerProcess source = cluster.Nodes[0], target = cluster.Nodes[1];
        string[] keys = Fill(source, FewKeys);
        Assert.Equal("OK", ClusterOfNodes.Call(source, journal == "yes" ? ["DEBUG", "AOF-FLUSH-SLEEP", "5000000"] : ["SAVE"]).Text);
        AwaitState(target, Import(target), "completed");
        FollowingTests.Until(() => RawKeys(source) == 0, "the source keeps keys", source);
        source.Kill();
        cluster.Restart(source);
        source = cluster.Nodes[0];
        FollowingTests.Until(() => cluster.Nodes.All(ClusterOfNodes.IsUp), "the cluster stays down", source);
        FollowingTests.Until(() => RawKeys(source) == 0, "the source has the keys again", source);
        Assert.DoesNotContain("-<-", ClusterOfNodes.Call(source, "CLUSTER", "NODES").Text, StringComparison.Ordinal);
        // The slots are forgotten as soon as the files have the removal.
        string file = Path.Combine(ClusterOfNodes.Call(source, "CONFIG", "GET", "dir")[1].Text!, "nodes.conf");
        if (journal == "no")
        {
            Assert.Contains("removable-slots", File.ReadAllText(file), StringComparison.Ordinal);
            Assert.Equal("OK", ClusterOfNodes.Call(source, "SAVE").Text);
        }
        FollowingTests.Until(() => !File.ReadAllText(file).Contains("removable-slots", StringComparison.Ordinal), "the slots are named", source);
        foreach (string key in keys.Take(100)) Assert.NotEqual("none", cluster.Follow("TYPE", key).Text);
    }

    /// <summary>A node that is killed at any moment finds the slots with all their keys at one of the two nodes.</summary>
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    public void AKilledNodeLosesNothing(int victim)
    {
        using var cluster = new ClusterOfNodes("ooo", replicas: 0, "--appendonly", "yes");
        string[] keys = Fill(cluster.Nodes[0], FewKeys);
        Random random = Seed.Random("migration");
        for (int round = 0; round < 3; round++)
        {
            using var load = new ClusterLoad(round, Slots, cluster.OwnerOf(0, at: 2).Port);
            ServerProcess source = cluster.OwnerOf(0, at: 2), target = cluster.Nodes[source == cluster.Nodes[0] ? 1 : 0];
            string id = Import(target);
            Thread.Sleep(random.Next(700));
            ServerProcess killed = victim == 0 ? source : target;
            killed.Kill();
            cluster.Restart(killed);
            foreach (ServerProcess node in cluster.Nodes)
                FollowingTests.Until(() => ClusterOfNodes.IsUp(node), $"down, {Seed.Note}", node);
            // A destination that was not killed tries again. After that, both nodes agree.
            FollowingTests.Until(() => IsOver(cluster), $"no end of {id}, {Seed.Note}", target);
            load.StopAndCheck(cluster);
            FollowingTests.Until(() => cluster.Nodes.Sum(RawKeys) == Sizes(cluster), $"keys are left over, {Seed.Note}", source);
            ServerProcess owner = cluster.OwnerOf(0, at: 2);
            using RespClient client = owner.Connect();
            foreach (string[] part in keys.Chunk(500))
                Assert.All(client.Pipeline([.. part.Select(static key => new[] { "EXISTS", key })]), static reply => Assert.Equal("1", reply.Text));
        }
        foreach (ServerProcess node in cluster.Nodes) node.AssertWell();
    }

    /// <summary>redis-server does not know how to send slots at once; the error says what to do.</summary>
    [Fact]
    public void AnotherServerIsNoSource()
    {
        using var cluster = new ClusterOfNodes("roo", replicas: 0);
        ServerProcess target = cluster.Nodes[1];
        string id = Import(target);
        AwaitState(target, id, "failed");
        FollowingTests.Until(() => ClusterOfNodes.MigrationField(target, id, "end_time") != "-1", "it tries again", target);
        Assert.Contains("move the slots with MIGRATE", ClusterOfNodes.MigrationField(target, id, "last_error"), StringComparison.Ordinal);
    }

    private static string Import(ServerProcess target)
    {
        Reply reply = ClusterOfNodes.Call(target, "CLUSTER", "MIGRATION", "IMPORT", "0", $"{Slots - 1}");
        Assert.False(reply.IsError, reply.Text);
        return reply.Text!;
    }

    private static void AwaitState(ServerProcess node, string id, string state) =>
        FollowingTests.Until(
            () => ClusterOfNodes.MigrationField(node, id, "state") == state,
            $"never {state}, but {ClusterOfNodes.MigrationField(node, id, "state")} {ClusterOfNodes.MigrationField(node, id, "last_error")}", node);

    /// <summary>Whether no node has a migration that goes on.</summary>
    private static bool IsOver(ClusterOfNodes cluster) => cluster.Nodes.All(static node =>
        ClusterOfNodes.Call(node, "CLUSTER", "MIGRATION", "STATUS", "ALL").Items!.All(static task => task.Items![21].Text != "-1"));

    /// <summary>The number of all keys, also of those that clients do not see.</summary>
    private static long RawKeys(ServerProcess node)
    {
        Reply[] fields = ClusterOfNodes.Call(node, "MEMORY", "STATS").Items!;
        return fields[Array.FindIndex(fields, static field => field.Text == "keys.count") + 1].Integer;
    }

    private static long Sizes(ClusterOfNodes cluster) => cluster.Nodes.Sum(static node => ClusterOfNodes.Call(node, "DBSIZE").Integer);

    private static string[] Fill(ServerProcess node, int count)
    {
        string[] keys = [.. ClusterLoad.Keys(Slots, "key:").Take(count).Select(static key => key.Name)];
        using RespClient client = node.Connect();
        foreach (string[] part in keys.Chunk(200))
            Assert.All(client.Pipeline([.. part.Select(static (key, i) => Write(key, i % 7))]), static reply => Assert.False(reply.IsError, reply.Text));
        return keys;
    }

    private static string[] Write(string key, int kind) => kind switch
    {
        0 => ["SET", key, new string('v', 100)],
        1 => ["RPUSH", key, .. Enumerable.Range(0, 20).Select(static i => $"element:{i}")],
        2 => ["SADD", key, .. Enumerable.Range(0, 20).Select(static i => $"member:{i}")],
        3 => ["ZADD", key, .. Enumerable.Range(0, 20).SelectMany(static i => new[] { $"{i}.5", $"member:{i}" })],
        4 => ["HSET", key, .. Enumerable.Range(0, 20).SelectMany(static i => new[] { $"field:{i}", $"{i}" })],
        5 => ["XADD", key, "1-1", "name", "value"],
        _ => ["SET", key, "12345", "PXAT", "4000000000000"],
    };

    private static Reply[] Values(ServerProcess node, string[] keys)
    {
        using RespClient client = node.Connect();
        return [.. keys.Chunk(200).SelectMany(part => client.Pipeline([.. part.SelectMany(Read)]))];
    }

    private static string[][] Read(string key, int i) => [(i % 7) switch
    {
        0 or 6 => ["GET", key],
        1 => ["LRANGE", key, "0", "-1"],
        2 => ["SMEMBERS", key],
        3 => ["ZRANGE", key, "0", "-1", "WITHSCORES"],
        4 => ["HGETALL", key],
        _ => ["XRANGE", key, "-", "+"],
    }, ["PEXPIRETIME", key]];

    private static void AssertSame(Reply[] before, Reply[] after)
    {
        Assert.Equal(before.Length, after.Length);
        for (int i = 0; i < before.Length; i++) Assert.Equal(before[i].Sorted(1), after[i].Sorted(1));
    }

    private static void AssertReplicaHas(ClusterOfNodes cluster, ServerProcess primary, string[] keys, Reply[] values)
    {
        string id = ClusterOfNodes.NameOf(primary);
        string line = ClusterOfNodes.Call(primary, "CLUSTER", "REPLICAS", id).Items![0].Text!;
        ServerProcess replica = cluster.Nodes.First(node => line.Contains($":{node.Port}@", StringComparison.Ordinal));
        ClusterOfNodes.Call(primary, "WAIT", "1", "5000");
        using RespClient client = replica.Connect();
        client.Expect("+OK", "READONLY");
        AssertSame(values, [.. keys.Chunk(200).SelectMany(part => client.Pipeline([.. part.SelectMany(Read)]))]);
    }

    private static void AssertUntouched(ServerProcess source, ServerProcess target, string[] keys)
    {
        FollowingTests.Until(() => RawKeys(target) == 0, "the destination keeps keys", target);
        Assert.Equal(keys.Length, ClusterOfNodes.Call(source, "DBSIZE").Integer);
        using RespClient at = source.Connect();
        foreach (string key in keys.Take(50)) at.Expect(":1", "EXISTS", key);
        at.Expect("+OK", "SET", keys[0], "again");
        source.AssertWell();
        target.AssertWell();
    }
}
