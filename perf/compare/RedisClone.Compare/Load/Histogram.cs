using System.Numerics;

namespace RedisClone.Compare.Load;

/// <summary>
/// Counts durations in 128 linear buckets for each power of two. A percentile is at most 1/128 above the exact percentile. The
/// cost of a value is constant, and no value is stored.
/// </summary>
internal sealed class Histogram
{
    private const int SubBucketBits = 7;
    private const int SubBuckets = 1 << SubBucketBits;

    private readonly long[] _counts = new long[(64 - SubBucketBits + 1) * SubBuckets];

    public long Count { get; private set; }

    public long Max { get; private set; }

    public void Record(long value, long times = 1)
    {
        _counts[IndexOf(value)] += times;
        Count += times;
        Max = Math.Max(Max, value);
    }

    public void Add(Histogram other)
    {
        for (int i = 0; i < _counts.Length; i++)
            _counts[i] += other._counts[i];
        Count += other.Count;
        Max = Math.Max(Max, other.Max);
    }

    /// <summary>Returns the upper edge of the bucket of a percentile. The share is between 0 and 1.</summary>
    public long Percentile(double share)
    {
        long wanted = Math.Max(1, (long)Math.Ceiling(share * Count));
        long seen = 0;
        for (int i = 0; i < _counts.Length; i++)
        {
            seen += _counts[i];
            if (seen >= wanted)
                return Math.Min(UpperEdge(i), Max);
        }

        return Max;
    }

    private static int IndexOf(long value)
    {
        ulong magnitude = (ulong)Math.Max(value, 0);
        int shift = Math.Max(0, BitOperations.Log2(magnitude | 1) - SubBucketBits);
        return shift * SubBuckets + (int)(magnitude >> shift);
    }

    private static long UpperEdge(int index)
    {
        // Shift 0 has the first 256 indices. Each higher shift has 128, because its mantissas are in [128, 256).
        int shift = Math.Max(0, index / SubBuckets - 1);
        long mantissa = index - (long)shift * SubBuckets;
        return ((mantissa + 1) << shift) - 1;
    }
}
