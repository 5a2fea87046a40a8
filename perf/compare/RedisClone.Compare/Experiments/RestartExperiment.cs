using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Fills a server, shuts it down cleanly and starts it again on the same directory. Measures the time until the server answers
/// with all its data. Without a journal, the server loads the file that SAVE wrote.
/// </summary>
internal sealed class RestartExperiment(Bench bench, Workload workload) : Experiment(bench, workload)
{
    protected override void RunRounds(IReadOnlyList<ServerKind> kinds) => RunWithNewServers(kinds, RestartOne);

    private void RestartOne(ServerProcess first, int round)
    {
        Fill(first);
        string size;
        using (var client = new RespClient(first.Setup.Port))
        {
            size = client.Ask("DBSIZE");
            if (Workload.Durability == Durability.None && client.Ask("SAVE") is var saved && saved != "+OK")
                throw new LoadException($"SAVE: {saved}");
        }

        first.ShutDown();
        using ServerProcess second = ServerProcess.Start(first.Kind, first.Setup);
        using var check = new RespClient(second.Setup.Port);
        if (check.Ask("DBSIZE") is var found && found != size)
            throw new LoadException($"{found} keys after the restart, {size} before");
        Record(Measure(second, Workload.Name, round, () => LoadResult.Nothing));
    }
}
