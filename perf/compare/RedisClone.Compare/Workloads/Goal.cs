namespace RedisClone.Compare.Workloads;

internal enum Metric
{
    Cpu,
    Throughput,
    P50,
    P999,
    Resident,
    StartTime,
    Elapsed,
    DiskBytes,
    Pause,
    HitRatio,
}

/// <summary>
/// What this server is meant to reach: a ratio to another server's figure on the same workload, to a figure on another
/// workload, or, with neither, the figure itself.
/// </summary>
internal sealed record Goal(Metric Metric, bool AtMost, double Limit, string? Server = null, string? Workload = null)
{
    public static Goal Most(Metric metric, double limit, string? server = null, string? workload = null) =>
        new(metric, AtMost: true, limit, server, workload);

    public static Goal Least(Metric metric, double limit, string? server = null, string? workload = null) =>
        new(metric, AtMost: false, limit, server, workload);

    public bool IsMet(double figure) => AtMost ? figure <= Limit : figure >= Limit;
}
