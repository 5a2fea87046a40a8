using System.Diagnostics.CodeAnalysis;

namespace RedisClone.Storage.Memory;

/// <summary>
/// What arenas may take of the memory that the runtime grants the process. The rest is left to requests, replies and the runtime:
/// they have no way to refuse an allocation, so keys and values are refused before the heap is full. Any thread may use it.
/// </summary>
public sealed class HeapBudget(long limit)
{
    private const long LeastReserve = 24 << 20;
    private const int ReserveShift = 4;

    private long _taken;

    /// <summary>The budget of all arenas of the process. The limit is that of the machine where nothing sets another.</summary>
    public static HeapBudget OfProcess { get; } = new(PartOf(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes));

    /// <summary>Bytes that arenas may have.</summary>
    public long Limit => limit;

    /// <summary>
    /// Little is left: a command that may take this many bytes is to be refused before its first effect. The last sixteenth is
    /// kept for commands that must take memory to end well.
    /// </summary>
    public bool IsShortFor(int bytes) => limit - Volatile.Read(ref _taken) < (limit >> ReserveShift) + bytes;

    /// <summary>The part of a heap that arenas may take.</summary>
    internal static long PartOf(long heap) => heap - Math.Max(heap >> ReserveShift, Math.Min(LeastReserve, heap / 2));

    internal void Take(long bytes)
    {
        if (Interlocked.Add(ref _taken, bytes) <= limit) return;
        Give(bytes);
        ThrowSpent();
    }

    internal void Give(long bytes) => Interlocked.Add(ref _taken, -bytes);

    [DoesNotReturn]
    private static void ThrowSpent() => throw new InsufficientMemoryException("Keys and values have all the memory that they may take.");
}
