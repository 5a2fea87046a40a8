using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Measures a primary under load while a replica of the same kind, on the cores of the load, copies all data. The duration ends when
/// the replica follows the stream.
/// </summary>
internal sealed class SyncExperiment(Bench bench, Workload workload) : BackgroundExperiment(bench, workload)
{
    protected override Func<bool> Begin(ServerProcess server)
    {
        var client = new RespClient(server.AddReplica(LoadCores, Workload).Setup.Port);
        return () => !client.Ask("INFO", "replication").Contains("master_link_status:up", StringComparison.Ordinal);
    }
}
