namespace RedisClone.Server.Admin;

/// <summary>
/// How long garbage collections stopped all threads. The runtime counts the sum; the longest is taken as what was added between
/// two looks, so it errs on the long side only, where several fall between them.
/// </summary>
internal sealed class CollectorPauses
{
    private TimeSpan _seen = GC.GetTotalPauseDuration();
    private TimeSpan _before;
    private int _collectionsBefore;

    /// <summary>Since statistics were reset, as the others.</summary>
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
