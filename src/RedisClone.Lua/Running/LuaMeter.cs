namespace RedisClone.Lua.Running;

/// <summary>
/// Counts the work and the allocated bytes of one interpreter, and refuses allocations beyond its limit. A census of
/// all reachable objects (see <see cref="MemoryCensus"/>) determines the garbage. Garbage takes memory until the
/// runtime collects it, so it is counted too. A collection is forced before live objects and garbage together exceed
/// the limit by more than an eighth.
/// </summary>
internal sealed class LuaMeter
{
    private const long FirstCensus = 48 << 10;

    /// <summary>A census that could free less than this part of the limit, a sixteenth, is not worth its time.</summary>
    private const long SmallPart = 16;

    /// <summary>
    /// Smaller amounts of garbage from one script, or between two censuses, are not counted. The runtime collects them
    /// early.
    /// </summary>
    private const long LeastGarbage = 1 << 20;

    private long _heapLimit;
    private long _limit;
    private long _live;
    private long _reserved;
    private long _garbage;

    /// <summary>
    /// The size of all other objects on the heap of the process at the last forced collection. 0 before the first.
    /// </summary>
    private long _others;

    public LuaMeter(long limit)
    {
        Limit = limit;
        CensusAt = Math.Min(FirstCensus, limit / 2);
    }

    /// <summary>
    /// The number of steps until the host is asked whether the script may continue. A negative value makes the next
    /// check ask.
    /// </summary>
    public int Budget;

    /// <summary>The most bytes of all objects. It may change while no script runs.</summary>
    public long Limit
    {
        get => _limit;
        set => (_limit, _heapLimit) = (value, value + (value / 8));
    }

    /// <summary>The live bytes at the last census plus all bytes allocated since.</summary>
    public long Allocated { get; private set; }

    /// <summary>The value of <see cref="Allocated"/> above which the next safe point takes a census.</summary>
    public long CensusAt { get; private set; }

    /// <summary>Takes a census during an allocation. Null if that is not possible.</summary>
    public Action? Census { get; set; }

    /// <summary>Asks the host for more memory than the limit. Null if there is no more.</summary>
    public Func<long, bool>? OnShortage { get; set; }

    public bool CensusDue => Allocated > CensusAt;

    /// <summary>The number of bytes that can still be allocated, without regard to garbage.</summary>
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

    /// <summary>Ends a reservation. The buffer is garbage unless it is pooled or became an object.</summary>
    public void Release(long bytes, bool isGarbage)
    {
        _reserved -= bytes;
        if (isGarbage) AddGarbage(bytes);
    }

    /// <summary>
    /// Counts work on <paramref name="bytes"/> bytes. The next check of the budget asks the host whether the script may
    /// continue.
    /// </summary>
    public void Work(long bytes) => Budget -= (int)Math.Min(bytes >> 6, 1 << 24);

    /// <summary>Releases all reservations. Only valid while no library call is in progress.</summary>
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
    /// Sets the threshold of the next census to twice the live bytes, but to at most half of the remaining memory. A
    /// single library call can therefore use half of the remaining memory before it needs a census. Returns false if
    /// the live bytes leave so little memory that one census would follow another. This is out of memory, too.
    /// </summary>
    public bool CensusTaken(long live)
    {
        if (live < Allocated) AddGarbage(Allocated - live);
        Allocated = _live = live;
        bool fits = live < Limit - (Limit / SmallPart) || TryExtend(Limit);
        CensusAt = live + Math.Min(Math.Max(live, FirstCensus), Math.Max(0, Limit - live) / 2);
        return fits;
    }

    private void AddGarbage(long bytes)
    {
        if (bytes >= LeastGarbage) _garbage += bytes;
    }

    private bool TryExtend(long bytes)
    {
        if (OnShortage is not { } ask || !ask(bytes)) return false;
        Limit += bytes;
        return true;
    }

    private bool MakeRoom(long bytes)
    {
        if (Allocated + _reserved + bytes > Limit)
        {
            // A census helps only if enough of the memory allocated since the last one may be garbage. A long reply of a command, which has no
            // safe point, would otherwise take one for each of its elements while the limit is raised by little.
            if (Census is not null && _live + _reserved + bytes <= Limit && Allocated - _live >= Limit / SmallPart) Census();
            long missing = Allocated + _reserved + bytes - Limit;
            if (missing > 0 && !TryExtend(Math.Max(missing, Limit)) && !TryExtend(Math.Max(missing, Limit / SmallPart)) && !TryExtend(missing)) return false;
        }
        if (Allocated + _reserved + _garbage + bytes <= _heapLimit) return true;
        // The runtime may have collected most of the garbage already.
        long used = Allocated + _reserved;
        _garbage = Math.Clamp(GC.GetTotalMemory(forceFullCollection: false) - _others - used, 0, _garbage);
        if (used + _garbage + bytes <= _heapLimit) return true;
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        _garbage = 0;
        _others = Math.Max(0, GC.GetTotalMemory(forceFullCollection: false) - used);
        return true;
    }
}
