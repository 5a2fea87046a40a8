using System.Numerics;

namespace RedisClone.Compare.Load;

/// <summary>
/// Counts durations in buckets that are linear within each power of two: 128 of them, so that a percentile is at most
/// 1/128 above the exact one, at a fixed cost per value and without keeping any.
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

    /// <summary>A value that at least this share (0 to 1) of all values do not exceed: the upper edge of a bucket.</summary>
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
        // A shift of one and more uses only mantissas in [128, 256), so that each owns 128 indices after the first 256.
        int shift = Math.Max(0, index / SubBuckets - 1);
        long mantissa = index - (long)shift * SubBuckets;
        return ((mantissa + 1) << shift) - 1;
    }
}
