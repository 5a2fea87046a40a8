using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>The destination of a slot migration fails just after it has taken the slots over.</summary>
public sealed class SlotFailoverTests
{
    private const int Slots = 2000, Keys = 3000;

    /// <summary>The source removes its keys only after the replica of the destination knows the slots, so the replica takes them over.</summary>
    [Fact]
    public void TheReplicaHasTheSlots()
    {
        using ClusterOfNodes cluster = Create(out ServerProcess source, out ServerProcess target, out ServerProcess replica);
        string[] keys = Fill(source);
        Import(target);
        FollowingTests.Until(() => ClusterOfNodes.Call(source, "GET", keys[0]).IsError, "the slots do not move", source);
        target.Kill();
        AwaitTakeover(replica);
        AssertAll(cluster, keys);
        Assert.Equal(Keys, Served(replica, keys));
        source.AssertWell();
    }

    /// <summary>A replica that has not heard of the slots does not claim them. Then the source serves them on, with all keys.</summary>
    [Fact]
    public void TheSourceKeepsWhatTheReplicaDoesNotKnow()
    {
        using var faults = new BusFaults();
        using ClusterOfNodes cluster = Create(out ServerProcess source, out ServerProcess target, out ServerProcess replica, faults, nodeTimeout: 20_000);
        string[] keys = Fill(source);
        string name = ClusterOfNodes.NameOf(target), other = ClusterOfNodes.NameOf(replica);
        // The target does not wait for a replica that is silent for the timeout, so the timeout is longer than the import.
        faults.Cut((one, two) => one == name && two == other);
        Import(target);
        FollowingTests.Until(() => ClusterOfNodes.SlotsOf(target) > 16384 / 3 + 1, "the slots do not move", target);
        target.Kill();
        faults.Heal();
        AwaitTakeover(replica);
        AssertAll(cluster, keys);
        int served = Served(source, keys);
        string logs = $"{source.Output}\n---- the target\n{target.Output}\n---- the replica\n{replica.Output}";
        Assert.True(served == Keys, $"the source serves {served} of {Keys} keys\n{logs}");
        source.AssertWell();

        // The epoch of the replica is later than that of the destination, which has its slots and the moved ones in its nodes.conf.
        cluster.Restart(target);
        FollowingTests.Until(
            () => cluster.Nodes.Any(node => ClusterOfNodes.NameOf(node) == name && ClusterOfNodes.IsReplica(node)), "it stays a primary", source);
        Assert.Equal(other, ClusterOfNodes.NameOf(cluster.OwnerOf(16383)));
        AssertAll(cluster, keys);
        Assert.Equal(Keys, Served(source, keys));
    }

    /// <summary>
    /// redis-cli moves a slot key by key. The destination fails in between, and its replica does not know of the move. The keys that were moved
    /// are only there, so they stay, and the slot is open for redis-cli --cluster fix.
    /// </summary>
    [Fact]
    public void KeysThatWereMovedOneByOneStay()
    {
        using ClusterOfNodes cluster = Create(out ServerProcess source, out ServerProcess target, out ServerProcess replica);
        (string key, int slot) = ClusterLoad.Keys(Slots, "key:").First();
        MoveOne(source, target, key, slot);
        using (RespClient there = target.Connect()) there.Expect(":1", "WAIT", "1", "30000");
        target.Kill();
        AwaitTakeover(replica);
        using RespClient client = replica.Connect();
        client.Expect("+OK", "ASKING");
        client.Expect("$\"v\"", "GET", key);
        Assert.Contains($"[{slot}-<-{ClusterOfNodes.NameOf(source)}]", client.Call("CLUSTER", "NODES").Text!, StringComparison.Ordinal);
        source.AssertWell();
    }

    /// <summary>
    /// An operator ends a move key by key halfway, without moving the keys back. An import of the slot would remove them, so it is refused.
    /// </summary>
    [Fact]
    public void AnImportDoesNotRemoveKeysThatWereMovedOneByOne()
    {
        using ClusterOfNodes cluster = Create(out ServerProcess source, out ServerProcess target, out _);
        (string key, int slot) = ClusterLoad.Keys(Slots, "key:").First();
        MoveOne(source, target, key, slot);
        foreach (ServerProcess node in new[] { source, target })
            Assert.Equal("OK", ClusterOfNodes.Call(node, "CLUSTER", "SETSLOT", $"{slot}", "STABLE").Text);
        string id = ClusterOfNodes.Call(target, "CLUSTER", "MIGRATION", "IMPORT", $"{slot}", $"{slot}").Text!;
        FollowingTests.Until(
            () => ClusterOfNodes.MigrationField(target, id, "last_error").Contains("may be the only ones", StringComparison.Ordinal), "no refusal", target);
        Assert.Equal("OK", ClusterOfNodes.Call(target, "CLUSTER", "SETSLOT", $"{slot}", "IMPORTING", ClusterOfNodes.NameOf(source)).Text);
        using RespClient client = target.Connect();
        client.Expect("+OK", "ASKING");
        client.Expect("$\"v\"", "GET", key);
    }

