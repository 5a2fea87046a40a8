namespace RedisClone.Lua;

/// <summary>
/// Counts the work of one interpreter and the bytes that it allocates, and refuses what would pass its limit, before it is
/// allocated. A census of everything reachable (see <see cref="MemoryCensus"/>) finds out what became garbage. Garbage still
/// takes memory until the runtime collects it, so it is counted too: a collection is forced before live objects and garbage
/// together pass the limit by more than an eighth.
/// </summary>
internal sealed class LuaMeter
{
    private const long FirstCensus = 48 << 10;

    /// <summary>Less garbage of one run, or between two censuses, dies young: the runtime collects it early.</summary>
    private const long LeastGarbage = 1 << 20;

    private readonly long _heapLimit;
    private long _live;
    private long _reserved;
    private long _garbage;

    /// <summary>What else is on the heap of the process, as of the last collection that was forced; 0 before the first.</summary>
    private long _others;

    public LuaMeter(long limit)
    {
        Limit = limit;
        _heapLimit = limit + (limit / 8);
        CensusAt = Math.Min(FirstCensus, limit / 2);
    }

    /// <summary>Steps left until the host is asked whether the script may go on. Below zero the next check asks.</summary>
    public int Budget;

    public long Limit { get; }

    /// <summary>Live bytes of the last census and all bytes allocated since.</summary>
    public long Allocated { get; private set; }

    /// <summary>When this much is allocated, the next safe point takes a census.</summary>
    public long CensusAt { get; private set; }

    /// <summary>Takes a census, where one is possible while something is being allocated.</summary>
    public Action? Census { get; set; }

    public bool CensusDue => Allocated > CensusAt;

    /// <summary>What can still be allocated, garbage left aside.</summary>
    public long Room => Limit - Allocated - _reserved;

    /// <summary>Counts an object that scripts can reach.</summary>
    public bool TryCharge(long bytes)
    {
        if (Allocated + bytes > Limit - _reserved - _garbage && !MakeRoom(bytes)) return false;
        Allocated += bytes;
        return true;
    }

    /// <summary>Counts a buffer that only a library or the host can reach, until <see cref="Release"/>.</summary>
    public bool TryReserve(long bytes)
    {
        if (Allocated + bytes > Limit - _reserved - _garbage && !MakeRoom(bytes)) return false;
        _reserved += bytes;
        return true;
    }

    /// <summary>Ends a reservation; the buffer goes to the collector unless it is pooled or became an object.</summary>
    public void Release(long bytes, bool isGarbage)
    {
        _reserved -= bytes;
        if (isGarbage) AddGarbage(bytes);
    }

    /// <summary>Counts work on so many bytes. The next check of the budget ends the script if the host wants that.</summary>
    public void Work(long bytes) => Budget -= (int)Math.Min(bytes >> 6, 1 << 24);

    /// <summary>No call of a library is under way: nothing is reserved.</summary>
    public void ReleaseAll() => _reserved = 0;

    public void ForgetSince(long allocated)
    {
        if (Allocated <= allocated) return;
        AddGarbage(Allocated - allocated);
        Settle(allocated);
    }

    public void Settle(long allocated)
    {
        Allocated = allocated;
        _live = Math.Min(_live, allocated);
    }

    /// <summary>
    /// Sets the next census where allocation has doubled, but never further than half of what is left: a single library
    /// call so has that half at its disposal before it needs a census. False if what lives leaves so little that one census
    /// would follow another: that is out of memory too.
    /// </summary>
    public bool CensusTaken(long live)
    {
        if (live < Allocated) AddGarbage(Allocated - live);
        Allocated = _live = live;
        CensusAt = live + Math.Min(Math.Max(live, FirstCensus), Math.Max(0, Limit - live) / 2);
        return live < Limit - (Limit / 16);
    }

    private void AddGarbage(long bytes)
    {
        if (bytes >= LeastGarbage) _garbage += bytes;
    }

    private bool MakeRoom(long bytes)
    {
        if (Allocated + _reserved + bytes > Limit)
        {
            // A census helps only if enough of what was allocated since the last one may be garbage.
            if (Census is null || _live + _reserved + bytes > Limit) return false;
            Census();
            if (Allocated + _reserved + bytes > Limit) return false;
        }
        if (Allocated + _reserved + _garbage + bytes <= _heapLimit) return true;
        // The runtime may have collected most of it.
        long used = Allocated + _reserved;
        _garbage = Math.Clamp(GC.GetTotalMemory(forceFullCollection: false) - _others - used, 0, _garbage);
        if (used + _garbage + bytes <= _heapLimit) return true;
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        _garbage = 0;
        _others = Math.Max(0, GC.GetTotalMemory(forceFullCollection: false) - used);
        return true;
    }
}
