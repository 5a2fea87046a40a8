using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using RedisClone.Memory;

namespace RedisClone.Storage.Memory;

/// <summary>Chunks and dedicated buffers: what they are made of, and how many there may be.</summary>
public sealed partial class Arena
{
    /// <summary>
    /// Chunks that handles can name: 30 GB of buffers that share them. A server has 16 shards a core, each with an arena.
    /// </summary>
    private const int MaxChunks = 0xF000;

    /// <summary>Handles from here on number dedicated buffers: 2^28 of them, each larger than half a chunk.</summary>
    private const uint FirstDedicated = (uint)MaxChunks << ChunkShift;

    private const int MaxDedicated = (int)(uint.MaxValue - FirstDedicated);

    /// <summary>Chunks (4 GB) and dedicated buffers that are left when <see cref="IsNearlyFull"/> says so.</summary>
    private const int ChunkHeadroom = 8192, DedicatedHeadroom = 1 << 24;

    private byte[]?[] _dedicated = [];
    private int _dedicatedLimit;
    private readonly Stack<int> _freeDedicated = new();
    private int _mostChunks = MaxChunks, _mostDedicated = MaxDedicated;
    private HeapBudget _budget = HeapBudget.OfProcess;
    private long _taken;
    private int _open;

    /// <summary>
    /// Few handles are left: a command that may take much memory is to be refused before its first effect. What is left is 4 GB
    /// of shared chunks and 2^24 dedicated buffers, more than a command takes.
    /// </summary>
    public bool IsNearlyFull { get; private set; }

    /// <summary>
    /// A change of several steps was begun and not ended: an exception that came between left a structure that must not be used.
    /// A failed allocation never does.
    /// </summary>
    public bool IsTorn => _open != 0;

    /// <summary>Begins steps that only make sense together. Nothing allocates until the end of them.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void BeginChange() => _open++;

    /// <summary>Ends them. Not called in a finally block: an exception leaves <see cref="IsTorn"/> true.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void EndChange() => _open--;

    /// <summary>Lets a test meet the limits with little memory.</summary>
    internal void Restrict(int chunks, int dedicated)
    {
        (_mostChunks, _mostDedicated) = (chunks, dedicated);
        CheckRoom();
    }

    /// <summary>The same, for the memory of all arenas.</summary>
    internal void Restrict(HeapBudget budget)
    {
        budget.Take(_taken);
        _budget.Give(_taken);
        _budget = budget;
    }

    [DoesNotReturn]
    internal static void ThrowOutOfMemory() => throw new InsufficientMemoryException("Memory for a buffer is missing.");

    /// <summary>Adds a chunk of free pages.</summary>
    private int AddChunk()
    {
        if (!_freeChunkSlots.TryPeek(out int index))
        {
            if (_chunkLimit >= _mostChunks) ThrowFull();
            if (_chunkLimit == _chunks.Length) GrowChunkTables();
            index = _chunkLimit;
        }
        FaultPoint.Allocation();
        var spans = new SpanInfo[PagesPerChunk];
        FaultPoint.Allocation();
        bool[] dirty = new bool[PagesPerChunk];
        byte[] bytes = TakeArray(ChunkBytes + PageBytes);

        if (index == _chunkLimit) _chunkLimit++;
        else _freeChunkSlots.Pop();
        _chunks[index] = new Chunk
        {
            Bytes = bytes,
            Base = MemoryHints.AlignedBase(bytes),
            Spans = spans,
            Dirty = dirty,
            FreePages = PagesPerChunk,
        };
        SetFit(index, ref _chunks[index], PagesPerChunk);
        CheckRoom();
        return index;
    }

    private void DropChunk(int index, ref Chunk chunk)
    {
        SetFit(index, ref chunk, 0);
        ReturnArray(chunk.Bytes);
        chunk = default;
        _freeChunkSlots.Push(index);                   // has room for all: see GrowChunkTables
        CheckRoom();
    }

