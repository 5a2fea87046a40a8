namespace RedisClone.Admin.Info;

/// <summary>What a number measures. It decides the factor from the value in INFO to that of the metric.</summary>
internal enum Unit
{
    /// <summary>A count, a ratio or a state.</summary>
    None,
    Bytes,
    Seconds,

    /// <summary>Exported as seconds.</summary>
    Milliseconds,

    /// <summary>Exported as seconds.</summary>
    Microseconds,
}

/// <summary>How Prometheus shows a figure.</summary>
/// <param name="Name">The name. It is redis_exporter's name if that has the metric, so that dashboards for Redis work.</param>
/// <param name="Help">The description, in one line.</param>
/// <param name="Unit">The unit of the figure in INFO.</param>
/// <param name="Place">The position on the page. Metrics without one come last, in the order of INFO.</param>
internal sealed record Metric(string Name, string Help, Unit Unit, int Place)
{
    /// <summary>The value only grows, until the server restarts or CONFIG RESETSTAT.</summary>
    public bool IsCounter { get; private init; }

    /// <summary>The metric shows quantiles of a <see cref="Distribution"/>.</summary>
    public bool IsSummary { get; private init; }

    public string Type => IsCounter ? "counter" : IsSummary ? "summary" : "gauge";

    /// <summary>The factor from the figure's value to that of the metric.</summary>
    public double Scale => Unit switch
    {
        Unit.Milliseconds => 1e-3,
        Unit.Microseconds => 1e-6,
        _ => 1,
    };

    public static Metric Gauge(string name, string help, Unit unit = Unit.None, int place = int.MaxValue) =>
        new(name, help, unit, place);

    public static Metric Counter(string name, string help, Unit unit = Unit.None, int place = int.MaxValue) =>
        new(name, help, unit, place) { IsCounter = true };

    public static Metric Summary(string name, string help, Unit unit = Unit.None, int place = int.MaxValue) =>
        new(name, help, unit, place) { IsSummary = true };
}
