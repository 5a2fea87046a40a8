using System.Diagnostics.CodeAnalysis;

namespace RedisClone.Storage.Memory;

/// <summary>
/// The part of the process's heap that arenas may take. The rest is for requests, replies and the runtime: those allocations
/// cannot be refused, so the arenas refuse keys and values before the heap is full. Thread-safe.
/// </summary>
public sealed class HeapBudget(long limit)
{
    private const long LeastReserve = 24 << 20;
    private const int ReserveShift = 4;

    private long _taken;

    /// <summary>
    /// The budget of all arenas of the process. Without a configured heap limit, the limit is the memory of the machine.
    /// </summary>
    public static HeapBudget OfProcess { get; } = new(PartOf(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes));

    /// <summary>Bytes that arenas may take.</summary>
    public long Limit => limit;

    /// <summary>
    /// Little is left, so a command that may take this many bytes must be refused before its first effect. The last sixteenth is
    /// reserved for commands that need memory to complete.
    /// </summary>
    public bool IsShortFor(int bytes) => limit - Volatile.Read(ref _taken) < (limit >> ReserveShift) + bytes;

    /// <summary>
    /// Whether live objects took more than a quarter of what arenas leave to others when the collector ran last. A collector that has not run
    /// since saw no need.
    /// </summary>
    public bool IsHeapFull()
    {
        GCMemoryInfo last = GC.GetGCMemoryInfo(GCKind.Any);
        long live = last.HeapSizeBytes - last.FragmentedBytes;
        return live > limit + (last.TotalAvailableMemoryBytes - limit) / 4;
    }

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
    private static void ThrowSpent() =>
        throw new InsufficientMemoryException("The memory budget of keys and values is used up.");
}
