namespace RedisClone.Engine.Shards;

/// <summary>The pauses of a thread that waits in place for another thread. They double, and take about two microseconds in all.</summary>
/// <remarks>With one processor, the other thread cannot run meanwhile, so there are no pauses.</remarks>
internal struct Patience()
{
    private static readonly int s_longest = Environment.ProcessorCount > 1 ? Limits.LongestPause : 0;

    private int _next = 1;

    /// <summary>Pauses. Returns false, without a pause, after the longest one.</summary>
    public bool Pause()
    {
        if (_next > s_longest) return false;
        Thread.SpinWait(_next);
        _next *= 2;
        return true;
    }
}
