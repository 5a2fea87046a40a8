namespace RedisClone.Compare.Load;

/// <summary>What a load sends, over how many connections, and how much at once.</summary>
internal sealed record LoadPlan(IReadOnlyList<Share> Mix, int Connections, int Pipeline)
{
    /// <summary>Requests a second over all connections; 0: as fast as the replies come.</summary>
    public int RatePerSecond { get; init; }

    /// <summary>Connections that only listen to <see cref="Channel"/>; with any, an operation is one message delivered.</summary>
    public int Subscribers { get; init; }

    /// <summary>Requests that make one operation, as the commands of a transaction do.</summary>
    public int RequestsPerOperation { get; init; } = 1;

    public const string Channel = "channel";
}

/// <summary>When a run stops sending: after a time, after a number of requests, or when told to.</summary>
internal readonly record struct LoadLimit(TimeSpan Duration, long Requests, CancellationToken Until = default)
{
    public static LoadLimit Lasting(TimeSpan duration) => new(duration, long.MaxValue);

    public static LoadLimit Sending(long requests) => new(TimeSpan.FromDays(1), requests);
}

/// <summary>Anything that can put a load on a server for a while.</summary>
internal interface ILoad : IDisposable
{
    LoadResult Run(LoadLimit limit);
}

/// <summary>What a run did. Every request sent was answered; processor time and latencies are in nanoseconds.</summary>
internal sealed record LoadResult(long Operations, TimeSpan Elapsed, long LoadCpu, Latencies Latency)
{
    public static readonly LoadResult Nothing = new(0, TimeSpan.FromSeconds(1), 0, default);
}

internal readonly record struct Latencies(long P50, long P99, long P999, long Max)
{
    public static Latencies Of(Histogram histogram) =>
        new(histogram.Percentile(0.5), histogram.Percentile(0.99), histogram.Percentile(0.999), histogram.Max);
}
