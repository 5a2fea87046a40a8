namespace RedisClone.Storage.Memory;

/// <summary>
/// Memory of one server that belongs neither to an arena nor to a client and stays until a command frees it, such as cached scripts. It is a
/// part of the heap's budget, so that arenas leave room for it. One thread at a time may use it.
/// </summary>
public sealed class KeptMemory
{
    private HeapBudget? _budget;

    public long Bytes { get; private set; }

    ~KeptMemory() => _budget?.Give(Bytes);

    /// <summary>Notes how many bytes are kept now.</summary>
    public void Set(HeapBudget budget, long bytes)
    {
        if (bytes == Bytes && budget == _budget) return;
        _budget?.Give(Bytes);
        budget.TakeKept(bytes);
        (_budget, Bytes) = (budget, bytes);
    }
}
