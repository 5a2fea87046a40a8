using System.Buffers;
using System.Runtime.InteropServices;

namespace RedisClone.Memory;

/// <summary>
/// Pinned memory for the pipes of Kestrel's sockets, which carry TLS and HTTP. Kestrel's own pool keeps free blocks for about a
/// minute, and so does the runtime's pool of arrays, from which pipes take what is larger than a block of their pool. In a heap
/// with a limit, the memory of clients that have gone would keep the heap full for that time. This pool keeps a part of the heap,
/// and releases it when memory is short. Memory larger than a block comes from <see cref="BufferPool"/>. Thread-safe.
/// </summary>
public sealed class BlockPool : MemoryPool<byte>
{
    private const int BlockBytes = 4096;

    private static readonly long MostKept = HeapLimit.Part(64, 64 << 20) / BlockBytes;

    private readonly Lock _gate = new();
    private Block? _free;
    private long _kept;

    private BlockPool()
    {
    }

    /// <summary>The pool of the process.</summary>
    public static BlockPool OfProcess { get; } = new();

    public override int MaxBufferSize => Array.MaxLength;

    public override IMemoryOwner<byte> Rent(int minBufferSize = -1)
    {
        if (minBufferSize > BlockBytes) return new Large(BufferPool.RentShared(minBufferSize));
        lock (_gate)
        {
            if (_free is { } block)
            {
                _free = block.Next;
                block.Next = null;
                block.IsRented = true;
                _kept--;
                return block;
            }
        }
        return new Block(this, PinnedMemory.Allocate(BlockBytes));
    }

    /// <summary>Releases all free blocks. Rented blocks stay valid.</summary>
    public void Clear()
    {
        lock (_gate) (_free, _kept) = (null, 0);
    }

    /// <summary>Does nothing: Kestrel disposes its pools when a server stops, and the process may have another server.</summary>
    protected override void Dispose(bool disposing)
    {
    }

    private void Return(Block block)
    {
        lock (_gate)
        {
            // A block that is disposed twice must not be rented twice.
            if (!block.IsRented) return;
            block.IsRented = false;
            if (_kept >= MostKept) return;
            block.Next = _free;
            _free = block;
            _kept++;
        }
    }

    /// <summary>A block is its own node in the list of free blocks, so returning it allocates nothing.</summary>
    private sealed class Block(BlockPool pool, byte[] bytes) : IMemoryOwner<byte>
    {
        public Block? Next { get; set; }

        public bool IsRented { get; set; } = true;

        public Memory<byte> Memory { get; } = MemoryMarshal.CreateFromPinnedArray(bytes, 0, bytes.Length);

        public void Dispose() => pool.Return(this);
    }

    private sealed class Large(byte[] bytes) : IMemoryOwner<byte>
    {
        private byte[]? _bytes = bytes;

        public Memory<byte> Memory { get; } = MemoryMarshal.CreateFromPinnedArray(bytes, 0, bytes.Length);

        public void Dispose()
        {
            if (Interlocked.Exchange(ref _bytes, null) is { } returned) BufferPool.ReturnShared(returned);
        }
    }
}
