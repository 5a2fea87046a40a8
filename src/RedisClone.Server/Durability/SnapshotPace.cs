using System.Diagnostics;
using System.Globalization;

namespace RedisClone.Server.Durability;

/// <summary>
/// How fast a snapshot goes: as fast as it can while there is processor time to spare. Where clients could use all there is, its thread rests most of the
/// time: they are served, and the snapshot takes a few times as long.
/// </summary>
/// <remarks>
/// A lower priority would not do: the thread would wait for the processor with a shard in its hands, and clients would wait with it. Where the system does
/// not tell what a thread has used, there are no rests.
/// </remarks>
internal sealed class SnapshotPace
{
    /// <summary>Rests are this many times as long as the work before them: a sixth of one core is the snapshot's.</summary>
    private const int RestsPerWork = 5;

    private const double IdleShare = 0.1, WantedShare = 0.2;

    private static readonly TimeSpan LookEvery = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LeastRest = TimeSpan.FromMilliseconds(2), MostRest = TimeSpan.FromMilliseconds(5);

    private long _looked = Stopwatch.GetTimestamp();
    private TimeSpan _all = Environment.CpuUsage.TotalTime;
    private TimeSpan _own = Own();
    private TimeSpan _owed;
    private bool _isCrowded;

    /// <summary>After so much work: how long to rest, often not at all. On the snapshot's thread.</summary>
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

    /// <summary>Crowded is where hardly anything was idle, and others of this process than the snapshot had their part in that.</summary>
    private void Look(TimeSpan elapsed)
    {
        TimeSpan all = Environment.CpuUsage.TotalTime, own = Own();
        TimeSpan idle = elapsed * Environment.ProcessorCount - (all - _all), others = all - _all - (own - _own);
        _isCrowded = own > TimeSpan.Zero && idle < elapsed * IdleShare && others > elapsed * WantedShare;
        (_looked, _all, _own) = (Stopwatch.GetTimestamp(), all, own);
    }

    /// <summary>Processor time of the calling thread; zero where the system does not tell.</summary>
    private static TimeSpan Own()
    {
        const string path = "/proc/thread-self/schedstat";
        try
        {
            string text = File.Exists(path) ? File.ReadAllText(path) : "";
            int end = text.IndexOf(' ', StringComparison.Ordinal);
            return end > 0 && long.TryParse(text.AsSpan(0, end), CultureInfo.InvariantCulture, out long nanoseconds) ? TimeSpan.FromMicroseconds(nanoseconds / 1000) : TimeSpan.Zero;
        }
        catch (IOException)
        {
            return TimeSpan.Zero;
        }
    }
}
