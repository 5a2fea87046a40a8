namespace RedisClone.Server.Admin;

/// <summary>One metric and the field of INFO that it shows.</summary>
/// <param name="Field">The field; where there is a <see cref="Label"/>, how the names of such fields begin.</param>
/// <param name="Name">What Prometheus knows it by: what redis_exporter calls it, where that has it, so that boards made for Redis go on.</param>
/// <param name="Help">What it says, in one line.</param>
/// <param name="IsCounter">It only grows, until the server starts anew or CONFIG RESETSTAT.</param>
internal sealed record Metric(string Field, string Name, string Help, bool IsCounter = false)
{
    /// <summary>Set where a family of fields is one metric: what the rest of a field's name is called.</summary>
    public string Label { get; init; } = "";

    /// <summary>The label is the field's whole name.</summary>
    public bool KeepsPrefix { get; init; }

    /// <summary>Set where the value is one of several in a field: calls=1,usec=2.</summary>
    public string Part { get; init; } = "";

    /// <summary>What the field's number is multiplied by.</summary>
    public double Scale { get; init; } = 1;

    public string Type => IsCounter ? "counter" : "gauge";
}
