using RedisClone.Compare.Load;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>Measures a background save under load.</summary>
internal sealed class SaveExperiment(Bench bench, Workload workload) : BackgroundExperiment(bench, workload)
{
    protected override Func<bool> Begin(ServerProcess server)
    {
        var client = new RespClient(server.Setup.Port);
        string answer = client.Ask("BGSAVE");
        return answer.StartsWith('+')
            ? () => client.Ask("INFO", "persistence").Contains("rdb_bgsave_in_progress:1", StringComparison.Ordinal)
            : throw new LoadException($"BGSAVE: {answer}");
    }
}
