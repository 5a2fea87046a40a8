using RedisClone.Compare.Load;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>Measures a background save under load.</summary>
internal sealed class SaveExperiment(Bench bench, Workload workload) : BackgroundExperiment(bench, workload)
{
    protected override RespClient Begin(ServerProcess server)
    {
        var watch = new RespClient(server.Setup.Port);
        if (watch.Ask("BGSAVE") is var answer && answer.StartsWith('+'))
            return watch;
        watch.Dispose();
        throw new LoadException($"BGSAVE: {answer}");
    }

    protected override bool GoesOn(RespClient watch) => watch.Figure("persistence", "rdb_bgsave_in_progress") == 1;
}
