using System.Diagnostics;

namespace RedisClone.Admin.Info;

/// <summary>
/// Spaces repeated work by its own cost: the pause after it is so long that the work takes at most a given part of the time.
/// </summary>
/// <param name="least">The shortest pause.</param>
/// <param name="mostOfTime">The part of the time that the work may take.</param>
internal sealed class Spacing(TimeSpan least, double mostOfTime)
{
    private long _dueAt;

    /// <summary>Whether the pause is over. Any thread may ask.</summary>
    public bool IsDue => Stopwatch.GetTimestamp() >= Volatile.Read(ref _dueAt);

    /// <summary>Begins the work. It ends when the result is disposed.</summary>
    public Use Begin() => new(this, Stopwatch.GetTimestamp());

    private void End(long began)
    {
        long now = Stopwatch.GetTimestamp();
        double pause = Math.Max(least.TotalSeconds, Stopwatch.GetElapsedTime(began, now).TotalSeconds / mostOfTime);
        Volatile.Write(ref _dueAt, now + (long)(pause * Stopwatch.Frequency));
    }

    internal readonly struct Use(Spacing owner, long began) : IDisposable
    {
        public void Dispose() => owner.End(began);
    }
}
