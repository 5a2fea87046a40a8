namespace RedisClone.Engine.Metrics;

/// <summary>
/// Finds the keys with the largest sums in a stream, in bounded memory (the Space-Saving algorithm by Metwally et al.): a new
/// key replaces the key with the smallest sum and inherits that sum. The inherited part is stored and not reported.
/// </summary>
internal sealed class HeavyHitters(int capacity)
{
    private readonly Dictionary<byte[], Counter> _counters = new(capacity, ByteComparer.Instance);

    public long Total { get; private set; }

    public void Add(ReadOnlySpan<byte> key, long amount)
    {
        Total += amount;
        if (_counters.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(key, out Counter? counter))
        {
            counter.Sum += amount;
            return;
        }
        byte[] owned = key.ToArray();
        long inherited = _counters.Count < capacity ? 0 : TakeLeast();
        _counters.Add(owned, new Counter { Sum = inherited + amount, Inherited = inherited });
    }

    /// <summary>The keys with the largest sums, in descending order. Keys whose own sum is zero are omitted.</summary>
    public (byte[] Key, long Sum)[] Top(int count) =>
        [.. _counters.Select(c => (c.Key, Sum: c.Value.Sum - c.Value.Inherited)).Where(c => c.Sum > 0).OrderByDescending(c => c.Sum).Take(count)];

    private long TakeLeast()
    {
        KeyValuePair<byte[], Counter> least = _counters.First();
        foreach (KeyValuePair<byte[], Counter> counter in _counters)
            if (counter.Value.Sum < least.Value.Sum) least = counter;
        _counters.Remove(least.Key);
        return least.Value.Sum;
    }

    private sealed class Counter
    {
        public long Sum;
        public long Inherited;
    }
}
