using System.Net;
using System.Net.Sockets;
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
        for (int i = 0; i < Keys; i++) cluster.FollowAndConfirm("SET", $"key:{i}", $"{i}");
        ServerProcess failing = cluster.Primaries[0];
        failing.Kill();
        FollowingTests.Until(() => cluster.Primaries.Length == 3, "no replica takes over", cluster.Primaries[0]);
        for (int i = 0; i < Keys; i++) Assert.Equal($"{i}", cluster.Follow("GET", $"key:{i}").Text);
        foreach (ServerProcess node in cluster.Primaries)
            FollowingTests.Until(() => ClusterOfNodes.IsUp(node), "the cluster does not heal", node);
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
                // A node does not repeat a message that it published while a link was down.
                string text = $"{publisher}-{node.Port}";
                FollowingTests.Until(
                    () =>
                    {
                        ClusterOfNodes.Call(cluster.Nodes[publisher], "PUBLISH", "news", text);
                        while (subscriber.Socket.Poll(200_000, SelectMode.SelectRead))
                            if (subscriber.Read()[2].Text == text) return true;
                        return false;
                    },
                    "no message", node);
            }
        }
    }

    /// <summary>A message arrives on a link that opened before the receiver knew the sender.</summary>
    [Fact]
    public void TheFirstMessageOfALinkMayBeAPublishedOne()
    {
        using ServerProcess node = ClusterOfNodes.Start('o'), other = ClusterOfNodes.Start('o');
        Assert.Equal("OK", ClusterOfNodes.Call(node, "CLUSTER", "MEET", "127.0.0.1", $"{other.Port}", $"{BusPort(other)}").Text);
        string sender = ClusterOfNodes.NameOf(other);
        FollowingTests.Until(() => ClusterOfNodes.Call(node, "CLUSTER", "NODES").Text!.Contains(sender, StringComparison.Ordinal), "no handshake", node);
        using RespClient subscriber = node.Connect();
        subscriber.Call("SUBSCRIBE", "news");
        using var link = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        link.Connect(IPAddress.Loopback, BusPort(node));
        link.Send(ForgedMessage.OfPublish(new string('b', 40), "news", "from a stranger"));
        link.Send(ForgedMessage.OfPublish(sender, "news", "from a node"));
        Assert.Equal("from a node", subscriber.Read()[2].Text);
    }

    /// <summary>The port of the bus, from the line "ID IP:PORT@BUSPORT[,NAME] myself,...".</summary>
    private static int BusPort(ServerProcess node)
    {
        string address = ClusterOfNodes.Call(node, "CLUSTER", "NODES").Text!.Split(' ')[1];
        return int.Parse(address[(address.IndexOf('@') + 1)..].Split(',')[0]);
    }

    private static string Check(ServerProcess node) => ClusterOfNodes.Cli("--cluster", "check", $"127.0.0.1:{node.Port}");
}
