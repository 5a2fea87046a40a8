using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Fills a new server in each round, and measures the cost of the fill, the memory after it, and the processor time of the idle
/// server.
/// </summary>
internal sealed class FillExperiment(Bench bench, Workload workload) : Experiment(bench, workload)
{
    protected override void RunRounds(IReadOnlyList<ServerKind> kinds) => RunWithNewServers(kinds, FillOne);

    private void FillOne(ServerProcess server, int round)
    {
        Sample sample = Measure(server, Workload.Name, round, () => Fill(server));

        // A collector or an allocator may still return memory after the fill, so the memory is read after a pause.
        CpuTime filled = server.Cpu();
        Thread.Sleep(Options.Settling);
        Record(sample with
        {
            Resident = server.ResidentBytes(),
            IdlePercent = (server.Cpu() - filled).Total / (Options.Settling.TotalMilliseconds * 1e4),
        });
    }
}
