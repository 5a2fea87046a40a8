using System.Globalization;
using System.Net.Sockets;
using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>What one measuring session hands to every experiment.</summary>
internal sealed record Bench(Options Options, Results Results, TextWriter Log);

/// <summary>
/// One workload, run on all servers in interleaved rounds (A B C, C B A, ...), so that whatever else the machine does
/// hits all of them alike. What a round does is the subclasses' business.
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
        Procedure.Restart => new RestartExperiment(bench, workload),
        Procedure.Cache => new CacheExperiment(bench, workload),
        _ => throw new ArgumentOutOfRangeException(nameof(workload)),
    };

    public void Run(IEnumerable<ServerKind> kinds) =>
        RunRounds([.. kinds.Where(kind => !workload.ForAllCores || kind.UsesAllCores)]);

    protected abstract void RunRounds(IReadOnlyList<ServerKind> kinds);

    /// <summary>The order of a round: forwards and backwards in turn, so that no server is always the first.</summary>
    protected static IReadOnlyList<T> InTurn<T>(int round, IEnumerable<T> all) => round % 2 == 1 ? [.. all] : [.. all.Reverse()];

    /// <summary>A server that fails at a workload leaves it, with the reason in the report; the others go on.</summary>
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

    /// <summary>So many rounds of a server of its own for each kind, in turn.</summary>
    protected void RunAfresh(IReadOnlyList<ServerKind> kinds, Action<ServerProcess, int> one)
    {
        for (int round = 1; round <= Options.FillRounds; round++)
        {
            foreach (ServerKind kind in InTurn(round, kinds))
            {
                Attempt(kind, () =>
                {
                    using ServerProcess server = Start(kind);
                    one(server, round);
                });
            }
        }
    }

    protected ServerProcess Start(ServerKind kind) =>
        ServerProcess.Start(kind, Options.DataDirectory, Options.ServerCores(workload.ServerCores), workload.Durability);

    /// <summary>Sends all the workload's data; the result is the last filling's.</summary>
    protected LoadResult Fill(ServerProcess server)
    {
        LoadResult result = LoadResult.Nothing;
        foreach (Fill fill in workload.Data)
        {
            using var generator = new LoadGenerator(
                server.Setup.Port, new LoadPlan([new(fill.Request)], fill.Connections, fill.Pipeline));
            result = generator.Run(LoadLimit.Sending(fill.Requests));
        }

        return result;
    }

    /// <summary>The load of the workload, warmed up.</summary>
    protected ILoad PrepareLoad(ServerProcess server)
    {
        ILoad load = workload.ByMemtier
            ? new MemtierLoad(Options.Memtier!, server.Setup.Port, workload.Load!, LoadCores)
            : new LoadGenerator(server.Setup.Port, workload.Load!, LoadCores.Count);
        load.Run(LoadLimit.Lasting(Options.WarmUp));
        bench.Log.WriteLine($"  {server.Kind.Name}: ready");
        return load;
    }

    /// <summary>Runs a piece of work and takes what the server spent on it.</summary>
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
            $"start {sample.StartTime.TotalMilliseconds:N0} ms{(sample.HitRatio is { } hits ? $", {hits:0.00%} hits, {sample.Keys:N0} keys" : "")}"));
    }
}
