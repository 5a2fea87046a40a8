namespace RedisClone.Engine.Failures;

/// <summary>
/// A block of memory that is released when an allocation fails, so that the failure can be answered, logged and journalled.
/// Background maintenance allocates it again when there is enough memory.
/// </summary>
internal sealed class MemoryReserve(int bytes)
{
    /// <summary>Attempts of work that must not fail. Each waits a millisecond longer than the one before.</summary>
    private const int Attempts = 20;

    private static Action? s_releaseAll;

    private byte[]? _memory = GC.AllocateUninitializedArray<byte>(bytes);

    /// <summary>
    /// Makes this reserve available to <see cref="TryWait"/>. The reserve lives as long as the process.
    /// </summary>
    public MemoryReserve Publish()
    {
        s_releaseAll = Release;
        return this;
    }

    /// <summary>
    /// Called after work that must not fail has failed for lack of memory: releases the reserve, and waits until other threads
    /// may have released memory too. Returns false after several attempts.
    /// </summary>
    public static bool TryWait(int attempt)
    {
        s_releaseAll?.Invoke();
        if (attempt == Attempts) return false;
        Thread.Sleep(attempt);
        return true;
    }

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
