using System.Diagnostics;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Measures a node of a cluster while half of its slots move to an empty node of the same kind, on the cores of the load. The load uses a
/// slot that stays. The duration ends when the other node serves the slots.
/// </summary>
internal sealed class MoveSlotsExperiment(Bench bench, Workload workload) : BackgroundExperiment(bench, workload)
{
    private const int Moved = 8192;

    private Process? _mover;

    protected override RespClient Begin(ServerProcess server)
    {
        ServerProcess target = server.AddNode(LoadCores, Workload);
        _mover?.Dispose();
        _mover = target.BeginToMoveSlots(server, Moved, LoadCores);
        return new RespClient(target.Setup.Port);
    }

    protected override bool GoesOn(RespClient watch)
    {
        if (watch.Ask("CLUSTER", "NODES").Split('\n').Any(line => line.Contains("myself") && line.EndsWith($" 0-{Moved - 1}", StringComparison.Ordinal)))
            return false;
        if (_mover is { HasExited: true, ExitCode: not 0 })
            throw new IOException("redis-cli cannot move the slots");
        return true;
    }
}
