using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using RedisClone.Memory;

namespace RedisClone.Storage.Memory;

/// <summary>Chunks and dedicated buffers: their arrays and their limits.</summary>
public sealed partial class Arena
{
    /// <summary>
    /// Largest number of chunks that handles can name: 30 GB of shared buffers. A server has 16 shards per core, each with an
    /// arena.
    /// </summary>
    private const int MaxChunks = 0xF000;

    /// <summary>Handles from this value on number dedicated buffers: up to 2^28, each larger than half a chunk.</summary>
    private const uint FirstDedicated = (uint)MaxChunks << ChunkShift;

    private const int MaxDedicated = (int)(uint.MaxValue - FirstDedicated);

    /// <summary>Free chunks (4 GB) and dedicated buffers below which <see cref="IsNearlyFull"/> is true.</summary>
    private const int ChunkHeadroom = 8192, DedicatedHeadroom = 1 << 24;

    /// <summary>
    /// A shard of more chunks than this (8 MB) takes further ones from blocks on huge pages. There the unused pages of a chunk are resident,
    /// which is then a small part.
    /// </summary>
    private const int ChunksWithoutBlock = 4;

    private static readonly ChunkBlocks s_blocks = new(ChunkBytes, dropsSparse: HeapLimit.Bytes > 0);

    private byte[]?[] _dedicated = [];
    private int _dedicatedLimit;
    private readonly Stack<int> _freeDedicated = new();
    private int _mostChunks = MaxChunks, _mostDedicated = MaxDedicated;
    private HeapBudget _budget = HeapBudget.OfProcess;
    private long _taken;
    private int _open;
    private ChunkBlocks _blocks = s_blocks;

    /// <summary>
    /// Few handles are left, so the server refuses a command that may take much memory before its first effect. The remaining
    /// handles (4 GB of shared chunks, 2^24 dedicated buffers) are more than a running command takes.
    /// </summary>
    public bool IsNearlyFull { get; private set; }

    /// <summary>Bytes of all chunks and dedicated buffers, free pages included. They count towards the budget.</summary>
    public long BytesTaken => _taken;

    /// <summary>
    /// A change of several steps began and did not end: an exception interrupted it and left a structure that must not be used. A
    /// failed allocation never causes this.
    /// </summary>
    public bool IsTorn => _open != 0;

    /// <summary>
    /// Begins a change of several steps that must not be interrupted. Nothing allocates until <see cref="EndChange"/>.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void BeginChange() => _open++;

    /// <summary>
    /// Ends the change. It is deliberately not called in a finally block: after an exception, <see cref="IsTorn"/> stays true.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void EndChange() => _open--;

    /// <summary>Lowers the limits, for tests.</summary>
    internal void Restrict(int chunks, int dedicated)
    {
        (_mostChunks, _mostDedicated) = (chunks, dedicated);
        CheckRoom();
    }

    /// <summary>Takes every chunk from a block, for tests.</summary>
    internal void UseBlocks(ChunkBlocks blocks) => _blocks = blocks;

    /// <summary>Replaces the memory budget, for tests.</summary>
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
        byte[] bytes = TakeChunk(out int start);

        if (index == _chunkLimit) _chunkLimit++;
        else _freeChunkSlots.Pop();
        _chunks[index] = new Chunk
        {
            Bytes = bytes,
            Base = start,
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
        ReturnChunk(ref chunk);
        chunk = default;
        _freeChunkSlots.Push(index);                   // GrowChunkTables reserved room
        CheckRoom();
    }

    /// <summary>Takes the bytes of a chunk and charges them to the budget.</summary>
    private byte[] TakeChunk(out int start)
    {
        if (_blocks != s_blocks || _chunkLimit - _freeChunkSlots.Count > ChunksWithoutBlock && _blocks.AreOn)
        {
            FaultPoint.Allocation();
            _budget.Take(ChunkBytes);
            if (_blocks.TryTake(out start) is { } bytes)
            {
                _taken += ChunkBytes;
                return bytes;
            }
            _budget.Give(ChunkBytes);
        }
        byte[] own = TakeArray(ChunkBytes + PageBytes);
        start = MemoryHints.AlignedBase(own);
        return own;
    }

