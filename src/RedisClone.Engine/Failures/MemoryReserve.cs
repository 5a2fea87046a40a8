namespace RedisClone.Engine.Failures;

/// <summary>
/// A block of memory that is released when an allocation fails, so that the failure can be answered, logged and journalled.
/// Background maintenance allocates it again when there is enough memory.
/// </summary>
internal sealed class MemoryReserve(int bytes)
{
    private byte[]? _memory = GC.AllocateUninitializedArray<byte>(bytes);

    /// <summary>True while the memory is released and not yet allocated again.</summary>
    public bool IsOut => Volatile.Read(ref _memory) is null;

    /// <summary>Makes the memory available to the collector.</summary>
    public void Release() => Volatile.Write(ref _memory, null);

    /// <summary>
    /// Allocates the memory again if it was released. May be called on any thread, and never throws for lack of memory.
    /// </summary>
    public void Refill()
    {
        if (!IsOut) return;
        try
        {
            Volatile.Write(ref _memory, GC.AllocateUninitializedArray<byte>(bytes));
        }
        catch (OutOfMemoryException)
        {
            // The next round of maintenance tries again.
        }
    }
}