    /// <summary>An array for buffers, out of the budget of the process.</summary>
    private byte[] TakeArray(int length)
    {
        _budget.Take(length);
        try
        {
            FaultPoint.Allocation();
            // Zero-filled pages of the system are never cleared a second time, so the array may come uninitialized.
            byte[] bytes = GC.AllocateUninitializedArray<byte>(length, pinned: true);
            _taken += length;
            return bytes;
        }
        catch
        {
            _budget.Give(length);
            throw;
        }
    }

    private void ReturnArray(byte[] bytes)
    {
        _taken -= bytes.Length;
        _budget.Give(bytes.Length);
    }

    /// <summary>A store that ends with its arena in use gives its part of the budget back.</summary>
    ~Arena() => _budget.Give(_taken);

    /// <summary>Makes every table as long as the longer table of chunks will need, and that one last.</summary>
    private void GrowChunkTables()
    {
        int length = Math.Min(_chunks.Length * 2, MaxChunks), words = (length + 63) / 64;
        FaultPoint.Allocation();
        _freeChunkSlots.EnsureCapacity(length);
        for (int level = 0; level < RoomLevels; level++)
        {
            if (words <= _roomy[level].Length) continue;
            FaultPoint.Allocation();
            Array.Resize(ref _roomy[level], words);
        }
        FaultPoint.Allocation();
        Array.Resize(ref _chunks, length);
    }

    private uint TakeDedicated(int size)
    {
        if (!_freeDedicated.TryPeek(out int index))
        {
            if (_dedicatedLimit >= _mostDedicated) ThrowFull();
            if (_dedicatedLimit == _dedicated.Length) GrowDedicatedTable();
            index = _dedicatedLimit;
        }
        byte[] bytes = TakeArray(RoundUp(size));

        if (index == _dedicatedLimit) _dedicatedLimit++;
        else _freeDedicated.Pop();
        _dedicated[index] = bytes;
        BytesUsed += bytes.Length;
        BytesReserved += bytes.Length;
        LiveBuffers++;
        CheckRoom();
        return FirstDedicated + (uint)index;
    }

    private void FreeDedicated(uint handle)
    {
        byte[] bytes = Dedicated(handle);
        MemoryHints.Release(bytes, 0, bytes.Length);
        ReturnArray(bytes);
        int index = (int)(handle - FirstDedicated);
        _dedicated[index] = null;
        _freeDedicated.Push(index);                    // has room for all: see GrowDedicatedTable
        BytesUsed -= bytes.Length;
        BytesReserved -= bytes.Length;
        LiveBuffers--;
        CheckRoom();
    }

    private void GrowDedicatedTable()
    {
        int length = (int)Math.Clamp(_dedicated.Length * 2L, 4, MaxDedicated);
        FaultPoint.Allocation();
        _freeDedicated.EnsureCapacity(length);
        FaultPoint.Allocation();
        Array.Resize(ref _dedicated, length);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private byte[] Dedicated(uint handle)
    {
        byte[]? bytes = PeekDedicated(handle);
        if (bytes is null) Refuse();
        return bytes;
    }

    /// <summary>The array of a dedicated buffer, or null. May be called without holding the shard.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private byte[]? PeekDedicated(uint handle)
    {
        byte[]?[] dedicated = _dedicated;
        uint index = handle - FirstDedicated;          // far too large where the handle is below
        return index < (uint)dedicated.Length ? dedicated[index] : null;
    }

    private void CheckRoom()
    {
        int chunks = _mostChunks - (_chunkLimit - _freeChunkSlots.Count);
        int dedicated = _mostDedicated - (_dedicatedLimit - _freeDedicated.Count);
        IsNearlyFull = chunks < Math.Min(ChunkHeadroom, _mostChunks / 8)
            || dedicated < Math.Min(DedicatedHeadroom, _mostDedicated / 8);
    }

    [DoesNotReturn]
    private static void ThrowFull() => throw new InsufficientMemoryException("The handles of a shard's buffers are used up.");

    /// <summary>A handle names no buffer: what holds it is damaged.</summary>
    [DoesNotReturn]
    private void Refuse()
    {
        BeginChange();
        throw new InvalidOperationException("A handle names no buffer of the arena, or one that was freed before.");
    }
}
