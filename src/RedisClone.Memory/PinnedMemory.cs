namespace RedisClone.Memory;

/// <summary>
/// Pinned arrays. The collector cannot move them, so the holes between them are of no use to other objects. In a heap with a
/// limit, unused pinned arrays must be collected before new ones extend the heap: otherwise the heap would fill with holes, and
/// small allocations would fail.
/// </summary>
public static class PinnedMemory
{
    /// <summary>A collection runs after pinned arrays of this part of the heap were allocated: a sixteenth.</summary>
    private const int PartBetweenCollections = 16;

    private static readonly long BytesBetweenCollections = HeapLimit.Part(PartBetweenCollections, long.MaxValue);

    private static long s_bytes;
    private static int s_collections;

    public static byte[] Allocate(int size) => Allocate(size, pinned: true);

    /// <summary>
    /// Allocates an array that only managed code refers to. It is pinned so that whole pages of it can be returned to the system, except in a
    /// small heap: there, a collection can close the holes between such arrays.
    /// </summary>
    public static byte[] AllocateForData(int size) => Allocate(size, !HeapLimit.IsSmall);

    private static byte[] Allocate(int size, bool pinned)
    {
        if (BytesBetweenCollections != long.MaxValue) Note(size);
        return HeapRelief.Allocate(size, pinned);
    }

    private static void Note(int size)
    {
        int collections = GC.CollectionCount(GC.MaxGeneration);
        if (Interlocked.Exchange(ref s_collections, collections) != collections) Volatile.Write(ref s_bytes, 0);
        if (Interlocked.Add(ref s_bytes, size) < BytesBetweenCollections) return;
        Volatile.Write(ref s_bytes, 0);
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: HeapLimit.IsSmall, compacting: false);
    }
}
