namespace RedisClone.Engine.Shards;

/// <summary>A wait in place for another thread, for about a microsecond in all. The pauses double, so that the last looks are few.</summary>
/// <remarks>With one processor, the other thread cannot go on meanwhile, so there are no pauses.</remarks>
internal struct Patience()
{
    private static readonly int s_longest = Environment.ProcessorCount > 1 ? Limits.LongestPause : 0;

    private int _next = 1;

    /// <summary>Pauses. Returns false if the patience is over.</summary>
    public bool Pause()
    {
        if (_next > s_longest) return false;
        Thread.SpinWait(_next);
        _next *= 2;
        return true;
    }
}
