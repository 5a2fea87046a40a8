using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using RedisClone.Memory;

namespace RedisClone.Storage.Memory;

/// <summary>
/// The memory of one shard. Buffers of fixed size classes are cut out of large pinned arrays, which the garbage collector does
/// not walk. A handle names a buffer; handle 0 names none. All access goes through bounds-checked spans: a stale handle can read
/// wrong bytes, but only bytes of arenas. Not thread-safe: only the thread that holds the shard may use it.
/// </summary>
/// <remarks>
/// A handle consists of the chunk number (16 bits) and the 8-byte unit within the chunk (16 bits). Handles from
/// <see cref="FirstDedicated"/> on number dedicated buffers, each of which is an array of its own. Every method allocates before
/// its first change, so an <see cref="OutOfMemoryException"/> leaves the arena unchanged.
/// </remarks>
public sealed partial class Arena
{
    internal const int UnitShift = 3;
    private const int ChunkShift = 16;
    private const int ChunkBytes = 1 << (ChunkShift + UnitShift);
    private const int PageShift = 12;
    private const int PageBytes = 1 << PageShift;
    private const int PagesPerChunk = ChunkBytes / PageBytes;
    private const int UnitsPerPageShift = PageShift - UnitShift;
    private const int CacheLine = 64;
    private const int RoomLevels = 8;

    /// <summary>
    /// Largest buffer that shares a chunk with other buffers. A larger buffer is dedicated: an array of its own. In a small heap, buffers of many
    /// pages would leave chunks full of holes, while the collector closes the holes between arrays.
    /// </summary>
    private static readonly int MaxShared = HeapLimit.IsSmall ? ChunkBytes / 16 : ChunkBytes / 2;

    private Chunk[] _chunks = new Chunk[4];            // at most MaxChunks long: see Bytes
    private int _chunkLimit = 1;                       // chunk 0 stays empty, because handle 0 names no buffer
    private readonly Stack<int> _freeChunkSlots = new(4);

    /// <summary>Per level: one bit for each chunk that may have 2^level free pages in a row.</summary>
    private readonly ulong[][] _roomy = new ulong[RoomLevels][];

    private readonly int[] _partial = new int[SizeClasses.Count + 1];  // per class: a span id with free buffers, or 0
    private readonly int[] _empty = new int[SizeClasses.Count + 1];    // per class: span id of the empty slab that is kept, or 0
    private long _freePages;                           // free pages of shared chunks that may be resident

    public Arena()
    {
        for (int level = 0; level < RoomLevels; level++) _roomy[level] = new ulong[1];
    }

    /// <summary>Bytes of all live buffers, rounded up to their size classes. This is exact, and maxmemory counts it.</summary>
    public long BytesUsed { get; private set; }

    /// <summary>Bytes taken from the process for live buffers and for their slabs.</summary>
    public long BytesReserved { get; private set; }

    /// <summary>Number of live buffers. If it is not zero after everything is freed, there is a leak.</summary>
    public long LiveBuffers { get; private set; }

    /// <summary>Allocates a buffer of at least <paramref name="size"/> bytes. Its content is undefined.</summary>
#if DEBUG
    public uint Allocate(int size, [CallerFilePath] string owner = "", [CallerLineNumber] int line = 0)
    {
        FaultPoint.Allocation();
        uint handle = Take(size);
        Enter(handle, owner, line);
        return handle;
    }
#else
    public uint Allocate(int size) => Take(size);
#endif

