using System.Diagnostics;
using System.Globalization;
using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Kills a primary of a cluster of three primaries and a replica. The duration ends when the replica serves a write of the primary's slots.
/// </summary>
internal sealed class FailPrimaryExperiment(Bench bench, Workload workload) : Experiment(bench, workload)
{
    public const int NodeTimeoutMilliseconds = 2000;

    protected override void RunRounds(IReadOnlyList<ServerKind> kinds) => RunWithNewServers(kinds, RunOne);

    private void RunOne(ServerProcess primary, int round)
    {
        for (int slot = 0; slot < 2; slot++)
            primary.GiveEmptySlot(slot, primary.AddNode(LoadCores, Workload));
        ServerProcess replica = primary.AddNode(LoadCores, Workload);
        replica.Replicate(primary);
        primary.ConfigureAll("cluster-node-timeout", NodeTimeoutMilliseconds.ToString(CultureInfo.InvariantCulture));
        // Each node has pinged the others with the new timeout.
        Thread.Sleep(NodeTimeoutMilliseconds);

        using var client = new RespClient(replica.Setup.Port);
        long killed = Stopwatch.GetTimestamp();
        primary.Kill();
        replica.Await("election", () => client.Ask("SET", "foo", "bar") == "+OK");

        LoadResult result = LoadResult.Nothing with { Elapsed = Stopwatch.GetElapsedTime(killed) };
        Record(new Sample(Workload.Name, replica.Kind.Name, round, result, default));
    }
}
