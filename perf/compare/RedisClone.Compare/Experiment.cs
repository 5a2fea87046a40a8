using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare;

/// <summary>
/// Runs one workload on all servers in interleaved rounds (A B C, C B A, ...), so that whatever else the machine does
/// hits all of them alike. Servers that wait for their turn do nothing, and so share the server's cores.
/// </summary>
internal sealed class Experiment(Options options, Workload workload, Results results, TextWriter log)
{
    private readonly List<Subject> _subjects = [];

    public void Run(IEnumerable<ServerKind> kinds)
    {
        ServerKind[] fitting = [.. kinds.Where(k => !workload.ForAllCores || k.UsesAllCores)];
        if (workload.Load is null)
            MeasureFilling(fitting);
        else
            MeasureLoad(fitting, workload.Load);
    }

    private void MeasureLoad(ServerKind[] kinds, LoadPlan plan)
    {
        try
        {
            foreach (ServerKind kind in kinds)
                Attempt(kind, () => _subjects.Add(Prepare(kind, plan)));
            for (int round = 1; round <= options.Rounds; round++)
            {
                foreach (Subject subject in round % 2 == 1 ? [.. _subjects] : _subjects.AsEnumerable().Reverse().ToArray())
                {
                    if (!Attempt(subject.Server.Kind, () => results.Add(Measure(subject, round))))
                        _subjects.Remove(subject);
                }
            }
        }
        finally
        {
            foreach (Subject subject in _subjects)
                subject.Dispose();
        }
    }

    private void MeasureFilling(ServerKind[] kinds)
    {
        for (int round = 1; round <= options.FillRounds; round++)
        {
            foreach (ServerKind kind in round % 2 == 1 ? kinds : kinds.AsEnumerable().Reverse())
            {
                Attempt(kind, () =>
                {
                    using ServerProcess server = Start(kind);
                    results.Add(MeasureFilling(server, round));
                });
            }
        }
    }

    private Subject Prepare(ServerKind kind, LoadPlan plan)
    {
        ServerProcess server = Start(kind);
        try
        {
            foreach (Fill fill in workload.Data)
                Send(server, fill);
            ILoad load = workload.ByMemtier
                ? new MemtierLoad(options.Memtier!, server.Setup.Port, plan, LoadCores)
                : new LoadGenerator(server.Setup.Port, plan, LoadCores.Count);
            load.Run(LoadLimit.Lasting(options.WarmUp));
            log.WriteLine($"  {kind.Name}: ready");
            return new Subject(server, load);
        }
        catch
        {
            server.Dispose();
            throw;
        }
    }

    private Sample Measure(Subject subject, int round)
    {
        ServerProcess server = subject.Server;
        long disk = server.DiskBytes();
        CpuTime before = server.Cpu();
        LoadResult load = subject.Load.Run(LoadLimit.Lasting(options.Duration));
        return Log(new Sample(workload.Name, server.Kind.Name, round, load, server.Cpu() - before)
        {
            StartTime = server.StartTime,
            Resident = server.ResidentBytes(),
            PeakResident = server.PeakResidentBytes(),
            Disk = server.DiskBytes() - disk,
        });
    }

    private Sample MeasureFilling(ServerProcess server, int round)
    {
        LoadResult load = new(0, TimeSpan.FromSeconds(1), 0, default);
        CpuTime before = server.Cpu();
        foreach (Fill fill in workload.Data)
            load = Send(server, fill);
        CpuTime filled = server.Cpu();

        // Memory is compared at rest: a collector or an allocator may still give back what the filling needed.
        Thread.Sleep(options.Settling);
        return Log(new Sample(workload.Name, server.Kind.Name, round, load, filled - before)
        {
            StartTime = server.StartTime,
            Resident = server.ResidentBytes(),
            PeakResident = server.PeakResidentBytes(),
            Disk = server.DiskBytes(),
            IdlePercent = (server.Cpu() - filled).Total / (options.Settling.TotalMilliseconds * 1e4),
        });
    }

    private static LoadResult Send(ServerProcess server, Fill fill)
    {
        using var generator = new LoadGenerator(server.Setup.Port, new LoadPlan([new(fill.Request)], fill.Connections, fill.Pipeline));
        return generator.Run(LoadLimit.Sending(fill.Requests));
    }

    private ServerProcess Start(ServerKind kind) =>
        ServerProcess.Start(kind, options.DataDirectory, options.ServerCores(workload.ServerCores), workload.Durability);

    private IReadOnlyList<int> LoadCores => options.LoadCores(workload.ServerCores);

    /// <summary>A server that fails at a workload leaves it, with the reason in the report; the others go on.</summary>
    private bool Attempt(ServerKind kind, Action action)
    {
        try
        {
            action();
            return true;
        }
        catch (Exception e) when (e is LoadException or IOException or System.Net.Sockets.SocketException)
        {
            log.WriteLine($"  {kind.Name}: {e.Message}");
            results.AddFailure(workload.Name, kind.Name, e.Message);
            return false;
        }
    }

    private Sample Log(Sample sample)
    {
        log.WriteLine(string.Create(System.Globalization.CultureInfo.InvariantCulture,
            $"  {sample.Round} {sample.Server}: {sample.CpuMicroseconds:0.00} µs/op, {sample.Throughput:N0} op/s, " +
            $"p99.9 {sample.Load.Latency.P999 / 1e3:N0} µs, {sample.Resident / 1e6:N0} MB"));
        return sample;
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
