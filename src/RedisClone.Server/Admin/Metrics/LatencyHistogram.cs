using System.Diagnostics;
using System.Numerics;

namespace RedisClone.Server.Admin;

/// <summary>
/// How often something took how long: 32 steps an octave, so that a percentile read from it is right within 3 %. Written by one
/// thread; others read what they see.
/// </summary>
internal sealed class LatencyHistogram
{
    private const int StepBits = 5;
    private const int Steps = 1 << StepBits;
    private const int Octaves = 38;            // in nanoseconds, beyond an hour

    /// <summary>What is shown of it doubles, from about a microsecond to more than an hour.</summary>
    private const int FirstShown = 1024, ShownSteps = 32;

    private readonly long[] _counts = new long[Octaves * Steps];

    public void Add(long ticks) => _counts[IndexOf(ticks)]++;

    public void Add(LatencyHistogram other)
    {
        for (int i = 0; i < _counts.Length; i++) _counts[i] += other._counts[i];
    }

    public long Count
    {
        get
        {
            long count = 0;
            foreach (long c in _counts) count += c;
            return count;
        }
    }

    /// <summary>The least duration that so many percent of all did not exceed; in ticks.</summary>
    public long Percentile(double percent)
    {
        long wanted = Math.Max(1, (long)Math.Ceiling(Count * percent / 100));
        long seen = 0;
        for (int i = 0; i < _counts.Length; i++)
        {
            seen += _counts[i];
            if (seen >= wanted) return LargestAt(i);
        }
        return 0;
    }

    /// <summary>How many took at most so many microseconds, for each of the steps that are shown; the last has all.</summary>
    public IEnumerable<(long Microseconds, long Count)> Shown()
    {
        for (int i = 0; i < ShownSteps; i++)
        {
            long nanoseconds = (long)FirstShown << i;
            // Redis's histograms round a step up to the end of the 128th part of it that it lies in.
            nanoseconds += nanoseconds / 128 - 1;
            yield return (nanoseconds / 1000, i == ShownSteps - 1 ? Count : CountUpTo((long)(nanoseconds * (Stopwatch.Frequency / 1e9))));
        }
    }

    /// <summary>Counted by whole steps.</summary>
    private long CountUpTo(long ticks)
    {
        long count = 0;
        for (int i = IndexOf(ticks); i >= 0; i--) count += _counts[i];
        return count;
    }

    private static int IndexOf(long ticks)
    {
        ulong value = (ulong)Math.Max(ticks, 0);
        int shift = Math.Max(0, BitOperations.Log2(value | 1) - StepBits);
        return (int)Math.Min((ulong)(shift << StepBits) + (value >> shift), Octaves * Steps - 1);
    }

    private static long LargestAt(int index)
    {
        if (index < Steps) return index;
        int shift = (index >> StepBits) - 1;
        return ((long)(index - (shift << StepBits)) << shift) + (1L << shift) - 1;
    }
}
