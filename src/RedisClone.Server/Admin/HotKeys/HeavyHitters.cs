namespace RedisClone.Server.Admin;

/// <summary>
/// The keys with the largest sums of a stream, in bounded memory (Metwally's space saving): a new key takes the place of the least one and
/// what that had; what it inherited so is known, and not told as its own.
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

    /// <summary>The largest sums, the largest first; keys without any are none.</summary>
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
