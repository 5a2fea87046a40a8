namespace RedisClone.Admin.Info;

/// <summary>A row of a section of INFO.</summary>
internal abstract record InfoRow
{
    /// <summary>The metrics that show the row.</summary>
    public virtual IEnumerable<Export> Exports => [];

    /// <summary>Writes the row's lines of INFO.</summary>
    public abstract void Write(ServerReading reading, InfoWriter info);
}

/// <summary>A metric, the name of its label ("" if it has none) and the function that returns its samples.</summary>
internal sealed record Export(Metric Metric, string Label, Func<ServerReading, IEnumerable<Sample>> Read);

/// <summary>A sample of a metric: the value of its label, and the number in the unit of the metric.</summary>
internal readonly record struct Sample(string Label, double Value)
{
    /// <summary>The quantile of a summary; otherwise empty.</summary>
    public string Quantile { get; init; } = "";
}

/// <summary>A value of the server: one line of INFO and, if it is exported, one metric.</summary>
/// <param name="Name">The name in INFO.</param>
/// <param name="Read">Returns the value, or null if the figure is absent now.</param>
/// <param name="Metric">The metric, or null if the figure is not exported.</param>
internal sealed record Figure(string Name, Func<ServerReading, FigureValue?> Read, Metric? Metric = null) : InfoRow
{
    /// <summary>The value is a size in bytes, and the next line of INFO shows it in human-readable form.</summary>
    public bool AlsoHuman { get; init; }

    public override IEnumerable<Export> Exports => Metric is null ? [] : [new(Metric, "", Samples)];

    public override void Write(ServerReading reading, InfoWriter info)
    {
        if (Read(reading) is not { } value) return;
        info.Field(Name, value.Text);
        if (AlsoHuman) info.Field(Name + "_human", InfoWriter.Human((long)value.Number!));
    }

    private IEnumerable<Sample> Samples(ServerReading reading)
    {
        if (Read(reading)?.Number is { } number) yield return new Sample("", number * Metric!.Scale);
    }
}

/// <summary>
/// Figures that several members have, such as the calls of each command: one line of INFO for each member, and one metric for
/// each exported part with a sample for each member.
/// </summary>
/// <param name="Prefix">What precedes the name of a member in INFO.</param>
/// <param name="Label">The label of the metrics. Its value is the name of the member.</param>
/// <param name="Members">Returns the members and their names.</param>
/// <param name="Parts">The figures of a member.</param>
internal sealed record Family<T>(
    string Prefix, string Label, Func<ServerReading, IEnumerable<KeyValuePair<string, T>>> Members, Part<T>[] Parts) : InfoRow
{
    public override IEnumerable<Export> Exports => Parts.Where(part => part.Metric is not null)
        .Select(part => new Export(part.Metric!, Label, reading => Samples(part, reading)));

    public override void Write(ServerReading reading, InfoWriter info)
    {
        foreach ((string name, T member) in Members(reading))
            info.Field(Prefix + name, string.Join(',', Parts.Select(part => part.Name + "=" + part.Read(member).Text)));
    }

    private IEnumerable<Sample> Samples(Part<T> part, ServerReading reading)
    {
        foreach ((string name, T member) in Members(reading))
            if (part.Read(member).Number is { } number) yield return new Sample(name, number * part.Metric!.Scale);
    }
}

/// <summary>One figure of each member of a family.</summary>
internal sealed record Part<T>(string Name, Func<T, FigureValue> Read, Metric? Metric = null);

/// <summary>Lines of INFO that are not figures.</summary>
internal sealed record FreeText(Action<ServerReading, InfoWriter> WriteLines) : InfoRow
{
    public override void Write(ServerReading reading, InfoWriter info) => WriteLines(reading, info);
}
