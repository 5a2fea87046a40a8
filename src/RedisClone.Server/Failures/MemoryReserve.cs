namespace RedisClone.Server.Failures;

/// <summary>
/// Memory set aside for the time when an allocation has failed: it is given to the collector then, so that the failure can be answered, logged
/// and journalled. Maintenance takes it back as soon as there is room.
/// </summary>
internal sealed class MemoryReserve(int bytes)
{
    private byte[]? _memory = GC.AllocateUninitializedArray<byte>(bytes);

    /// <summary>The memory was given away and could not be taken back yet.</summary>
    public bool IsOut => Volatile.Read(ref _memory) is null;

    /// <summary>Gives the memory to the collector.</summary>
    public void Release() => Volatile.Write(ref _memory, null);

    /// <summary>Takes the memory back if it was released; any thread may ask, and none is told that there is no room yet.</summary>
    public void Refill()
    {
        if (!IsOut) return;
        try
        {
            Volatile.Write(ref _memory, GC.AllocateUninitializedArray<byte>(bytes));
        }
        catch (OutOfMemoryException)
        {
            // The next round tries again.
        }
    }
}
