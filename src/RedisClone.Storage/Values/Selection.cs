namespace RedisClone.Storage.Values;

/// <summary>
/// Chooses a number of elements at random in one walk over a known number of elements. Every subset has the same probability: an
/// element is taken with the probability (still needed / still to come).
/// </summary>
internal struct Selection(long needed, long left, Random? random)
{
    public static Selection All => new(long.MaxValue, 0, null);

    public bool Takes()
    {
        if (random is null) return true;
        if (needed <= 0 || random.NextInt64(left--) >= needed) return false;
        needed--;
        return true;
    }
}
