namespace RedisClone.Admin.Prometheus;

/// <summary>A metric and the field of INFO that it shows.</summary>
/// <param name="Field">The field, or the prefix of the fields if <see cref="Label"/> is set.</param>
/// <param name="Name">
/// The name in Prometheus. It is redis_exporter's name if that has the metric, so that dashboards for Redis work.
/// </param>
/// <param name="Help">The description, in one line.</param>
/// <param name="IsCounter">The value only grows, until the server restarts or CONFIG RESETSTAT.</param>
internal sealed record Metric(string Field, string Name, string Help, bool IsCounter = false)
{
    /// <summary>Set if several fields form one metric: the label for the rest of a field's name.</summary>
    public string Label { get; init; } = "";

    /// <summary>The label's value is the complete name of the field.</summary>
    public bool KeepsPrefix { get; init; }

    /// <summary>Set if the field contains several values, such as calls=1,usec=2: the name of the value.</summary>
    public string Part { get; init; } = "";

    /// <summary>The factor from the field's value to that of the metric.</summary>
    public double Scale { get; init; } = 1;

    public string Type => IsCounter ? "counter" : "gauge";
}
