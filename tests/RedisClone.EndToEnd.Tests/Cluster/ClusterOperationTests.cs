using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>What operators do with redis-cli --cluster.</summary>
public sealed class ClusterOperationTests
{
    private const int Keys = 200;

    // redis-cli gives up if a node that the disk delays is taken for failed.
    private static readonly string[] Patient = ["--cluster-node-timeout", "15000"];

    /// <summary>A node joins, gets its share of the slots, gives them back and leaves.</summary>
    [Theory]
    [InlineData('o')]
    [InlineData('r')]
    public void ANodeJoinsAndLeaves(char kind)
    {
        using var cluster = new ClusterOfNodes("oro", replicas: 0, Patient);
        Fill(cluster);
        ServerProcess first = cluster.Nodes[0];
        using ServerProcess joining = ClusterOfNodes.Start(kind, Patient);
        AssertNoError(ClusterOfNodes.Cli("--cluster", "add-node", At(joining), At(first)));
        foreach (ServerProcess node in cluster.Nodes.Append(joining))
            FollowingTests.Until(() => ClusterOfNodes.KnownNodes(node) == 4 && ClusterOfNodes.IsUp(node), "the node does not join", node);
        AwaitAgreement(first);
        string name = ClusterOfNodes.NameOf(joining);
        string output = ClusterOfNodes.Cli("--cluster", "rebalance", At(first), "--cluster-use-empty-masters", "--cluster-weight", $"{name}=0.05");
        AssertNoError(output);
        FollowingTests.Until(() => ClusterOfNodes.SlotsOf(joining) > 250, $"the node has not got its share: {output}", joining);
        AssertFilled(cluster);
        AwaitAgreement(first);
        AssertNoError(ClusterOfNodes.Cli(
            "--cluster", "reshard", At(first), "--cluster-from", name, "--cluster-to", ClusterOfNodes.NameOf(first),
            "--cluster-slots", $"{ClusterOfNodes.SlotsOf(joining)}", "--cluster-yes"));
        FollowingTests.Until(() => ClusterOfNodes.SlotsOf(joining) == 0, "the node keeps slots", joining);
        AwaitAgreement(first);
        AssertNoError(ClusterOfNodes.Cli("--cluster", "del-node", At(first), name));
        foreach (ServerProcess node in cluster.Nodes) FollowingTests.Until(() => ClusterOfNodes.KnownNodes(node) == 3, "the node is not forgotten", node);
        Assert.Equal(1, ClusterOfNodes.KnownNodes(joining));
        AssertFilled(cluster);
        first.AssertWell();
    }

    /// <summary>The random part of the delay keeps replicas from asking for the same votes. The only replica of the only failed primary has none.</summary>
    [Fact]
    public void AReplicaWithoutRivalsDrawsNoDelay()
    {
        // No other primary is taken for failed.
        using var cluster = new ClusterOfNodes("oooooo", replicas: 1, "--cluster-node-timeout", "10000");
        ServerProcess failing = cluster.Primaries[0];
        string name = ClusterOfNodes.NameOf(failing);
        ServerProcess replica = cluster.Nodes.Single(node => ClusterOfNodes.Call(node, "CLUSTER", "NODES").Text!.Contains($"myself,slave {name}"));
        failing.Kill();
        replica.AssertLogs("Start of election delayed for 500 milliseconds (rank #0");
        FollowingTests.Until(() => !ClusterOfNodes.IsReplica(replica), "the replica does not take over", replica);
    }

    /// <summary>fix closes a slot that was left half moved, and gives slots without a node to one.</summary>
    [Fact]
    public void BrokenSlotsAreFixed()
    {
        using var cluster = new ClusterOfNodes("oro", replicas: 0, Patient);
        Fill(cluster);
        ServerProcess from = cluster.Nodes[0], to = cluster.Nodes[1];
        int slot = KeysOf(from).Select(static key => Storage.Memory.KeySlot.Of(System.Text.Encoding.ASCII.GetBytes(key))).First();
        Assert.Equal("OK", ClusterOfNodes.Call(to, "CLUSTER", "SETSLOT", $"{slot}", "IMPORTING", ClusterOfNodes.NameOf(from)).Text);
        Assert.Equal("OK", ClusterOfNodes.Call(from, "CLUSTER", "SETSLOT", $"{slot}", "MIGRATING", ClusterOfNodes.NameOf(to)).Text);
        Fix(cluster);
        foreach (ServerProcess node in cluster.Nodes) ClusterOfNodes.Call(node, "CLUSTER", "DELSLOTS", "16000");
        Fix(cluster);
        AssertFilled(cluster);
    }

