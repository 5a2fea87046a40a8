using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Measures work that a server does in the background under load, and the same load before it. The memory is the peak of the
/// proportional memory of the server and its children. It counts a page that a fork shares once, and a page that was copied twice.
/// </summary>
internal abstract class BackgroundExperiment(Bench bench, Workload workload) : Experiment(bench, workload)
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(5);

    /// <summary>Begins the work. Returns a connection to the server that knows whether the work goes on.</summary>
    protected abstract RespClient Begin(ServerProcess server);

    protected abstract bool GoesOn(RespClient watch);

    protected override void RunRounds(IReadOnlyList<ServerKind> kinds) => RunWithNewServers(kinds, RunOne);

    private void RunOne(ServerProcess server, int round)
    {
        Fill(server);
        WarmUp(server);
        using ILoad load = OpenLoad(server, round);
        Sample before = Measure(server, Workload.Before, round, () => load.Run(LoadLimit.Lasting(Options.Duration)));
        Record(before with { Resident = server.ProportionalBytes() });

        long peak = 0;
        string? failure = null;
        using var ended = new CancellationTokenSource();
        using RespClient watch = Begin(server);
        var watcher = new Thread(() => (peak, failure) = AwaitEnd(server, watch, ended));
        watcher.Start();
        try
        {
            var untilEnded = new LoadLimit(s_patience, long.MaxValue, ended.Token);
            Sample during = Measure(server, Workload.Name, round, () => load.Run(untilEnded));
            watcher.Join();
            if (failure is not null)
                throw new LoadException(failure);
            Record(during with { Resident = peak });
        }
        finally
        {
            watcher.Join();
        }
    }

    /// <summary>
    /// Waits until the work ends, and returns the peak of the memory, and the failure if it failed. It reads the memory rarely, because
    /// reading the memory map of a large process delays the page faults of the process.
    /// </summary>
    private (long Peak, string? Failure) AwaitEnd(ServerProcess server, RespClient watch, CancellationTokenSource ended)
    {
        long peak = 0;
        try
        {
            for (int i = 0; GoesOn(watch); i++)
            {
                Thread.Sleep(50);
                if (i % 20 == 0)
                    peak = Math.Max(peak, server.ProportionalBytes());
            }

            return (Math.Max(peak, server.ProportionalBytes()), null);
        }
        catch (IOException e)
        {
            return (peak, e.Message);
        }
        finally
        {
            ended.Cancel();
        }
    }
}
