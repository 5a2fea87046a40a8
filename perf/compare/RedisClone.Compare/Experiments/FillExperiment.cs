using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>A new server each round: what it costs to fill it, what it holds then, and what it does when left alone.</summary>
internal sealed class FillExperiment(Bench bench, Workload workload) : Experiment(bench, workload)
{
    protected override void RunRounds(IReadOnlyList<ServerKind> kinds) => RunAfresh(kinds, FillOne);

    private void FillOne(ServerProcess server, int round)
    {
        Sample sample = Measure(server, Workload.Name, round, () => Fill(server));

        // Memory is compared at rest: a collector or an allocator may still give back what the filling needed.
        CpuTime filled = server.Cpu();
        Thread.Sleep(Options.Settling);
        Record(sample with
        {
            Resident = server.ResidentBytes(),
            IdlePercent = (server.Cpu() - filled).Total / (Options.Settling.TotalMilliseconds * 1e4),
        });
    }
}
