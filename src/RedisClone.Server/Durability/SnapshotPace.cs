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
    /// <summary>Rests are this many times as long as the work before them: a fourteenth of one core is the snapshot's.</summary>
    private const int RestsPerWork = 13;

    // Of the time since the last look. What a host of virtual machines gives to others is idle to this process, so that waiting counts too.
    private const double IdleShare = 0.1, WaitedShare = 0.1, SpareShare = 0.25, WantedShare = 0.2;

    private static readonly TimeSpan LookEvery = TimeSpan.FromMilliseconds(100);

    // Short rests make for short turns, and each turn begins with cold caches.
    private static readonly TimeSpan LeastRest = TimeSpan.FromMilliseconds(10), MostRest = TimeSpan.FromMilliseconds(20);

    private long _looked = Stopwatch.GetTimestamp();
    private TimeSpan _all = Environment.CpuUsage.TotalTime;
    private (TimeSpan Ran, TimeSpan Waited) _own = Own();
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

    /// <summary>
    /// Crowded is where hardly anything was idle, or this thread had to wait for the processor, and others of this process had their part in that. It ends
    /// when there is much to spare: while this thread rests, it does not wait.
    /// </summary>
    private void Look(TimeSpan elapsed)
    {
        TimeSpan all = Environment.CpuUsage.TotalTime;
        (TimeSpan Ran, TimeSpan Waited) own = Own();
        TimeSpan idle = elapsed * Environment.ProcessorCount - (all - _all), others = all - _all - (own.Ran - _own.Ran);
        bool isFull = idle < elapsed * IdleShare || own.Waited - _own.Waited > elapsed * WaitedShare || _isCrowded && idle < elapsed * SpareShare;
        _isCrowded = own.Ran > TimeSpan.Zero && isFull && others > elapsed * WantedShare;
        (_looked, _all, _own) = (Stopwatch.GetTimestamp(), all, own);
    }

    /// <summary>How long the calling thread has run, and waited to run; zero where the system does not tell.</summary>
    private static (TimeSpan Ran, TimeSpan Waited) Own()
    {
        const string path = "/proc/thread-self/schedstat";
        try
        {
            string[] words = File.Exists(path) ? File.ReadAllText(path).Split(' ') : [];
            return words.Length > 1 && TryRead(words[0], out TimeSpan ran) && TryRead(words[1], out TimeSpan waited) ? (ran, waited) : default;
        }
        catch (IOException)
        {
            return default;
        }
    }

    private static bool TryRead(string nanoseconds, out TimeSpan time)
    {
        bool isNumber = long.TryParse(nanoseconds, CultureInfo.InvariantCulture, out long count);
        time = TimeSpan.FromMicroseconds(count / 1000);
        return isNumber;
    }
}
