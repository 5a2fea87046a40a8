using RedisClone.Memory;

namespace RedisClone.Engine.Failures;

/// <summary>
/// Memory that is released when an allocation fails, so that the failure can be answered, logged and journalled. Background
/// maintenance allocates it again when there is enough memory. It consists of small arrays, which the collector can move:
/// compaction makes room for them in a heap full of holes, where a large array would not find a place again.
/// </summary>
internal sealed class MemoryReserve
{
    /// <summary>Small enough for the heap of small objects.</summary>
    private const int PieceBytes = 64 * 1024;

    /// <summary>Attempts of work that must not fail. Each waits a millisecond longer than the one before.</summary>
    private const int Attempts = 20;

    private static Action? s_releaseAll;

    private readonly int _pieces;
    private readonly Func<int, byte[]> _allocate;
    private byte[][]? _memory;

    /// <param name="bytes">The size. It is rounded up to whole pieces.</param>
    /// <param name="allocate">Allocates a piece, in tests.</param>
    public MemoryReserve(int bytes, Func<int, byte[]>? allocate = null)
    {
        _pieces = (bytes + PieceBytes - 1) / PieceBytes;
        _allocate = allocate ?? (static size => GC.AllocateUninitializedArray<byte>(size));
        _memory = Allocate();
    }

    /// <summary>
    /// Makes this reserve available to <see cref="TryWait"/>. The reserve lives as long as the process.
    /// </summary>
    public MemoryReserve Publish()
    {
        s_releaseAll = Release;
        return this;
    }

    /// <summary>
    /// Called after work that must not fail has failed for lack of memory: releases the reserve, makes room in the heap, and waits
    /// until other threads may have released memory too. Returns false after several attempts.
    /// </summary>
    public static bool TryWait(int attempt)
    {
        s_releaseAll?.Invoke();
        if (attempt == Attempts) return false;
        HeapRelief.TryRelieve();
        Thread.Sleep(attempt);
        return true;
    }

    /// <summary>Releases the reserve: for a load, or because the process ends.</summary>
    public static void ReleaseAll() => s_releaseAll?.Invoke();

    /// <summary>True while the memory is released and not yet allocated again.</summary>
    public bool IsOut => Volatile.Read(ref _memory) is null;

    /// <summary>Makes the memory available to the collector.</summary>
    public void Release() => Volatile.Write(ref _memory, null);

    /// <summary>
    /// Allocates the memory again if it was released. May be called on any thread, and never throws for lack of memory. If the heap
    /// has no room, it is compacted, as often as <see cref="HeapRelief"/> permits.
    /// </summary>
    public void Refill()
    {
        if (!IsOut || TryRefill() || !HeapRelief.TryRelieve()) return;
        TryRefill();
    }

    private bool TryRefill()
    {
        try
        {
            Volatile.Write(ref _memory, Allocate());
            return true;
        }
        catch (OutOfMemoryException)
        {
            // The pieces so far are garbage. The next round of maintenance tries again.
            return false;
        }
    }

    private byte[][] Allocate()
    {
        byte[][] pieces = new byte[_pieces][];
        for (int i = 0; i < pieces.Length; i++) pieces[i] = _allocate(PieceBytes);
        return pieces;
    }
}
