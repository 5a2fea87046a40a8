namespace RedisClone.Storage;

/// <summary>
/// Chooses so many of a known number of elements while walking them once, each set of elements as likely as any other:
/// an element is taken with the probability of what is still needed over what is still to come.
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
