using System.Globalization;
using System.Net.Sockets;
using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>The options, the results and the log of a session. All its experiments share them.</summary>
internal sealed record Bench(Options Options, Results Results, TextWriter Log);

/// <summary>
/// Runs one workload on all servers in interleaved rounds (A B C, C B A, ...), so that other work of the machine affects all
/// servers equally. A subclass defines what a round does.
/// </summary>
internal abstract class Experiment(Bench bench, Workload workload)
{
    protected Options Options => bench.Options;

    protected Workload Workload => workload;

    protected IReadOnlyList<int> LoadCores => Options.LoadCores(workload);

    public static Experiment For(Bench bench, Workload workload) => workload.Procedure switch
    {
        Procedure.Load => new LoadExperiment(bench, workload),
        Procedure.Fill => new FillExperiment(bench, workload),
        Procedure.SaveUnderLoad => new SaveExperiment(bench, workload),
        Procedure.SyncUnderLoad => new SyncExperiment(bench, workload),
        Procedure.MoveSlotsUnderLoad => new MoveSlotsExperiment(bench, workload),
        Procedure.FailPrimary => new FailPrimaryExperiment(bench, workload),
        Procedure.Apply => new ApplyExperiment(bench, workload),
        Procedure.Restart => new RestartExperiment(bench, workload),
        Procedure.Cache => new CacheExperiment(bench, workload),
        _ => throw new ArgumentOutOfRangeException(nameof(workload)),
    };

    public void Run(IEnumerable<ServerKind> kinds) =>
        RunRounds([.. kinds.Where(kind =>
            (!workload.ForAllCores || kind.UsesAllCores) && (kind.OnlyGroup is null || kind.OnlyGroup == workload.Group) &&
            (workload.IsForAll || !kind.AloneOnly))]);

    protected abstract void RunRounds(IReadOnlyList<ServerKind> kinds);

    /// <summary>Returns the servers in the order of a round, which alternates, so that no server is always the first.</summary>
    protected static IReadOnlyList<T> InOrderOf<T>(int round, IEnumerable<T> all) => round % 2 == 1 ? [.. all] : [.. all.Reverse()];

    /// <summary>Runs an action. If it fails, the report contains the reason, and the workload continues with the other servers.</summary>
    protected bool Attempt(ServerKind kind, Action action)
    {
        try
        {
            action();
            return true;
        }
        catch (Exception e) when (e is LoadException or IOException or SocketException)
        {
            bench.Log.WriteLine($"  {kind.Name}: {e.Message}");
            bench.Results.AddFailure(workload.Name, kind.Name, e.Message);
            return false;
        }
    }

    /// <summary>Runs the rounds, each with a new server of each kind.</summary>
    protected void RunWithNewServers(IReadOnlyList<ServerKind> kinds, Action<ServerProcess, int> run)
    {
        for (int round = 1; round <= Options.FillRounds; round++)
        {
            foreach (ServerKind kind in InOrderOf(round, kinds))
            {
                Attempt(kind, () =>
                {
                    using ServerProcess server = Start(kind);
                    run(server, round);
                });
            }
        }
    }

    /// <summary>Starts the server under measurement. A node of a cluster has all slots.</summary>
    protected ServerProcess Start(ServerKind kind)
    {
        ServerProcess server = ServerProcess.Start(kind, Options.DataDirectory, Options.ServerCores(workload.ServerCores), workload);
        try
        {
            if (workload.InCluster)
                server.OwnAllSlots();
            return server;
        }
        catch
        {
            server.Dispose();
            throw;
        }
    }

    /// <summary>Sends all data of the workload. Returns the result of the last fill.</summary>
    protected LoadResult Fill(ServerProcess server)
    {
        LoadResult result = LoadResult.Nothing;
        foreach (Fill fill in workload.Data)
        {
            using var generator = new LoadGenerator(
                server.Setup.EndPoint, new LoadPlan([new(fill.Request)], fill.Connections, fill.Pipeline));
            result = generator.Run(LoadLimit.Sending(fill.Requests));
        }

        return result;
    }

    protected void WarmUp(ServerProcess server)
    {
        using ILoad load = OpenLoad(server, round: 0);
        using var watcher = new Watcher(server.Setup.HttpPort);
        load.Run(LoadLimit.Lasting(Options.WarmUp));
        bench.Log.WriteLine($"  {server.Kind.Name}: ready");
    }

    /// <summary>Returns the load of the workload with its connections open. The number of the round is the seed of its keys.</summary>
    protected ILoad OpenLoad(ServerProcess server, int round) => workload.ByMemtier
        ? new MemtierLoad(Options.Memtier!, server.Setup, workload.Load!, LoadCores)
        : new LoadGenerator(server.Setup.EndPoint, workload.Load!, LoadCores.Count, round);

    /// <summary>Runs work and measures the resources that the server used for it.</summary>
    protected static Sample Measure(ServerProcess server, string name, int round, Func<LoadResult> work)
    {
        long disk = server.DiskBytes();
        CpuTime before = server.Cpu();
        LoadResult load = work();
        return new Sample(name, server.Kind.Name, round, load, server.Cpu() - before)
        {
            StartTime = server.StartTime,
            Resident = server.ResidentBytes(),
            PeakResident = server.PeakResidentBytes(),
            Disk = server.DiskBytes() - disk,
        };
    }

    protected void Record(Sample sample)
    {
        bench.Results.Add(sample);
        bench.Log.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"  {sample.Round} {sample.Server}: {sample.CpuMicroseconds:0.00} µs/op, {sample.Throughput:N0} op/s, " +
            $"p99.9 {sample.Load.Latency.P999 / 1e3:N0} µs, {sample.Resident / 1e6:N0} MB, " +
            $"start {sample.StartTime.TotalMilliseconds:N0} ms, {sample.Load.Elapsed.TotalSeconds:0.00} s" +
            $"{(sample.HitRatio is { } hits ? $", {hits:0.00%} hits, {sample.Keys:N0} keys" : "")}"));
    }
}
