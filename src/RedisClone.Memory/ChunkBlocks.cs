using System.Numerics;

namespace RedisClone.Memory;

/// <summary>
/// Blocks of memory on huge pages, from which the arenas of large shards take their chunks. All arenas share them, so that the chunks of a huge
/// page are soon in use. Thread-safe.
/// </summary>
/// <remarks>
/// A block is one pinned array. Its chunks may straddle huge pages. A thread of the pool takes the memory of the next huge page ahead, because the
/// system clears it first. A chunk that comes back has released its pages, and gets small ones when it is taken again. The block itself counts
/// towards a limit of the heap until its last chunk comes back. So the arenas move their chunks out of a sparse block, see <see cref="IsLeaving"/>.
/// </remarks>
/// <param name="chunkBytes">The size of a chunk.</param>
/// <param name="dropsSparse">Whether arenas move their chunks out of sparse blocks.</param>
public sealed class ChunkBlocks(int chunkBytes, bool dropsSparse)
{
    /// <summary>30 MB with chunks of 512 KB: a block fits into a region of the garbage collector, which has 32 MB.</summary>
    private const int ChunksPerBlock = 60;

    /// <summary>A block may be this part of a heap with a limit.</summary>
    private const int HeapPart = 128;

    /// <summary>Beyond the chunks of one block, this part of the chunks in use may be free before a block is dropped.</summary>
    private const int FreePart = 8;

    /// <summary>Processor time for a page beyond which it comes from the host of a virtual machine, which takes twenty times as long as usual.</summary>
    private static readonly TimeSpan Slow = TimeSpan.FromMilliseconds(1.5);

    /// <summary>After a slow page, small pages are used for so many times its duration: the delays stay below a thousandth of the time.</summary>
    private const int RestPerPage = 2000;

    private readonly Lock _gate = new();
    private readonly Dictionary<byte[], Block> _blocks = [];
    private readonly List<Block> _roomy = [];          // blocks with free chunks
    private readonly int _blockBytes = ChunksPerBlock * chunkBytes + MemoryHints.SystemPage;

    private long _restsUntil;                          // Environment.TickCount64
    private int _free;                                 // chunks of all blocks
    private volatile Block? _leaving;                  // not among the roomy blocks

    /// <summary>Whether arenas may use blocks.</summary>
    public bool AreOn => HugePages.AreOn && HeapLimit.Part(HeapPart, int.MaxValue) >= _blockBytes;

    /// <summary>The number of blocks.</summary>
    public int Count
    {
        get
        {
            lock (_gate) return _blocks.Count;
        }
    }

    /// <summary>Whether an array is a block.</summary>
    public bool IsBlock(byte[] bytes) => bytes.Length == _blockBytes;

    /// <summary>Whether there is a block that arenas must leave.</summary>
    public bool HasLeaving => _leaving is not null;

    /// <summary>
    /// Whether the arenas must move their chunks out of this array: few of its chunks are in use, and other blocks have room for them.
    /// </summary>
    public bool IsLeaving(byte[] bytes) => ReferenceEquals(_leaving?.Bytes, bytes);

    /// <summary>
    /// Takes a chunk, whose bytes begin at <paramref name="start"/> of the array and whose content is undefined. Returns null if there is no
    /// memory for a block, or none with room if <paramref name="toLeave"/> is set because the chunk replaces one of a sparse block.
    /// </summary>
    public byte[]? TryTake(out int start, bool toLeave = false)
    {
        Block block;
        int from, to;
        start = 0;
        lock (_gate)
        {
            if (_roomy.Count == 0 && (toLeave || !TryStay() && !TryAdd())) return null;
            block = _roomy[^1];
            start = block.Take(out from, out to);
            _free--;
            if (block.IsFull) _roomy.RemoveAt(_roomy.Count - 1);
        }
        for (; from < to; from += HugePages.PageBytes) Populate(block.Bytes, from);
        block.PopulateAhead();
        return block.Bytes;
    }

    /// <summary>Returns a chunk of a block, and its pages to the system.</summary>
    public void Return(byte[] bytes, int start)
    {
        MemoryHints.Release(bytes, start, chunkBytes);
        lock (_gate)
        {
            Block block = _blocks[bytes];
            if (block.IsFull && block != _leaving) _roomy.Insert(0, block);
            block.Return(start);
            _free++;
            if (block.IsEmpty) Drop(block);
            if (dropsSparse && _leaving is null) LeaveSparsest();
        }
    }