    /// <summary>
    /// Allocates a buffer, or returns 0 if memory is missing. For optional work, and for changes that the caller can undo.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal uint TryAllocate(int size)
    {
        try
        {
            return Allocate(size);
        }
        catch (OutOfMemoryException)
        {
            return 0;
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private uint Take(int size)
    {
        Debug.Assert(size >= 0);
        if (size > SizeClasses.MaxSmall) return size > MaxShared ? TakeDedicated(size) : TakeLarge(size);
        int sizeClass = SizeClasses.ClassOf(size);
        int id = _partial[sizeClass];
        if (id == 0) id = NewSlab(sizeClass);

        ref Chunk chunk = ref _chunks[id >> 8];
        ref SpanInfo slab = ref chunk.Spans[id & 0xFF];
        int bytes = SizeClasses.SizeOf(sizeClass);
        int unit;                                      // relative to the slab
        if (slab.FreeHead != SpanInfo.NoUnit)
        {
            unit = slab.FreeHead;
            int at = chunk.Base + ((id & 0xFF) << PageShift) + (unit << UnitShift);
            slab.FreeHead = Unsafe.ReadUnaligned<ushort>(ref chunk.Bytes[at]);
        }
        else
        {
            unit = slab.Bump;
            slab.Bump += (ushort)(bytes >> UnitShift);
        }
        if (slab.Used == 0 && _empty[sizeClass] == id) _empty[sizeClass] = 0;
        _used[sizeClass]++;
        if (++slab.Used == slab.Capacity) Unlink(id, ref slab);
        BytesUsed += bytes;
        LiveBuffers++;
        return (uint)((id >> 8) << ChunkShift | ((id & 0xFF) << UnitsPerPageShift) + unit);
    }

    /// <summary>Frees a buffer.</summary>
    public void Free(uint handle)
    {
        Leave(handle);
        if (handle >= FirstDedicated)
        {
            FreeDedicated(handle);
            return;
        }
        ref Chunk chunk = ref _chunks[handle >> ChunkShift];
        int unit = (int)(handle & 0xFFFF);
        int page = unit >> UnitsPerPageShift;
        int start = chunk.Spans[page].Start;
        ref SpanInfo span = ref chunk.Spans[start];
        int id = (int)(handle >> ChunkShift) << 8 | start;
        if (span.Class == SpanInfo.Large)
        {
            int bytes = span.Pages << PageShift;
            Poison(handle, bytes);
            LiveBuffers--;
            BytesUsed -= bytes;
            FreeSpan(id);
            return;
        }
        if (span.Used == 0) Refuse();
        int size = SizeClasses.SizeOf(span.Class);
        Poison(handle, size);
        int relative = unit - (start << UnitsPerPageShift);
        Unsafe.WriteUnaligned(ref chunk.Bytes[chunk.Base + (unit << UnitShift)], span.FreeHead);
        span.FreeHead = (ushort)relative;
        LiveBuffers--;
        BytesUsed -= size;
        _used[span.Class]--;
        if (span.Used-- == span.Capacity) Link(id, ref span);
        if (span.Used > 0) return;
        if (span.Leaving)
        {
            BytesCompacted += span.Pages << PageShift;
            _slabs[span.Class]--;
            FreeSpan(id);
            return;
        }
        // Keeps one empty slab per class: otherwise, allocating and freeing a single buffer in turn would create and drop a slab
        // each time.
        ref int kept = ref _empty[span.Class];
        if (kept == 0) kept = id;
        else DropSlab(id, ref span);
    }

    /// <summary>The first bytes of a buffer.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Span<byte> Bytes(uint handle, int length)
    {
        // One comparison separates dedicated buffers from shared ones and also replaces the bounds check of the index.
        Chunk[] chunks = _chunks;
        uint index = handle >> ChunkShift;
        if (index >= (uint)chunks.Length) return Dedicated(handle).AsSpan(0, length);
        ref readonly Chunk chunk = ref chunks[index];
        return chunk.Bytes.AsSpan(chunk.Base + (int)((handle & 0xFFFF) << UnitShift), length);
    }

    /// <summary>A buffer from its first byte to the end of its chunk, for content that states its own length.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal Span<byte> FromStart(uint handle)
    {
        Chunk[] chunks = _chunks;
        uint index = handle >> ChunkShift;
        if (index >= (uint)chunks.Length) return Dedicated(handle);
        ref readonly Chunk chunk = ref chunks[index];
        return chunk.Bytes.AsSpan(chunk.Base + (int)((handle & 0xFFFF) << UnitShift));
    }

    /// <summary>All bytes of a buffer, including the bytes added by rounding.</summary>
    public Span<byte> Whole(uint handle) => Bytes(handle, Capacity(handle));

    /// <summary>The number of bytes that a buffer can hold.</summary>
    public int Capacity(uint handle)
    {
        if (handle >= FirstDedicated) return Dedicated(handle).Length;
        ref readonly Chunk chunk = ref _chunks[handle >> ChunkShift];
        ref readonly SpanInfo span = ref chunk.Spans[chunk.Spans[(int)(handle & 0xFFFF) >> UnitsPerPageShift].Start];
        return span.Class == SpanInfo.Large ? span.Pages << PageShift : SizeClasses.SizeOf(span.Class);
    }

    /// <summary>The size of a buffer as <see cref="Allocate"/> takes it. Throws if no buffer can be so large.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static int SizeOf(long bytes)
    {
        if (bytes > Array.MaxLength) ThrowOutOfMemory();
        return (int)bytes;
    }

    /// <summary>The capacity of the buffer that <see cref="Allocate"/> returns for a size.</summary>
    public static int RoundUp(int size) => size switch
    {
        <= SizeClasses.MaxSmall => SizeClasses.SizeOf(SizeClasses.ClassOf(size)),
        _ => (size + PageBytes - 1) & -PageBytes,
    };

    /// <summary>
    /// Prefetches a buffer. May be called without holding the shard: every load is bounds-checked and a dropped chunk is skipped,
    /// so a stale handle only fetches a useless cache line.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Prefetch(uint handle, int lines)
    {
        Chunk[] chunks = _chunks;
        uint index = handle >> ChunkShift;
        if (index >= (uint)chunks.Length)
        {
            MemoryHints.PrefetchStart(PeekDedicated(handle), lines);
            return;
        }
        ref readonly Chunk chunk = ref chunks[index];
        byte[]? bytes = chunk.Bytes;
        int at = chunk.Base + (int)((handle & 0xFFFF) << UnitShift);
        if (bytes is null || (uint)at + CacheLine >= (uint)bytes.Length) return;
        MemoryHints.Prefetch(in bytes[at]);
        if (lines > 1) MemoryHints.Prefetch(in bytes[at + CacheLine]);
    }

    /// <summary>Reads a bucket without holding the shard, for prefetching only. Empty if the bucket is not there.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ReadOnlySpan<byte> Peek(uint handle, int length)
    {
        Chunk[] chunks = _chunks;
        uint index = handle >> ChunkShift;
        if (index >= (uint)chunks.Length)
        {
            byte[]? own = PeekDedicated(handle);
            return own is null || own.Length < length ? default : own.AsSpan(0, length);
        }
        ref readonly Chunk chunk = ref chunks[index];
        byte[]? bytes = chunk.Bytes;
        int at = chunk.Base + (int)((handle & 0xFFFF) << UnitShift);
        if (bytes is null || (uint)at + (uint)length > (uint)bytes.Length) return default;
        return bytes.AsSpan(at, length);
    }

    private uint TakeLarge(int size)
    {
        int pages = (size + PageBytes - 1) >> PageShift;
        int id = AllocateSpan(pages, SpanInfo.Large);
        BytesUsed += pages << PageShift;
        LiveBuffers++;
        return (uint)((id >> 8) << ChunkShift | (id & 0xFF) << UnitsPerPageShift);
    }

    private int NewSlab(int sizeClass)
    {
        int bytes = SizeClasses.SlabBytes(sizeClass);
        int id = AllocateSpan(bytes >> PageShift, (byte)sizeClass);
        ref SpanInfo slab = ref _chunks[id >> 8].Spans[id & 0xFF];
        slab.Capacity = (ushort)(bytes / SizeClasses.SizeOf(sizeClass));
        slab.FreeHead = SpanInfo.NoUnit;
        _slabs[sizeClass]++;
        Link(id, ref slab);
        return id;
    }

    private int AllocateSpan(int pages, byte kind)
    {
        // First fit, lowest chunk first: live data gathers in the lower chunks, and the upper chunks become empty and are
        // dropped.
        ulong[] roomy = _roomy[BitOperations.Log2((uint)pages)];
        for (int word = 0; word < roomy.Length; word++)
        {
            for (ulong left = roomy[word]; left != 0; left &= left - 1)
            {
                int index = word << 6 | BitOperations.TrailingZeroCount(left);
                ref Chunk chunk = ref _chunks[index];
                if (chunk.FitLimit < pages) continue;
                int start = chunk.FindFree(pages);
                if (start >= 0) return TakeSpan(index, start, pages, kind);
                SetFit(index, ref chunk, pages - 1);
            }
        }
        return TakeSpan(AddChunk(), 0, pages, kind);
    }

    private int TakeSpan(int index, int start, int pages, byte kind)
    {
        ref Chunk chunk = ref _chunks[index];
        for (int page = start; page < start + pages; page++)
        {
            if (chunk.Dirty[page]) _freePages--;
            chunk.Dirty[page] = true;
            chunk.Spans[page] = new SpanInfo { Class = SpanInfo.Inner, Start = (byte)start };
        }
        chunk.Spans[start].Class = kind;
        chunk.Spans[start].Pages = (ushort)pages;
        chunk.FreePages -= pages;
        if (chunk.FreePages < chunk.FitLimit) SetFit(index, ref chunk, chunk.FreePages);
        BytesReserved += pages << PageShift;
        return index << 8 | start;
    }

    private void FreeSpan(int id)
    {
        ref Chunk chunk = ref _chunks[id >> 8];
        int start = id & 0xFF;
        int pages = chunk.Spans[start].Pages;
        chunk.Spans.AsSpan(start, pages).Clear();
        chunk.FreePages += pages;
        SetFit(id >> 8, ref chunk, chunk.FreePages);
        _freePages += pages;
        BytesReserved -= pages << PageShift;
    }

    /// <summary>Records the longest possible run of free pages in a chunk.</summary>
    private void SetFit(int index, ref Chunk chunk, int pages)
    {
        chunk.FitLimit = pages;
        int word = index >> 6;
        ulong bit = 1ul << index;
        for (int level = 0; level < RoomLevels; level++)
        {
            if (pages >= 1 << level) _roomy[level][word] |= bit;
            else _roomy[level][word] &= ~bit;
        }
    }

    private void DropSlab(int id, ref SpanInfo slab)
    {
        Unlink(id, ref slab);
        _slabs[slab.Class]--;
        FreeSpan(id);
    }

    private void Link(int id, ref SpanInfo span)
    {
        int head = _partial[span.Class];
        span.Previous = 0;
        span.Next = head;
        if (head != 0) _chunks[head >> 8].Spans[head & 0xFF].Previous = id;
        _partial[span.Class] = id;
    }

    private void Unlink(int id, ref SpanInfo span)
    {
        if (span.Previous != 0) _chunks[span.Previous >> 8].Spans[span.Previous & 0xFF].Next = span.Next;
        else if (_partial[span.Class] == id) _partial[span.Class] = span.Next;
        if (span.Next != 0) _chunks[span.Next >> 8].Spans[span.Next & 0xFF].Previous = span.Previous;
        span.Next = span.Previous = 0;
    }

    private struct Chunk
    {
        public byte[] Bytes;
        public int Base;
        public int FreePages;
        public int FitLimit;          // upper bound of the longest run of free pages
        public SpanInfo[] Spans;      // by page
        public bool[] Dirty;          // by page: used since it was last released to the system

        public readonly int FindFree(int pages)
        {
            int run = 0;
            for (int page = 0; page < PagesPerChunk; page++)
            {
                run = Spans[page].Class == SpanInfo.Free ? run + 1 : 0;
                if (run == pages) return page - pages + 1;
            }
            return -1;
        }
    }

    /// <summary>A run of pages: a slab of small buffers, one large buffer, or free pages.</summary>
    private struct SpanInfo
    {
        public const byte Free = 0, Large = 253, Inner = 255;
        public const ushort NoUnit = ushort.MaxValue;

        public byte Class;
        public byte Start;            // the first page of the run
        public bool Leaving;          // a slab that compaction empties; it is in no list
        public ushort Pages;
        public ushort Capacity, Used, Bump, FreeHead;
        public int Previous, Next;    // list of slabs of the same class with free buffers
    }
}
