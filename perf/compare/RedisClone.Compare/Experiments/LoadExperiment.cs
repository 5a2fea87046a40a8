using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Starts and fills all servers, and then puts a load on one after the other. The waiting servers are idle and have no connections
/// of the load, so all servers can use the same cores.
/// </summary>
internal sealed class LoadExperiment(Bench bench, Workload workload) : Experiment(bench, workload)
{
    protected override void RunRounds(IReadOnlyList<ServerKind> kinds)
    {
        var subjects = new List<ServerProcess>();
        try
        {
            foreach (ServerKind kind in kinds)
                Attempt(kind, () => subjects.Add(Prepare(kind)));
            for (int round = 1; round <= Options.Rounds; round++)
            {
                foreach (ServerProcess subject in InOrderOf(round, subjects))
                {
                    bool answered = Attempt(subject.Kind, () => RunOne(subject, round));
                    if (answered)
                        continue;
                    subjects.Remove(subject);
                    subject.Dispose();
                }
            }
        }
        finally
        {
            foreach (ServerProcess subject in subjects)
                subject.Dispose();
        }
    }

    private void RunOne(ServerProcess server, int round)
    {
        using ILoad load = OpenLoad(server, round);
        using var watcher = new Watcher(server.Setup.HttpPort);
        server.ResetStatistics();
        Sample sample = Measure(server, Workload.Name, round, () => load.Run(LoadLimit.Lasting(Options.Duration)));
        Record(sample with { Pause = server.LongestPause() });
    }

    private ServerProcess Prepare(ServerKind kind)
    {
        ServerProcess server = Start(kind);
        try
        {
            Fill(server);
            for (int i = 0; i < Workload.Replicas; i++)
                server.AddReplica(LoadCores, Workload).AwaitSynchronisation();
            WarmUp(server);
            return server;
        }
        catch
        {
            server.Dispose();
            throw;
        }
    }
}