    private void Drop(Block block)
    {
        if (block == _leaving) _leaving = null;
        else _roomy.Remove(block);
        _blocks.Remove(block.Bytes);
        _free -= ChunksPerBlock;
    }

    private void LeaveSparsest()
    {
        int used = _blocks.Count * ChunksPerBlock - _free;
        if (_roomy.Count < 2 || _free <= ChunksPerBlock + used / FreePart) return;
        Block sparsest = _roomy[0];
        foreach (Block block in _roomy)
            if (block.Free > sparsest.Free) sparsest = block;
        _roomy.Remove(sparsest);
        _leaving = sparsest;
    }

    /// <summary>Puts the block that was to be left into use again.</summary>
    private bool TryStay()
    {
        if (_leaving is not { IsFull: false } block) return false;
        _leaving = null;
        _roomy.Add(block);             // The list had room for it before.
        return true;
    }

    private void Populate(byte[] bytes, int page)
    {
        if (Environment.TickCount64 < Volatile.Read(ref _restsUntil)) return;
        TimeSpan taken = HugePages.Populate(bytes, page);
        if (taken > Slow) Volatile.Write(ref _restsUntil, Environment.TickCount64 + (long)(taken * RestPerPage).TotalMilliseconds);
    }

    private bool TryAdd()
    {
        try
        {
            // Room in both tables comes first, so that a block is in both of them or in none, and its chunks can return without memory.
            _roomy.EnsureCapacity(_blocks.Count + 1);
            _blocks.EnsureCapacity(_blocks.Count + 1);
            var block = new Block(this, PinnedMemory.Allocate(_blockBytes), chunkBytes);
            _blocks.Add(block.Bytes, block);
            _roomy.Add(block);
            _free += ChunksPerBlock;
            return true;
        }
        catch (OutOfMemoryException)
        {
            return false;
        }
    }

    /// <summary>The owner's lock guards everything but <see cref="PopulateAhead"/>.</summary>
    private sealed class Block(ChunkBlocks owner, byte[] bytes, int chunkBytes) : IThreadPoolWorkItem
    {
        private const ulong AllFree = (1ul << ChunksPerBlock) - 1;

        private readonly int _base = MemoryHints.AlignedBase(bytes);
        private int _populated = MemoryHints.AlignedBase(bytes, HugePages.PageBytes);   // up to here, huge pages have their memory, or a thread takes it
        private int _ahead;                                      // the huge page that the pool takes, or 0
        private ulong _free = AllFree;

        public byte[] Bytes => bytes;

        public bool IsFull => _free == 0;

        public bool IsEmpty => _free == AllFree;

        /// <summary>The number of free chunks.</summary>
        public int Free => BitOperations.PopCount(_free);

        /// <summary>Takes the lowest free chunk. The caller populates the huge pages from one index to another.</summary>
        public int Take(out int from, out int to)
        {
            int chunk = BitOperations.TrailingZeroCount(_free);
            _free &= _free - 1;
            int start = _base + chunk * chunkBytes, end = start + chunkBytes;
            (from, to) = (_populated, _populated);
            while (to < end && to + HugePages.PageBytes <= bytes.Length) to += HugePages.PageBytes;
            _populated = to;
            bool isNextNear = to - end < HugePages.PageBytes / 2 && to + HugePages.PageBytes <= bytes.Length;
            if (isNextNear && Interlocked.CompareExchange(ref _ahead, to, 0) == 0) _populated += HugePages.PageBytes;
            return start;
        }

        public void Return(int start) => _free |= 1ul << (start - _base) / chunkBytes;

        /// <summary>Has the pool populate the page that a take has reserved, if there is one.</summary>
        public void PopulateAhead()
        {
            if (Volatile.Read(ref _ahead) == 0) return;
            try
            {
                ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
            }
            catch (OutOfMemoryException)
            {
                // The chunk is taken. Page faults take the memory, or the next take tries again.
            }
        }

        /// <summary>A chunk may be in use already. Memory that its page faults have taken stays as it is.</summary>
        void IThreadPoolWorkItem.Execute()
        {
            int page = Interlocked.Exchange(ref _ahead, 0);
            if (page != 0) owner.Populate(bytes, page);
        }
    }
}
