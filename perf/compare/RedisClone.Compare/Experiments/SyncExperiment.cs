using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Measures a primary under load while a replica of the same kind, on the cores of the load, copies all data. The duration ends when
/// the replica follows the stream.
/// </summary>
internal sealed class SyncExperiment(Bench bench, Workload workload) : BackgroundExperiment(bench, workload)
{
    protected override RespClient Begin(ServerProcess server) => new(server.AddReplica(LoadCores, Workload).Setup.Port);

    protected override bool GoesOn(RespClient watch) => !ServerProcess.IsSynchronised(watch);
}
