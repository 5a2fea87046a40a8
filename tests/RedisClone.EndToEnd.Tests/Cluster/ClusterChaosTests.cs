using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;
using RedisClone.Tests;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>
/// Nodes of a cluster are killed or stopped, or the network between them fails. The cluster heals by itself, its nodes agree about all
/// slots, no two nodes serve a slot in one epoch, and what WAIT has confirmed survives.
/// </summary>
public sealed class ClusterChaosTests(ITestOutputHelper output)
{
    private const int Counters = 10;

    private enum Fault
    {
        Kill,
        Stop,

        /// <summary>All links of a primary are cut.</summary>
        Isolate,

        /// <summary>A primary hears nothing, but speaks.</summary>
        Deafen,

        /// <summary>A primary hears the other nodes, but they do not hear it.</summary>
        Silence,

        /// <summary>The links between two nodes are cut.</summary>
        Part,
    }

    [Theory]
    [InlineData("oooooo", 2, 100)]
    [InlineData("orooro", 3, 100)]
    public void TheClusterHeals(string kinds, int rounds, int inLongRuns)
    {
        using var faults = new BusFaults();
        using var cluster = new ClusterOfNodes(kinds, replicas: 1, faults);
        Random random = Seed.Random(kinds);
        for (int round = 1; round <= LongRun.Times(rounds, inLongRuns); round++)
        {
            for (int i = 0; i < Counters; i++) Assert.Equal(round, cluster.FollowAndConfirm("INCR", $"counter:{i}").Integer);
            ServerProcess victim = cluster.Primaries[random.Next(3)];
            var fault = (Fault)random.Next(6);
            output.WriteLine($"round {round}: {fault} {victim.Port}");
            Begin(fault, cluster, faults, victim, random);
            if (fault is Fault.Kill or Fault.Stop or Fault.Isolate)
            {
                ServerProcess witness = cluster.Nodes.First(node => node != victim);
                FollowingTests.Until(() => HealthyPrimaries(witness) == 3 && !ServesAny(witness, victim.Port), $"no replica takes over, {Seed.Note}", witness);
            }
            else
            {
                Thread.Sleep(random.Next(2 * ClusterOfNodes.NodeTimeout));
            }
            AssertOneOwner(cluster, except: fault == Fault.Stop ? victim : null);
            faults.Heal();
            if (fault == Fault.Kill) cluster.Restart(victim);
            if (fault == Fault.Stop) Signal(victim, "CONT");
            AwaitHealth(cluster);
            AssertOneOwner(cluster, except: null);
            for (int i = 0; i < Counters; i++) Assert.Equal($"{round}", cluster.Follow("GET", $"counter:{i}").Text);
        }
        foreach (ServerProcess node in cluster.Nodes) node.AssertWell();
    }

    private static void Begin(Fault fault, ClusterOfNodes cluster, BusFaults faults, ServerProcess victim, Random random)
    {
        string name = ClusterOfNodes.NameOf(victim);
        switch (fault)
        {
            case Fault.Kill:
                victim.Kill();
                break;
            case Fault.Stop:
                Signal(victim, "STOP");
                break;
            case Fault.Isolate:
                faults.Cut((one, _) => one == name);
                break;
            case Fault.Deafen:
                faults.Hold((_, to) => to == name);
                break;
            case Fault.Silence:
                faults.Hold((from, _) => from == name);
                break;
            default:
                ServerProcess[] others = [.. cluster.Nodes.Where(node => node != victim)];
                string other = ClusterOfNodes.NameOf(others[random.Next(others.Length)]);
                faults.Cut((one, two) => one == name && two == other);
                break;
        }
    }

    private static void AwaitHealth(ClusterOfNodes cluster)
    {
        int count = cluster.Nodes.Count;
        foreach (ServerProcess node in cluster.Nodes) FollowingTests.Until(() => IsWhole(node, count), $"a node does not return, {Seed.Note}", node);
        FollowingTests.Until(() => cluster.Nodes.Select(Owners).Distinct().Count() == 1, $"the nodes do not agree, {Seed.Note}", cluster.Nodes[0]);
        // Each primary gets its replica back, so that the next round may take the primary.
        FollowingTests.Until(() => cluster.Primaries.Length == 3, $"a former primary does not follow, {Seed.Note}", cluster.Nodes[0]);
        foreach (ServerProcess replica in cluster.Nodes.Where(static node => ClusterOfNodes.IsReplica(node)))
            FollowingTests.Until(() => ClusterOfNodes.HasLink(replica), $"no link, {Seed.Note}", replica);
    }

    /// <summary>No two nodes claim a slot for themselves in the same epoch.</summary>
    private static void AssertOneOwner(ClusterOfNodes cluster, ServerProcess? except)
    {
        var owners = new Dictionary<(string Epoch, int Slot), string>();
        foreach (ServerProcess node in cluster.Nodes)
        {
            if (node == except || node.HasExited) continue;
            string[] own = Nodes(node).First(static line => line[2].Contains("myself", StringComparison.Ordinal));
            foreach (string range in own.AsSpan(Math.Min(8, own.Length)))
            {
                string[] ends = range.Split('-');
                for (int slot = int.Parse(ends[0]); slot <= int.Parse(ends[^1]); slot++)
                    Assert.True(owners.TryAdd((own[6], slot), own[0]), $"slot {slot} has two owners in epoch {own[6]}, {Seed.Note}");
            }
        }
    }

    private static string[][] Nodes(ServerProcess at) =>
        [.. ClusterOfNodes.Call(at, "CLUSTER", "NODES").Text!.Split('\n', StringSplitOptions.RemoveEmptyEntries).Select(static line => line.Split(' '))];

    private static bool IsWhole(ServerProcess at, int nodes) =>
        ClusterOfNodes.IsUp(at) && Healthy(at) == nodes;

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
