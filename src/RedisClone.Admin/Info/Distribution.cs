using System.Globalization;
using System.Text;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.Info;

/// <summary>
/// The distribution of a quantity that is measured very often, such as the latency of the commands of each family: one line of INFO
/// with the percentiles for each member, and one summary metric. INFO and the metric cover the time since the last reset; the
/// history covers each second by itself.
/// </summary>
/// <param name="Prefix">What precedes the name of a member in INFO.</param>
/// <param name="Label">The label of the metric. Its value is the name of the member.</param>
/// <param name="Members">The names of all possible members.</param>
/// <param name="Read">Returns the histogram of a member, by its number; null if there is none now.</param>
/// <param name="PerUnit">The number of steps of the histogram's values in one unit of INFO.</param>
/// <param name="Metric">The metric.</param>
internal sealed record Distribution(
    string Prefix, string Label, string[] Members, Func<ServerReading, int, LatencyHistogram?> Read, double PerUnit, Metric Metric) : InfoRow
{
    /// <summary>The percentages that INFO, the metrics and the history show.</summary>
    public static readonly double[] Percentages = [50, 90, 99, 99.9, 99.99];

    /// <summary>The same as quantiles, for metrics.</summary>
    public static readonly string[] Quantiles = ["0.5", "0.9", "0.99", "0.999", "0.9999"];

    public override IEnumerable<Export> Exports => [new(Metric, Label, Samples)];

    public override void Write(ServerReading reading, InfoWriter info)
    {
        Span<long> values = stackalloc long[Percentages.Length];
        for (int member = 0; member < Members.Length; member++)
        {
            if (Read(reading, member) is not { } histogram) continue;
            long count = histogram.Percentiles(Percentages, values);
            if (count == 0) continue;
            var text = new StringBuilder();
            text.Append(CultureInfo.InvariantCulture, $"count={count}");
            for (int i = 0; i < values.Length; i++)
                text.Append(CultureInfo.InvariantCulture, $",p{Percentages[i]}={values[i] / PerUnit:0.###}");
            info.Field(Prefix + Members[member], text.ToString());
        }
    }

    /// <summary>Converts a value of the histogram to the unit of the metric.</summary>
    public double Exported(long value) => value / PerUnit * Metric.Scale;

    private IEnumerable<Sample> Samples(ServerReading reading)
    {
        long[] values = new long[Percentages.Length];
        for (int member = 0; member < Members.Length; member++)
        {
            if (Read(reading, member) is not { } histogram || histogram.Percentiles(Percentages, values) == 0) continue;
            for (int i = 0; i < values.Length; i++) yield return new Sample(Members[member], Exported(values[i])) { Quantile = Quantiles[i] };
        }
    }
}
