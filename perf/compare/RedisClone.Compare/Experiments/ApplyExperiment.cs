using System.Diagnostics;
using System.Globalization;
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
        try
        {
            Sample sample = Measure(replica, Workload.Name, round, () => load.Run(LoadLimit.Lasting(Options.Duration)));
            ended.Cancel();
            watcher.Join();
            Record(sample with { Lag = lag });
        }
        finally
        {
            ended.Cancel();
            watcher.Join();
        }
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
                long target = Offset(written, "master_repl_offset:");
                long asked = Stopwatch.GetTimestamp();
                while (Offset(applied, "slave_repl_offset:") < target && !end.IsCancellationRequested) Thread.Sleep(1);
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

    private static long Offset(RespClient client, string field)
    {
        string line = client.Ask("INFO", "replication").Split('\n').First(l => l.StartsWith(field, StringComparison.Ordinal));
        return long.Parse(line.AsSpan(field.Length).Trim(), CultureInfo.InvariantCulture);
    }
}