    private static void MoveOne(ServerProcess source, ServerProcess target, string key, int slot)
    {
        Assert.Equal("OK", ClusterOfNodes.Call(source, "SET", key, "v").Text);
        Assert.Equal("OK", ClusterOfNodes.Call(target, "CLUSTER", "SETSLOT", $"{slot}", "IMPORTING", ClusterOfNodes.NameOf(source)).Text);
        Assert.Equal("OK", ClusterOfNodes.Call(source, "CLUSTER", "SETSLOT", $"{slot}", "MIGRATING", ClusterOfNodes.NameOf(target)).Text);
        Assert.Equal("OK", ClusterOfNodes.Call(source, "MIGRATE", "127.0.0.1", $"{target.Port}", key, "0", "5000").Text);
    }

    /// <summary>The keys of an import that fails with the destination go: the source has all of them.</summary>
    [Fact]
    public void KeysOfAnImportThatFailedGo()
    {
        using ClusterOfNodes cluster = Create(out ServerProcess source, out ServerProcess target, out ServerProcess replica);
        string[] keys = Fill(source);
        // The import waits for the replica before it ends.
        using RespClient sleeper = replica.Connect();
        sleeper.Send("DEBUG", "SLEEP", "3");
        Import(target);
        Thread.Sleep(1500);
        target.Kill();
        AwaitTakeover(replica);
        AssertAll(cluster, keys);
        Assert.Equal(Keys, Served(source, keys));
        FollowingTests.Until(
            () => !ClusterOfNodes.Call(replica, "CLUSTER", "NODES").Text!.Contains("-<-", StringComparison.Ordinal), "a slot is open", replica);
    }

    /// <summary>The slots do not move while a replica of the destination does not acknowledge their keys.</summary>
    [Fact]
    public void AReplicaThatHangsPreventsTheSwitch()
    {
        using ClusterOfNodes cluster = Create(out ServerProcess source, out ServerProcess target, out ServerProcess replica);
        string[] keys = Fill(source);
        using RespClient sleeper = replica.Connect();
        sleeper.Send("DEBUG", "SLEEP", "5");
        string id = Import(target);
        FollowingTests.Until(
            () => ClusterOfNodes.MigrationField(target, id, "last_error").Contains("does not acknowledge", StringComparison.Ordinal),
            "it does not wait", target);
        Assert.Equal("OK", sleeper.Read().Text);
        FollowingTests.Until(() => ClusterOfNodes.MigrationField(target, id, "state") == "completed", "no further attempt", target);
        AssertAll(cluster, keys);
        Assert.Equal(Keys, Served(target, keys));
    }

    private static ClusterOfNodes Create(
        out ServerProcess source, out ServerProcess target, out ServerProcess replica, BusFaults? faults = null, int nodeTimeout = ClusterOfNodes.NodeTimeout)
    {
        var cluster = new ClusterOfNodes(
            "oooooo", replicas: 1, faults, "--enable-debug-command", "yes", "--appendonly", "yes", "--cluster-node-timeout", $"{nodeTimeout}");
        source = cluster.OwnerOf(0);
        target = cluster.OwnerOf(16383);
        int port = target.Port;
        replica = cluster.Nodes.First(node => ClusterOfNodes.Call(node, "ROLE").Items is [{ Text: "slave" }, _, { } primary, ..] && primary.Integer == port);
        return cluster;
    }

    private static string Import(ServerProcess target) => ClusterOfNodes.Call(target, "CLUSTER", "MIGRATION", "IMPORT", "0", $"{Slots - 1}").Text!;

    private static void AwaitTakeover(ServerProcess replica)
    {
        FollowingTests.Until(() => !ClusterOfNodes.IsReplica(replica), "the replica does not take over", replica);
        FollowingTests.Until(() => ClusterOfNodes.IsUp(replica), "the cluster is down", replica);
    }

    private static string[] Fill(ServerProcess node)
    {
        string[] keys = [.. ClusterLoad.Keys(Slots, "key:").Take(Keys).Select(static key => key.Name)];
        using RespClient client = node.Connect();
        Assert.All(client.Pipeline([.. keys.Select(static key => new[] { "SET", key, key })]), static reply => Assert.Equal("OK", reply.Text));
        return keys;
    }

    private static void AssertAll(ClusterOfNodes cluster, string[] keys)
    {
        foreach (string key in keys.Where(static (_, i) => i % 50 == 0)) Assert.Equal(key, cluster.Follow("GET", key).Text);
    }

    /// <summary>The number of keys that a node serves.</summary>
    private static int Served(ServerProcess node, string[] keys)
    {
        using RespClient client = node.Connect();
        return client.Pipeline([.. keys.Select(static key => new[] { "GET", key })]).Zip(keys).Count(static pair => pair.First.Text == pair.Second);
    }
}
