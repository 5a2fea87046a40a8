using System.Diagnostics;

namespace RedisClone.Engine.Shards;

/// <summary>
/// The time that one command, or one slice of background work, may evict keys. A lowered maxmemory may leave gigabytes to evict; other
/// clients are served between the rounds.
/// </summary>
/// <param name="tenacity">maxmemory-eviction-tenacity.</param>
internal struct EvictionRound(int tenacity)
{
    private const int StepsPerLook = 16;
    private const int Usual = 10, Endless = 100;
    private const double UsualMicroseconds = 500, Growth = 1.15;

    private int _steps;
    private long _end;

    public bool IsOver { get; private set; }

    /// <summary>Counts an eviction. Returns true if the time is over.</summary>
    public bool Step()
    {
        if (++_steps % StepsPerLook != 0 || tenacity >= Endless) return false;
        long now = Stopwatch.GetTimestamp();
        if (_end == 0) _end = now + (long)(Microseconds(tenacity) * Stopwatch.Frequency / 1e6);
        return IsOver = now >= _end;
    }

    /// <summary>As in Redis: 50 µs for each step up to 10, then 15% more for each step.</summary>
    private static double Microseconds(int tenacity) =>
        tenacity <= Usual ? UsualMicroseconds / Usual * tenacity : UsualMicroseconds * Math.Pow(Growth, tenacity - Usual);
}
