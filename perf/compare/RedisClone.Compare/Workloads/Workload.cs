using RedisClone.Compare.Load;
using RedisClone.Compare.Servers;

namespace RedisClone.Compare.Workloads;

/// <summary>Data that is there before a load: one request line sent so many times.</summary>
internal sealed record Fill(string Request, long Requests)
{
    public int Connections { get; init; } = 8;

    public int Pipeline { get; init; } = 50;
}

/// <summary>What a round does with a server, see the experiment of that name.</summary>
internal enum Procedure
{
    Load,
    Fill,
    SaveUnderLoad,
    Restart,
    Cache,
}

/// <summary>A server as a cache: so many keys are asked for by a skewed trace, and it may hold less than all of them.</summary>
internal sealed record Cache(string Policy, int Keys, int ValueBytes, long MaxMemory, int Lookups);

/// <summary>One row of the comparison: the data, and what is done on it. Without a load the filling is measured.</summary>
internal sealed record Workload(string Name, string Group, IReadOnlyList<Fill> Data, LoadPlan? Load)
{
    public Procedure Procedure { get; init; } = Load is null ? Procedure.Fill : Procedure.Load;

    /// <summary>Under this name stands what the load did before the save.</summary>
    public string BeforeSave => $"{Name}-before";

    public Cache? Cache { get; init; }

    public Durability Durability { get; init; }

    public int ServerCores { get; init; } = 1;

    /// <summary>The load runs on the server's own cores, so that rows of different numbers of cores are alike in that.</summary>
    public bool LoadSharesCores { get; init; }

    /// <summary>Leaves out the servers that would not use the further cores.</summary>
    public bool ForAllCores { get; init; }

    /// <summary>Sent by memtier_benchmark instead of our own generator.</summary>
    public bool ByMemtier { get; init; }

    public IReadOnlyList<Goal> Goals { get; init; } = [];

    /// <summary>The same shape with little data, for a quick look at whether it works.</summary>
    public Workload Small() => this with
    {
        Data = [.. Data.Select(f => f with { Requests = Math.Min(f.Requests, Math.Max(1_000, f.Requests / 100)) })],
        Load = Load is null ? null : Load with { RatePerSecond = Load.RatePerSecond / 10 },
        Cache = Cache is null ? null : Cache with { Lookups = Cache.Lookups / 100 },
    };
}
