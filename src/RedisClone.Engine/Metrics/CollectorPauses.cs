namespace RedisClone.Engine.Metrics;

/// <summary>
/// Measures how long garbage collections stop all threads. The runtime provides only the sum, so the longest pause is estimated
/// as the largest increase between two samples. The estimate is too high if several collections fall between two samples, and
/// never too low.
/// </summary>
internal sealed class CollectorPauses
{
    private TimeSpan _seen = GC.GetTotalPauseDuration();
    private TimeSpan _before;
    private int _collectionsBefore;

    /// <summary>The total since the last reset of the statistics.</summary>
    public TimeSpan Total => GC.GetTotalPauseDuration() - _before;

    public TimeSpan Longest { get; private set; }

    public int Collections => GC.CollectionCount(0) - _collectionsBefore;

    public void Look()
    {
        TimeSpan total = GC.GetTotalPauseDuration();
        if (total - _seen > Longest) Longest = total - _seen;
        _seen = total;
    }

    public void Reset()
    {
        _before = _seen = GC.GetTotalPauseDuration();
        _collectionsBefore = GC.CollectionCount(0);
        Longest = TimeSpan.Zero;
    }
}
