namespace RedisClone.Compare.Load;

/// <summary>The requests of a load, the number of its connections, and the length of its pipelines.</summary>
internal sealed record LoadPlan(IReadOnlyList<Share> Mix, int Connections, int Pipeline)
{
    /// <summary>Requests per second over all connections. 0 means that each reply is followed by the next request.</summary>
    public int RatePerSecond { get; init; }

    /// <summary>
    /// Connections that subscribe to <see cref="Channel"/>. If there are any, an operation is the delivery of one message.
    /// </summary>
    public int Subscribers { get; init; }

    /// <summary>The number of requests in one operation, for example the commands of a transaction.</summary>
    public int RequestsPerOperation { get; init; } = 1;

    /// <summary>The threads of memtier_benchmark, which divide the connections among them. The load generator uses a thread for each of its cores.</summary>
    public int Threads { get; init; } = 1;

    public const string Channel = "channel";
}

/// <summary>A run stops sending after a time, after a number of requests, or when a token is canceled.</summary>
internal readonly record struct LoadLimit(TimeSpan Duration, long Requests, CancellationToken Until = default)
{
    public static LoadLimit Lasting(TimeSpan duration) => new(duration, long.MaxValue);

    public static LoadLimit Sending(long requests) => new(TimeSpan.FromDays(1), requests);
}

/// <summary>A source of load on a server.</summary>
internal interface ILoad : IDisposable
{
    LoadResult Run(LoadLimit limit);
}

/// <summary>The result of a run. All requests got a reply. Processor time and latencies are in nanoseconds.</summary>
internal sealed record LoadResult(long Operations, TimeSpan Elapsed, long LoadCpu, Latencies Latency)
{
    public static readonly LoadResult Nothing = new(0, TimeSpan.FromSeconds(1), 0, default);
}

internal readonly record struct Latencies(long P50, long P99, long P999, long Max)
{
    public static Latencies Of(Histogram histogram) =>
        new(histogram.Percentile(0.5), histogram.Percentile(0.99), histogram.Percentile(0.999), histogram.Max);
}
