using RedisClone.EndToEnd.Tests.Clients;
using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>The cluster clients of redis-py and ioredis while slots move and roles change.</summary>
public sealed class ClusterClientTests
{
    [Theory]
    [InlineData("node", "ioredis-cluster.mjs")]
    [InlineData("/usr/bin/python3", "redis_py_cluster.py")]
    public async Task AClientFollowsItsKeys(string program, string script)
    {
        using var cluster = new ClusterOfNodes("oorooo", replicas: 1);
        ServerProcess first = cluster.Primaries[0], second = cluster.Primaries[1];
        using var client = new ClientProgram(program, [script, "400", .. cluster.Nodes.Select(node => $"{node.Port}")]);
        await client.ReadUntil("ready\n");
        ClusterOfNodes.Cli("--cluster", "reshard", $"127.0.0.1:{first.Port}", "--cluster-from", ClusterOfNodes.NameOf(first), "--cluster-to",
            ClusterOfNodes.NameOf(second), "--cluster-slots", "200", "--cluster-yes");
        ServerProcess replica = cluster.Nodes.First(node => ClusterOfNodes.IsReplica(node));
        ClusterOfNodes.Call(replica, "CLUSTER", "FAILOVER");
        FollowingTests.Until(() => !ClusterOfNodes.IsReplica(replica), "the replica does not take over", replica);
        Assert.Contains("tour complete\n", await client.Finish(), StringComparison.Ordinal);
    }
}
