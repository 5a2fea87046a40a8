namespace RedisClone.Engine.Metrics;

/// <summary>Histograms that a periodic reading uses again. A new reading each second would otherwise leave megabytes of garbage a minute.</summary>
internal sealed class HistogramRoom
{
    private readonly List<LatencyHistogram> _histograms = [];
    private int _taken;

    /// <summary>Takes all histograms back.</summary>
    public void Reset() => _taken = 0;

    /// <summary>An empty histogram, in use until the next reset.</summary>
    public LatencyHistogram Take()
    {
        if (_taken == _histograms.Count) _histograms.Add(new LatencyHistogram());
        LatencyHistogram histogram = _histograms[_taken++];
        histogram.Clear();
        return histogram;
    }
}
