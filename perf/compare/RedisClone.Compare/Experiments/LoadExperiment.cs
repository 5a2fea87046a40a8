using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Starts and fills all servers, and then puts a load on one after the other. The waiting servers are idle, so all servers can
/// use the same cores.
/// </summary>
internal sealed class LoadExperiment(Bench bench, Workload workload) : Experiment(bench, workload)
{
    protected override void RunRounds(IReadOnlyList<ServerKind> kinds)
    {
        var subjects = new List<Subject>();
        try
        {
            foreach (ServerKind kind in kinds)
                Attempt(kind, () => subjects.Add(Prepare(kind)));
            for (int round = 1; round <= Options.Rounds; round++)
            {
                foreach (Subject subject in InOrderOf(round, subjects))
                {
                    bool answered = Attempt(subject.Server.Kind, () => RunOne(subject, round));
                    if (answered)
                        continue;
                    subjects.Remove(subject);
                    subject.Dispose();
                }
            }
        }
        finally
        {
            foreach (Subject subject in subjects)
                subject.Dispose();
        }
    }

    private void RunOne(Subject subject, int round)
    {
        subject.Server.ResetStatistics();
        Sample sample = Measure(subject.Server, Workload.Name, round, () => subject.Load.Run(LoadLimit.Lasting(Options.Duration)));
        Record(sample with { Pause = subject.Server.LongestPause() });
    }

    private Subject Prepare(ServerKind kind)
    {
        ServerProcess server = Start(kind);
        try
        {
            Fill(server);
            return new Subject(server, PrepareLoad(server));
        }
        catch
        {
            server.Dispose();
            throw;
        }
    }

    private sealed record Subject(ServerProcess Server, ILoad Load) : IDisposable
    {
        public void Dispose()
        {
            Load.Dispose();
            Server.Dispose();
        }
    }
}
