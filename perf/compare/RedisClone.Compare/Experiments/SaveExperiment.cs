using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Measures a background save under full load, and the same load before it. The memory is the peak of the proportional memory of
/// the server and its children. It counts a page that a fork shares once, and a page that was copied twice.
/// </summary>
internal sealed class SaveExperiment(Bench bench, Workload workload) : Experiment(bench, workload)
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(5);

    protected override void RunRounds(IReadOnlyList<ServerKind> kinds) => RunWithNewServers(kinds, SaveOne);

    private void SaveOne(ServerProcess server, int round)
    {
        Fill(server);
        WarmUp(server);
        using ILoad load = OpenLoad(server, round);
        Sample before = Measure(server, Workload.BeforeSave, round, () => load.Run(LoadLimit.Lasting(Options.Duration)));
        Record(before with { Resident = server.ProportionalBytes() });

        long peak = 0;
        using var saved = new CancellationTokenSource();
        using var watch = new RespClient(server.Setup.Port);
        string answer = watch.Ask("BGSAVE");
        if (!answer.StartsWith('+'))
            throw new LoadException($"BGSAVE: {answer}");
        var watcher = new Thread(() => peak = AwaitSave(server, watch, saved));
        watcher.Start();
        try
        {
            var untilSaved = new LoadLimit(s_patience, long.MaxValue, saved.Token);
            Sample during = Measure(server, Workload.Name, round, () => load.Run(untilSaved));
            watcher.Join();
            Record(during with { Resident = peak });
        }
        finally
        {
            watcher.Join();
        }
    }

    /// <summary>
    /// Waits until the save ends, and returns the peak of the memory. It reads the memory rarely, because reading the memory map of
    /// a large process delays the page faults of the process.
    /// </summary>
    private static long AwaitSave(ServerProcess server, RespClient watch, CancellationTokenSource saved)
    {
        long peak = 0;
        try
        {
            for (int i = 0; watch.Ask("INFO", "persistence").Contains("rdb_bgsave_in_progress:1", StringComparison.Ordinal); i++)
            {
                Thread.Sleep(50);
                if (i % 20 == 0)
                    peak = Math.Max(peak, server.ProportionalBytes());
            }

            return Math.Max(peak, server.ProportionalBytes());
        }
        catch (IOException)
        {
            // The server has ended. The load fails as well and reports it.
            return peak;
        }
        finally
        {
            saved.Cancel();
        }
    }
}
