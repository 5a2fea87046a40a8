using RedisClone.Admin.Info;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.History;

/// <summary>
/// One figure in the history: its series, and how a sample of them is taken. A counter is stored as its increase a second, and a
/// distribution as the percentiles of what the last interval added.
/// </summary>
internal abstract class HistorySource(Metric metric, string[] names)
{
    public Metric Metric => metric;

    /// <summary>The names of the series, which are those of the samples on the metrics page.</summary>
    public string[] Names => names;

    /// <summary>Writes one value for each series, NaN if there is none.</summary>
    public abstract void Sample(ServerReading reading, double seconds, Span<float> values);

    /// <summary>Combines the values of a minute, without the NaNs.</summary>
    public abstract float Combine(ReadOnlySpan<float> values);

    public static IEnumerable<HistorySource> All => InfoReport.Rows.SelectMany(Of);

    private static IEnumerable<HistorySource> Of(InfoRow row) => row switch
    {
        Figure { Metric: not null } figure => [new FigureSource(figure)],
        Distribution distribution => [new DistributionSource(distribution)],
        _ => [],
    };

    private sealed class FigureSource(Figure figure) : HistorySource(figure.Metric!, [figure.Metric!.Name])
    {
        private double _before = double.NaN;

        public override void Sample(ServerReading reading, double seconds, Span<float> values)
        {
            double value = figure.Read(reading)?.Number * Metric.Scale ?? double.NaN;
            values[0] = (float)(Metric.IsCounter ? RateOf(value, seconds) : value);
        }

        public override float Combine(ReadOnlySpan<float> values)
        {
            double sum = 0;
            foreach (float value in values) sum += value;
            return (float)(sum / values.Length);
        }

        /// <summary>A counter that was reset has no rate in this interval.</summary>
        private double RateOf(double value, double seconds)
        {
            double gained = value - _before;
            _before = value;
            return gained >= 0 ? gained / seconds : double.NaN;
        }
    }

    private sealed class DistributionSource(Distribution distribution) : HistorySource(distribution.Metric, [.. NamesOf(distribution)])
    {
        private readonly LatencyHistogram?[] _before = new LatencyHistogram?[distribution.Members.Length];
        private readonly LatencyHistogram _gain = new();

        public override void Sample(ServerReading reading, double seconds, Span<float> values)
        {
            Span<long> percentiles = stackalloc long[Distribution.Percentages.Length];
            values.Fill(float.NaN);
            for (int member = 0; member < _before.Length; member++)
            {
                if (distribution.Read(reading, member) is not { } histogram) continue;
                LatencyHistogram before = _before[member] ??= new LatencyHistogram();
                _gain.SetGain(histogram, before);
                before.SetTo(histogram);
                if (_gain.Percentiles(Distribution.Percentages, percentiles) == 0) continue;
                for (int i = 0; i < percentiles.Length; i++)
                    values[member * percentiles.Length + i] = (float)distribution.Exported(percentiles[i]);
            }
        }

        /// <summary>The worst second of a minute is what a person looks for.</summary>
        public override float Combine(ReadOnlySpan<float> values)
        {
            float most = values[0];
            foreach (float value in values) most = Math.Max(most, value);
            return most;
        }

        private static IEnumerable<string> NamesOf(Distribution distribution) =>
            from member in distribution.Members
            from quantile in Distribution.Quantiles
            let label = distribution.Label.Length == 0 ? "" : $"{distribution.Label}=\"{member}\","
            select $"{distribution.Metric.Name}{{{label}quantile=\"{quantile}\"}}";
    }
}
