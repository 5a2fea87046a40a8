using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>Clusters of this server's and redis-server's nodes, operated by redis-cli.</summary>
public sealed class MixedClusterTests
{
    private const int Keys = 60;

    /// <summary>redis-cli moves slots with their keys in all directions, and every node knows where each key is.</summary>
    [Fact]
    public void SlotsMoveBetweenNodes()
    {
        using var cluster = new ClusterOfNodes("oro", replicas: 0);
        for (int i = 0; i < Keys; i++) Assert.Equal("OK", cluster.Follow("SET", $"key:{i}", $"{i}").Text);
        IReadOnlyList<ServerProcess> nodes = cluster.Nodes;
        foreach ((int from, int to) in new[] { (0, 1), (1, 2), (2, 0) })
        {
            string output = ClusterOfNodes.Cli(
                "--cluster", "reshard", $"127.0.0.1:{nodes[0].Port}", "--cluster-from", ClusterOfNodes.NameOf(nodes[from]),
                "--cluster-to", ClusterOfNodes.NameOf(nodes[to]), "--cluster-slots", "300", "--cluster-yes");
            Assert.False(output.Contains("[ERR]", StringComparison.Ordinal), output);
            FollowingTests.Until(() => Check(nodes[0]).Contains("All nodes agree", StringComparison.Ordinal), "no agreement", nodes[0]);
        }
        for (int i = 0; i < Keys; i++) Assert.Equal($"{i}", cluster.Follow("GET", $"key:{i}").Text);
        Assert.Contains("All 16384 slots covered", Check(nodes[1]), StringComparison.Ordinal);
        nodes[0].AssertWell();
        nodes[2].AssertWell();
    }

    /// <summary>The replicas of three primaries take over, whichever server each of the two is.</summary>
    [Fact]
    public void ReplicasTakeOverWhenAPrimaryFails()
    {
        using var cluster = new ClusterOfNodes("oroooo", replicas: 1);
        for (int i = 0; i < Keys; i++) cluster.Follow("SET", $"key:{i}", $"{i}");
        foreach (ServerProcess primary in cluster.Primaries)
        {
            using (RespClient client = primary.Connect()) client.Call("WAIT", "1", "5000");
        }
        ServerProcess failing = cluster.Primaries[0];
        failing.Kill();
        FollowingTests.Until(() => cluster.Primaries.Length == 3, "no replica takes over", cluster.Primaries[0]);
        for (int i = 0; i < Keys; i++) Assert.Equal($"{i}", cluster.Follow("GET", $"key:{i}").Text);
        foreach (ServerProcess node in cluster.Primaries)
            FollowingTests.Until(() => ClusterOfNodes.Info(node).Contains("cluster_state:ok", StringComparison.Ordinal), "the cluster does not heal", node);
    }

    /// <summary>A manual failover loses no write that a client has confirmed.</summary>
    [Fact]
    public async Task AManualFailoverLosesNothing()
    {
        using var cluster = new ClusterOfNodes("oorooo", replicas: 1);
        using var stop = new CancellationTokenSource();
        int count = 0;
        Task writer = Task.Factory.StartNew(
            () =>
            {
                while (!stop.IsCancellationRequested)
                {
                    Assert.Equal(count + 1, cluster.Follow("INCR", "counter").Integer);
                    count++;
                }
            },
            stop.Token, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        foreach (ServerProcess replica in cluster.Nodes.Where(node => ClusterOfNodes.IsReplica(node)).ToArray())
        {
            int before = Volatile.Read(ref count);
            FollowingTests.Until(() => writer.IsCompleted || Volatile.Read(ref count) > before, "no write", replica);
            Assert.Equal("OK", ClusterOfNodes.Call(replica, "CLUSTER", "FAILOVER").Text);
            FollowingTests.Until(() => !ClusterOfNodes.IsReplica(replica), "the replica does not take over", replica);
        }
        await stop.CancelAsync();
        await writer;
        Assert.Equal($"{count}", cluster.Follow("GET", "counter").Text);
    }

    /// <summary>A message that is published at one node reaches the subscribers of all, of either server.</summary>
    [Fact]
    public void MessagesReachAllNodes()
    {
        using var cluster = new ClusterOfNodes("oro", replicas: 0);
        for (int publisher = 0; publisher < 2; publisher++)
        {
            foreach (ServerProcess node in cluster.Nodes)
            {
                using RespClient subscriber = node.Connect();
                subscriber.Call("SUBSCRIBE", "news");
                string text = $"{publisher}-{node.Port}";
                ClusterOfNodes.Call(cluster.Nodes[publisher], "PUBLISH", "news", text);
                // A message for an earlier subscriber may arrive late.
                string? last = null;
                for (int reads = 0; reads < 6 && last != text; reads++) last = subscriber.Read()[2].Text;
                Assert.Equal(text, last);
            }
        }
    }

    private static string Check(ServerProcess node) => ClusterOfNodes.Cli("--cluster", "check", $"127.0.0.1:{node.Port}");
}
