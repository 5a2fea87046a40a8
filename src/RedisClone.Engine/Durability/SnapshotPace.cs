using System.Diagnostics;
using RedisClone.Scheduling;

namespace RedisClone.Engine.Durability;

/// <summary>
/// The pace of a snapshot. The snapshot's thread runs at full speed while there is idle processor time. If the processors are
/// busy with other threads of this process, it rests most of the time: latencies stay low, and the snapshot takes a few times
/// as long.
/// </summary>
/// <remarks>
/// A lower thread priority would not help. The thread would wait for a processor while it holds a shard, and clients would
/// wait for that shard. On a system that does not report the processor time of a thread, there are no rests.
/// </remarks>
internal sealed class SnapshotPace
{
    /// <summary>
    /// A rest is this many times as long as the work before it, so the snapshot gets a fourteenth of one core.
    /// </summary>
    private const int RestsPerWork = 13;

    // Shares of the time since the last look. A host of virtual machines may give time to other machines; this process sees
    // that time as idle, so the time that the thread waited for a processor counts too.
    private const double IdleShare = 0.1, WaitedShare = 0.1, SpareShare = 0.25, WantedShare = 0.2;

    private static readonly TimeSpan LookEvery = TimeSpan.FromMilliseconds(100);

    // Shorter rests would mean shorter turns, and each turn begins with cold caches.
    private static readonly TimeSpan LeastRest = TimeSpan.FromMilliseconds(10), MostRest = TimeSpan.FromMilliseconds(20);

    private long _looked = Stopwatch.GetTimestamp();
    private TimeSpan _all = Environment.CpuUsage.TotalTime;
    private (TimeSpan Ran, TimeSpan Waited) _own = ThreadTimes.Own() ?? default;
    private TimeSpan _owed;
    private bool _isCrowded;

    /// <summary>How long to rest after this much work, often zero. Called on the snapshot's thread.</summary>
    public TimeSpan RestAfter(TimeSpan work)
    {
        TimeSpan elapsed = Stopwatch.GetElapsedTime(_looked);
        if (elapsed >= LookEvery) Look(elapsed);
        _owed = _isCrowded ? _owed + work * RestsPerWork : TimeSpan.Zero;
        if (_owed < LeastRest) return TimeSpan.Zero;
        TimeSpan rest = _owed < MostRest ? _owed : MostRest;
        _owed = TimeSpan.Zero;
        return rest;
    }

    /// <summary>
    /// Decides whether the processors are crowded: hardly any time was idle, or this thread had to wait for a processor, and
    /// other threads of this process used a large part. The state ends only when much time is idle, because a thread that
    /// rests does not wait.
    /// </summary>
    private void Look(TimeSpan elapsed)
    {
        TimeSpan all = Environment.CpuUsage.TotalTime;
        (TimeSpan Ran, TimeSpan Waited) own = ThreadTimes.Own() ?? default;
        TimeSpan idle = elapsed * Environment.ProcessorCount - (all - _all), others = all - _all - (own.Ran - _own.Ran);
        bool isFull = idle < elapsed * IdleShare || own.Waited - _own.Waited > elapsed * WaitedShare || _isCrowded && idle < elapsed * SpareShare;
        _isCrowded = own.Ran > TimeSpan.Zero && isFull && others > elapsed * WantedShare;
        (_looked, _all, _own) = (Stopwatch.GetTimestamp(), all, own);
    }
}
