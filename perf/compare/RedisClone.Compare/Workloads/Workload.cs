using RedisClone.Compare.Load;
using RedisClone.Compare.Servers;

namespace RedisClone.Compare.Workloads;

/// <summary>Data that exists before a load: a request line and the number of its requests.</summary>
internal sealed record Fill(string Request, long Requests)
{
    public int Connections { get; init; } = 8;

    public int Pipeline { get; init; } = 50;
}

/// <summary>The kind of a round. Each kind is explained at the experiment with its name.</summary>
internal enum Procedure
{
    Load,
    Fill,
    SaveUnderLoad,
    SyncUnderLoad,
    MoveSlotsUnderLoad,
    FailPrimary,
    Apply,
    Restart,
    Cache,
}

/// <summary>The use of a server as a cache, which is too small for all keys. A skewed trace chooses the keys of the lookups.</summary>
internal sealed record Cache(string Policy, int Keys, int ValueBytes, long MaxMemory, int Lookups);

/// <summary>A row of the comparison: its data and its load. Without a load, the fill is measured.</summary>
internal sealed record Workload(string Name, string Group, IReadOnlyList<Fill> Data, LoadPlan? Load)
{
    public Procedure Procedure { get; init; } = Load is null ? Procedure.Fill : Procedure.Load;

    /// <summary>The name of the row with the figures of the load before the work in the background.</summary>
    public string Before => $"{Name}-before";

    public bool HasRowBefore => Procedure is Procedure.SaveUnderLoad or Procedure.SyncUnderLoad or Procedure.MoveSlotsUnderLoad;

    public Cache? Cache { get; init; }

    public Durability Durability { get; init; }

    public Link Link { get; init; }

    public int ServerCores { get; init; } = 1;

    /// <summary>The load runs on the cores of the server, so that rows with different numbers of cores are comparable.</summary>
    public bool LoadSharesCores { get; init; }

    /// <summary>Excludes the servers that would not use more than one core.</summary>
    public bool ForAllCores { get; init; }

    /// <summary>Whether the server is a cluster of one node, which has all slots.</summary>
    public bool InCluster { get; init; }

    /// <summary>The number of replicas that the server has under load. They share the cores of the load.</summary>
    public int Replicas { get; init; }

    /// <summary>Whether a server that is measured alone and with TCP only can take part.</summary>
    public bool IsForAll => Link == Link.Tcp && !InCluster && Replicas == 0 && Procedure is not (Procedure.SyncUnderLoad or Procedure.Apply);

    /// <summary>Whether memtier_benchmark sends the load instead of the load generator.</summary>
    public bool ByMemtier { get; init; }

    /// <summary>Whether the figures of this server are read during the load, as a Prometheus and an open studio read them.</summary>
    public bool IsWatched { get; init; }

    public IReadOnlyList<Goal> Goals { get; init; } = [];

    /// <summary>Returns the workload with less data, for a quick check.</summary>
    public Workload Small() => this with
    {
        Data = [.. Data.Select(f => f with { Requests = Math.Min(f.Requests, Math.Max(1_000, f.Requests / 100)) })],
        Load = Load is null ? null : Load with { RatePerSecond = Load.RatePerSecond / 10 },
        Cache = Cache is null ? null : Cache with { Lookups = Cache.Lookups / 100 },
    };
}
