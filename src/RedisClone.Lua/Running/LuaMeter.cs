namespace RedisClone.Lua;

/// <summary>
/// Counts the work of one interpreter, and the bytes that it allocates; refuses what would pass its limit. What became
/// garbage is found by a census of everything reachable (see <see cref="MemoryCensus"/>), not by counting frees.
/// </summary>
internal sealed class LuaMeter
{
    private const long FirstCensus = 48 << 10;

    public LuaMeter(long limit)
    {
        Limit = limit;
        CensusAt = Math.Min(FirstCensus, limit / 2);
    }

    /// <summary>Steps left until the host is asked whether the script may go on. Below zero the next check asks.</summary>
    public int Budget;

    public long Limit { get; }

    /// <summary>Live bytes of the last census and all bytes allocated since.</summary>
    public long Allocated { get; private set; }

    /// <summary>When this much is allocated, the next safe point takes a census.</summary>
    public long CensusAt { get; private set; }

    public bool CensusDue => Allocated > CensusAt;

    public bool TryCharge(long bytes)
    {
        if (Allocated + bytes > Limit) return false;
        Allocated += bytes;
        return true;
    }

    public void ForgetSince(long allocated) => Allocated = Math.Min(Allocated, allocated);

    public void Settle(long allocated) => Allocated = allocated;

    /// <summary>
    /// Sets the next census where allocation has doubled, but never further than half of what is left: a single library
    /// call, during which no census can run, so always has that half at its disposal. False if what lives leaves so
    /// little that one census would follow another: that is out of memory too.
    /// </summary>
    public bool CensusTaken(long live)
    {
        Allocated = live;
        CensusAt = live + Math.Min(Math.Max(live, FirstCensus), Math.Max(0, Limit - live) / 2);
        return live < Limit - (Limit / 16);
    }
}