    private static void Fix(ClusterOfNodes cluster)
    {
        ServerProcess first = cluster.Nodes[0];
        Assert.False(IsFine(first));
        string output = ClusterOfNodes.Cli("--cluster", "fix", At(first), "--cluster-yes");
        FollowingTests.Until(() => IsFine(first), $"the slots are not fixed: {output}", first);
        foreach (ServerProcess node in cluster.Nodes)
            FollowingTests.Until(() => ClusterOfNodes.IsUp(node), "the cluster is down", node);
    }

    private static bool IsFine(ServerProcess node)
    {
        string check = ClusterOfNodes.Cli("--cluster", "check", At(node));
        return check.Contains("All 16384 slots covered", StringComparison.Ordinal) && !check.Contains("[ERR]", StringComparison.Ordinal)
            && !check.Contains("[WARNING]", StringComparison.Ordinal);
    }

    /// <summary>call asks all nodes, import brings the keys of a single server, and backup copies all of them.</summary>
    [Fact]
    public void KeysComeInAndGoOut()
    {
        using var cluster = new ClusterOfNodes("oro", replicas: 0, Patient);
        using ServerProcess single = ServerProcess.Ours();
        using (RespClient client = single.Connect())
            for (int i = 0; i < Keys; i++) client.Expect("+OK", "SET", $"key:{i}", $"{i}");
        string called = ClusterOfNodes.Cli("--cluster", "call", At(cluster.Nodes[0]), "ECHO", "hello");
        Assert.Equal(3, called.Split(": hello").Length - 1);
        AssertNoError(ClusterOfNodes.Cli("--cluster", "import", At(cluster.Nodes[0]), "--cluster-from", At(single)));
        AssertFilled(cluster);
        Assert.Equal(0, ClusterOfNodes.Call(single, "DBSIZE").Integer);
        string folder = Directory.CreateTempSubdirectory("redisclone-cluster-").FullName;
        AssertNoError(ClusterOfNodes.Cli("--cluster", "backup", At(cluster.Nodes[0]), folder));
        string[] files = [.. Directory.GetFiles(folder, "*.rdb")];
        Assert.Equal(3, files.Length);
        long copied = 0;
        foreach (string file in files)
        {
            using ServerProcess reader = ServerProcess.Redis("--dir", folder, "--dbfilename", Path.GetFileName(file));
            copied += ClusterOfNodes.Call(reader, "DBSIZE").Integer;
        }
        Assert.Equal(Keys, copied);
        Directory.Delete(folder, recursive: true);
    }

    private static string At(ServerProcess node) => $"127.0.0.1:{node.Port}";

    private static void AssertNoError(string output) => Assert.False(
        output.Contains("[ERR]", StringComparison.Ordinal) || output.Contains("replied with error", StringComparison.Ordinal), output);

    private static void AwaitAgreement(ServerProcess node) => FollowingTests.Until(
        () => ClusterOfNodes.Cli("--cluster", "check", At(node)).Contains("All nodes agree", StringComparison.Ordinal), "no agreement", node);

    private static string[] KeysOf(ServerProcess node) => [.. ClusterOfNodes.Call(node, "KEYS", "*").Items!.Select(static key => key.Text!)];

    private static void Fill(ClusterOfNodes cluster)
    {
        for (int i = 0; i < Keys; i++) Assert.Equal("OK", cluster.Follow("SET", $"key:{i}", $"{i}").Text);
    }

    private static void AssertFilled(ClusterOfNodes cluster)
    {
        for (int i = 0; i < Keys; i++) Assert.Equal($"{i}", cluster.Follow("GET", $"key:{i}").Text);
    }
}
