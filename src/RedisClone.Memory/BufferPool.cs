using System.Numerics;

namespace RedisClone.Memory;

/// <summary>
/// Pinned byte arrays by power-of-two size, last in first out, so that a rented array is likely to be in the processor's cache.
/// Each event loop has its own pool, which needs no locks. A shared pool takes the surplus of the event loops and serves all
/// other threads. Both keep a limited amount; the garbage collector takes the rest.
/// </summary>
public sealed class BufferPool
{
    /// <summary>The size for messages. An event loop may use as many of these as it has subscribers.</summary>
    public const int SmallestSize = 1024;

    /// <summary>
    /// The size for requests and replies. It is smaller in a small heap, because each client that waits for a shard holds such an array.
    /// </summary>
    public static readonly int UsualSize = HeapLimit.IsSmall ? 4 * 1024 : 16 * 1024;

    /// <summary>Holds a value of one megabyte with its surroundings.</summary>
    private const int LargestPooled = 2 * 1024 * 1024;

    /// <summary>
    /// The bytes that a pool keeps of each size, at least two arrays. Two arrays serve a client that receives one long reply
    /// after another. The shared pool keeps arrays for several such clients, because new ones cost a page fault for each page. In a
    /// heap with a limit of less than a gigabyte, a pool keeps less, and no large arrays.
    /// </summary>
    private const int MostKeptPerSize = 1024 * 1024;
    private const int MostKeptOfLarge = 16 * MostKeptPerSize;
    private const int MostKeptOfUsual = 4 * MostKeptPerSize;
    private const int SmallHeapPart = 1024;

    /// <summary>An array of at least this size that no pool keeps returns its pages to the system at once.</summary>
    private const int LeastReleased = 1024 * 1024;

    private static readonly int KeptPerSize = (int)HeapLimit.Part(SmallHeapPart, MostKeptPerSize);
    private static readonly int KeptOfUsual = (int)HeapLimit.Part(SmallHeapPart / 4, MostKeptOfUsual);
    private static readonly Lock SharedGate = new();
    private static readonly BufferPool Shared = new(isShared: true);

    private readonly bool _isShared;
    private FreeList[] _free;

    public BufferPool()
        : this(isShared: false)
    {
    }

    private BufferPool(bool isShared)
    {
        _isShared = isShared;
        _free = CreateLists();
    }

    public byte[] Rent(int size) => TryTake(size) ?? RentShared(size);

    /// <inheritdoc cref="ReturnShared"/>
    public void Return(byte[] buffer, bool ofMany = false)
    {
        if (!TryKeep(buffer)) ReturnShared(buffer, ofMany);
    }

    /// <summary>
    /// Releases all kept arrays. Any thread may call it. All of them are released, because pinned arrays cannot move, and a
    /// single one keeps its whole region of the heap allocated. A race with a thread that returns an array to an old list
    /// only loses that array.
    /// </summary>
    public void Clear() => Volatile.Write(ref _free, CreateLists());

    public static void ClearShared() => Shared.Clear();

    public static byte[] RentShared(int size)
    {
        if (size <= LargestPooled)
        {
            lock (SharedGate)
            {
                if (Shared.TryTake(size) is { } pooled) return pooled;
            }
        }
        return PinnedMemory.Allocate(SizeFor(size));
    }

    /// <summary>
    /// Returns an array that has no user any more. If the pool does not keep it, the pages of a large array, or of one of many,
    /// return to the system at once: the garbage collector would find the array late and keep its memory.
    /// </summary>
    public static void ReturnShared(byte[] buffer, bool ofMany = false)
    {
        lock (SharedGate)
        {
            if (Shared.TryKeep(buffer)) return;
        }
        if (ofMany || buffer.Length >= LeastReleased) MemoryHints.Release(buffer, 0, buffer.Length);
    }

    private static int SizeFor(int size) => size switch
    {
        <= SmallestSize => SmallestSize,
        <= 1 << 30 => (int)BitOperations.RoundUpToPowerOf2((uint)size),
        _ => Array.MaxLength,
    };

    private static int IndexOf(int size) => BitOperations.Log2((uint)size / SmallestSize);

    private FreeList[] CreateLists()
    {
        var lists = new FreeList[IndexOf(LargestPooled) + 1];
        for (int i = 0; i < lists.Length; i++) lists[i] = new FreeList(KeptBytes(SmallestSize << i) / (SmallestSize << i));
        return lists;
    }

    private byte[]? TryTake(int size) => size <= LargestPooled ? _free[IndexOf(SizeFor(size))].TryTake() : null;

    private int KeptBytes(int size)
    {
        if (size == UsualSize) return KeptOfUsual;
        if (KeptPerSize < MostKeptPerSize) return KeptPerSize;
        return _isShared && size >= LeastReleased ? MostKeptOfLarge : Math.Max(KeptPerSize, 2 * size);
    }

    private bool TryKeep(byte[] buffer)
    {
        if (buffer.Length > LargestPooled) return false;
        FreeList list = _free[IndexOf(buffer.Length)];
        if (list.IsFull) return false;
        Poison(buffer);
        list.Add(buffer);
        return true;
    }

    [System.Diagnostics.Conditional("DEBUG")]
    private static void Poison(byte[] buffer) => buffer.AsSpan().Fill(0xDB);

    /// <summary>Free arrays of one size. The list is created with its full capacity, so that returning an array allocates nothing.</summary>
    private sealed class FreeList(int capacity)
    {
        private readonly Slot[] _slots = new Slot[capacity];
        private int _count;

        public bool IsFull => _count >= _slots.Length;

        public void Add(byte[] buffer) => _slots[_count++].Buffer = buffer;

        public byte[]? TryTake()
        {
            if (_count == 0) return null;
            ref Slot slot = ref _slots[--_count];
            byte[]? buffer = slot.Buffer;
            slot.Buffer = null;
            return buffer;
        }

        /// <summary>A store into an array of a structure needs no check of the array's type, unlike a store into an array of references.</summary>
        private struct Slot
        {
            public byte[]? Buffer;
        }
    }
}
