using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Reporting;

/// <summary>All samples of a session, and the figures computed from them: medians over the rounds, and ratios.</summary>
internal sealed class Results
{
    private readonly List<Sample> _samples = [];
    private readonly List<(string Workload, string Server, string Reason)> _failures = [];

    public IReadOnlyList<Sample> Samples => _samples;

    public void Add(Sample sample) => _samples.Add(sample);

    public void AddFailure(string workload, string server, string reason) => _failures.Add((workload, server, reason));

    /// <summary>Returns the reason for which a server has no figure for a workload, if it is known.</summary>
    public string? FailureOf(string workload, string server) =>
        _failures.Where(f => f.Workload == workload && f.Server == server).Select(f => f.Reason).FirstOrDefault();

    public IReadOnlyList<Sample> Of(string workload, string server) =>
        [.. _samples.Where(s => s.Workload == workload && s.Server == server)];

    public double? Median(string workload, string server, Func<Sample, double> figure) =>
        MedianOf(Of(workload, server).Select(figure));

    /// <summary>
    /// Returns a ratio of two figures. For the same workload it is the median of the ratios of the rounds, so that a disturbance of
    /// a whole round has no effect. For different workloads it is the ratio of the medians.
    /// </summary>
    public double? Ratio(Metric metric, (string Workload, string Server) of, (string Workload, string Server) to)
    {
        if (of.Workload != to.Workload)
            return Median(of.Workload, of.Server, s => s[metric]) / Median(to.Workload, to.Server, s => s[metric]);
        return MedianOf(
            from mine in Of(of.Workload, of.Server)
            join other in Of(to.Workload, to.Server) on mine.Round equals other.Round
            select mine[metric] / other[metric]);
    }

    private static double? MedianOf(IEnumerable<double> figures)
    {
        double[] sorted = [.. figures.Order()];
        if (sorted.Length == 0)
            return null;
        int middle = sorted.Length / 2;
        return sorted.Length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
