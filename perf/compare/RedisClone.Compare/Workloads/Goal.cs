namespace RedisClone.Compare.Workloads;

internal enum Metric
{
    Cpu,
    Throughput,
    P50,
    P99,
    P999,
    Resident,
    StartTime,
    Elapsed,
    DiskBytes,
    Pause,
    HitRatio,
    Lag,
}

/// <summary>
/// A goal of this server: a limit for the ratio to the figure of another server, for the ratio to a figure of another workload, or
/// for the figure itself. A name of a server that begins with a hyphen follows the name of the build.
/// </summary>
internal sealed record Goal(Metric Metric, bool AtMost, double Limit, string? Server = null, string? Workload = null)
{
    public static Goal Most(Metric metric, double limit, string? server = null, string? workload = null) =>
        new(metric, AtMost: true, limit, server, workload);

    public static Goal Least(Metric metric, double limit, string? server = null, string? workload = null) =>
        new(metric, AtMost: false, limit, server, workload);

    /// <summary>The server to whose figure that of a build is compared.</summary>
    public string ReferenceOf(string build) => Server is null ? build : Server.StartsWith('-') ? build + Server : Server;

    public bool IsMet(double figure) => AtMost ? figure <= Limit : figure >= Limit;
}