    /// <summary>
    /// Moves up to <paramref name="most"/> chunks out of blocks that are to be dropped. The handles of their buffers stay valid.
    /// </summary>
    internal void LeaveBlocks(int most)
    {
        for (int i = 0; i < _chunkLimit && most > 0 && _blocks.HasLeaving; i++)
        {
            ref Chunk chunk = ref _chunks[i];
            if (chunk.Bytes is null || !_blocks.IsLeaving(chunk.Bytes)) continue;
            if (_blocks.TryTake(out int start, toLeave: true) is not { } bytes) return;
            _budget.TakeKept(ChunkBytes);
            _taken += ChunkBytes;
            Move(ref chunk, bytes, start);
            most--;
        }
    }

    /// <summary>Free pages are not copied, because the copy would make them resident.</summary>
    private void Move(ref Chunk chunk, byte[] bytes, int start)
    {
        Chunk old = chunk;
        for (int page = 0; page < PagesPerChunk;)
        {
            int first = page;
            while (page < PagesPerChunk && chunk.Spans[page].Class != SpanInfo.Free) page++;
            old.Bytes.AsSpan(old.Base + (first << PageShift), (page - first) << PageShift).CopyTo(bytes.AsSpan(start + (first << PageShift)));
            for (; page < PagesPerChunk && chunk.Spans[page].Class == SpanInfo.Free; page++)
            {
                if (!chunk.Dirty[page]) continue;
                chunk.Dirty[page] = false;
                _freePages--;
            }
        }
        (chunk.Bytes, chunk.Base) = (bytes, start);
        ReturnChunk(ref old);
    }

    private void ReturnChunk(ref Chunk chunk)
    {
        bool isOfBlock = _blocks.IsBlock(chunk.Bytes);
        if (isOfBlock) _blocks.Return(chunk.Bytes, chunk.Base);
        if (isOfBlock) GiveBack(ChunkBytes);
        else GiveArrayBack(chunk.Bytes.Length);
    }

    /// <summary>Allocates an array for buffers and charges it to the budget.</summary>
    private byte[] TakeArray(int length)
    {
        _budget.TakeArray(length);
        try
        {
            FaultPoint.Allocation();
            // Pages fresh from the system are zero already, and buffers have undefined content, so the array is not cleared.
            byte[] bytes = PinnedMemory.AllocateForData(length);
            _taken += length;
            return bytes;
        }
        catch
        {
            _budget.GiveArray(length);
            throw;
        }
    }

    private void GiveBack(int bytes)
    {
        _taken -= bytes;
        _budget.Give(bytes);
    }

    private void GiveArrayBack(int bytes)
    {
        _taken -= bytes;
        _budget.GiveArray(bytes);
    }

    /// <summary>Returns the memory of an abandoned arena: to the budget, and to the blocks.</summary>
    ~Arena()
    {
        _budget.Give(_taken);
        foreach (byte[]? bytes in _dedicated)
            if (bytes is not null) _budget.ArrayIsGone(bytes.Length);
        foreach (ref Chunk chunk in _chunks.AsSpan())
        {
            if (chunk.Bytes is not null && _blocks.IsBlock(chunk.Bytes)) _blocks.Return(chunk.Bytes, chunk.Base);
        }
    }

    /// <summary>Grows all tables to the length of the next table of chunks, and grows the table of chunks last.</summary>
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
        GiveArrayBack(bytes.Length);
        int index = (int)(handle - FirstDedicated);
        _dedicated[index] = null;
        _freeDedicated.Push(index);                    // GrowDedicatedTable reserved room
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
        uint index = handle - FirstDedicated;          // wraps around to a large number for handles of chunks
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
    private static void ThrowFull() => throw new InsufficientMemoryException("The arena of a shard has no free handles.");

    /// <summary>Reports a handle that names no buffer: the structure that contains it is damaged.</summary>
    [DoesNotReturn]
    private void Refuse()
    {
        BeginChange();
        throw new InvalidOperationException("A handle names no live buffer of the arena.");
    }
}
