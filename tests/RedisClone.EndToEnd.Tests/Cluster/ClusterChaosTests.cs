using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;
using RedisClone.Tests;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>Nodes of a mixed cluster are killed or stopped in turn. The cluster heals by itself, and its nodes agree about all slots.</summary>
public sealed class ClusterChaosTests
{
    private const int Rounds = 5, Counters = 10;

    [Fact]
    public void TheClusterHeals()
    {
        using var cluster = new ClusterOfNodes("orooro", replicas: 1);
        Random random = Seed.Random("cluster");
        for (int round = 1; round <= Rounds; round++)
        {
            for (int i = 0; i < Counters; i++) Assert.Equal(round, cluster.Follow("INCR", $"counter:{i}").Integer);
            foreach (ServerProcess primary in cluster.Primaries) ClusterOfNodes.Call(primary, "WAIT", "1", "5000");
            ServerProcess victim = cluster.Primaries[random.Next(3)];
            int before = cluster.Nodes.Count;
            bool isKilled = random.Next(2) == 0;
            if (isKilled) victim.Kill();
            else Signal(victim, "STOP");
            ServerProcess witness = cluster.Nodes.First(node => node != victim);
            FollowingTests.Until(() => HealthyPrimaries(witness) == 3 && !ServesAny(witness, victim.Port), "no replica takes over", witness);
            if (isKilled) cluster.Restart(victim);
            else Signal(victim, "CONT");
            foreach (ServerProcess node in cluster.Nodes) FollowingTests.Until(() => IsWhole(node, before), $"a node does not return, {Seed.Note}", node);
            FollowingTests.Until(() => cluster.Nodes.Select(node => Owners(node)).Distinct().Count() == 1, "the nodes do not agree", witness);
            for (int i = 0; i < Counters; i++) Assert.Equal($"{round}", cluster.Follow("GET", $"counter:{i}").Text);
            foreach (ServerProcess replica in cluster.Nodes.Where(node => ClusterOfNodes.IsReplica(node)))
                FollowingTests.Until(() => ClusterOfNodes.HasLink(replica), "no link", replica);
        }
    }

    private static string[][] Nodes(ServerProcess at) =>
        [.. ClusterOfNodes.Call(at, "CLUSTER", "NODES").Text!.Split('\n', StringSplitOptions.RemoveEmptyEntries).Select(static line => line.Split(' '))];

    private static bool IsWhole(ServerProcess at, int nodes) =>
        ClusterOfNodes.Info(at).Contains("cluster_state:ok", StringComparison.Ordinal) && Healthy(at) == nodes;

    private static bool Serves(string[] node) => node.Length > 8;

    private static int Healthy(ServerProcess at) => Nodes(at).Count(static node => !node[2].Contains("fail", StringComparison.Ordinal));

    private static int HealthyPrimaries(ServerProcess at) =>
        Nodes(at).Count(static node => Serves(node) && !node[2].Contains("fail", StringComparison.Ordinal));

    private static bool ServesAny(ServerProcess at, int port) =>
        Array.Exists(Nodes(at), node => node[1].Contains($":{port}@", StringComparison.Ordinal) && Serves(node));

    /// <summary>The slots and their owners, as one node sees them.</summary>
    private static string Owners(ServerProcess at) =>
        string.Join(';', Nodes(at).Where(Serves).Select(static node => node[0] + string.Join(',', node[8..])).Order(StringComparer.Ordinal));

    private static void Signal(ServerProcess server, string name)
    {
        using Process kill = Process.Start("kill", [$"-{name}", $"{server.Id}"]);
        kill.WaitForExit();
    }
}
