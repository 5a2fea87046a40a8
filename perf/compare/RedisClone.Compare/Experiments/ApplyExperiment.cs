using System.Diagnostics;
using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Measures a replica that applies the stream of a primary of the same kind. The primary and its load have the cores of the load. The
/// lag is the longest time after which the replica had applied what the primary had written.
/// </summary>
internal sealed class ApplyExperiment(Bench bench, Workload workload) : Experiment(bench, workload)
{
    protected override void RunRounds(IReadOnlyList<ServerKind> kinds) => RunWithNewServers(kinds, RunOne);

    private void RunOne(ServerProcess replica, int round)
    {
        using ServerProcess primary = ServerProcess.Start(replica.Kind, Options.DataDirectory, LoadCores, Workload);
        Fill(primary);
        replica.Follow(primary);
        replica.AwaitSynchronisation();
        WarmUp(primary);
        using ILoad load = OpenLoad(primary, round);
        using var ended = new CancellationTokenSource();
        TimeSpan lag = default;
        var watcher = new Thread(() => lag = LongestLag(primary, replica, ended.Token));
        watcher.Start();
        Sample sample;
        try
        {
            sample = Measure(replica, Workload.Name, round, () => load.Run(LoadLimit.Lasting(Options.Duration)));
        }
        finally
        {
            ended.Cancel();
            watcher.Join();
        }
        Record(sample with { Lag = lag });
    }

    private static TimeSpan LongestLag(ServerProcess primary, ServerProcess replica, CancellationToken end)
    {
        using var written = new RespClient(primary.Setup.Port);
        using var applied = new RespClient(replica.Setup.Port);
        TimeSpan longest = default;
        try
        {
            while (!end.IsCancellationRequested)
            {
                long target = written.Figure("replication", "master_repl_offset")!.Value;
                long asked = Stopwatch.GetTimestamp();
                while (applied.Figure("replication", "slave_repl_offset")!.Value < target && !end.IsCancellationRequested) Thread.Sleep(1);
                TimeSpan lag = Stopwatch.GetElapsedTime(asked);
                if (lag > longest) longest = lag;
                Thread.Sleep(20);
            }
        }
        catch (IOException)
        {
            // A server has ended. The load or the figures of the replica fail as well.
        }
        return longest;
    }
}
