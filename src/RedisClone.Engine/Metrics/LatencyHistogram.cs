using System.Diagnostics;
using System.Numerics;

namespace RedisClone.Engine.Metrics;

/// <summary>
/// A histogram of durations, or of sizes, with 32 steps per octave, so percentiles are accurate within 3 %. One thread writes;
/// other threads may read slightly outdated counts.
/// </summary>
internal sealed class LatencyHistogram
{
    private const int StepBits = 5;
    private const int Steps = 1 << StepBits;
    private const int Octaves = 38; // in nanoseconds, up to more than an hour

    /// <summary>The reported steps double, from about one microsecond to more than an hour.</summary>
    private const int FirstShown = 1024, ShownSteps = 32;

    private readonly long[] _counts = new long[Octaves * Steps];

    public void Add(long ticks) => _counts[IndexOf(ticks)]++;

    public void Add(LatencyHistogram other)
    {
        for (int i = 0; i < _counts.Length; i++) _counts[i] += other._counts[i];
    }

    /// <summary>Sets this histogram to what <paramref name="now"/> has gained since <paramref name="before"/>.</summary>
    /// <remarks>A step that has lost durations was reset meanwhile, and all of its durations are new.</remarks>
    public void SetGain(LatencyHistogram now, LatencyHistogram before)
    {
        for (int i = 0; i < _counts.Length; i++)
            _counts[i] = now._counts[i] >= before._counts[i] ? now._counts[i] - before._counts[i] : now._counts[i];
    }

    public void Clear() => Array.Clear(_counts);

    public void SetTo(LatencyHistogram other) => other._counts.CopyTo(_counts.AsSpan());

    /// <summary>The percentiles of ascending percentages, in one pass. Returns the number of all durations.</summary>
    public long Percentiles(ReadOnlySpan<double> percentages, Span<long> durations)
    {
        long count = Count, seen = 0;
        int next = 0;
        for (int i = 0; i < _counts.Length && next < percentages.Length; i++)
        {
            seen += _counts[i];
            while (next < percentages.Length && seen >= Math.Max(1, (long)Math.Ceiling(count * percentages[next] / 100)))
                durations[next++] = LargestAt(i);
        }
        durations[next..].Clear();
        return count;
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

    /// <summary>The smallest duration in ticks that this percentage of all durations does not exceed.</summary>
    public long Percentile(double percent)
    {
        long duration = 0;
        Percentiles([percent], new Span<long>(ref duration));
        return duration;
    }

    /// <summary>The cumulative counts for the reported steps. The last step includes all durations.</summary>
    public IEnumerable<(long Microseconds, long Count)> Shown()
    {
        for (int i = 0; i < ShownSteps; i++)
        {
            long nanoseconds = (long)FirstShown << i;
            // Redis's histograms report the highest value of the bucket that contains the step; a bucket spans 1/128 of the
            // step.
            nanoseconds += nanoseconds / 128 - 1;
            yield return (nanoseconds / 1000, i == ShownSteps - 1 ? Count : CountUpTo((long)(nanoseconds * (Stopwatch.Frequency / 1e9))));
        }
    }

    /// <summary>Counts whole steps, including the step that contains <paramref name="ticks"/>.</summary>
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
