using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedisClone.Engine.Commands;
using RedisClone.Memory;
using RedisClone.Protocol;

namespace RedisClone.Engine.Clients;

/// <summary>
/// The commands between MULTI and EXEC, stored one after the other in pooled blocks. A million small commands cost little more
/// than their bytes, and nothing is copied as their number grows. All blocks are returned at once after the commands have run or
/// the client has gone.
/// </summary>
internal sealed class Transaction(CommandTable commands)
{
    /// <summary>The size up to which blocks grow. A longer command gets a block of its own.</summary>
    private const int UsualBlock = 64 * 1024;

    private readonly List<Block> _blocks = [];
    private bool _mayMove;

    public int Count { get; private set; }

    /// <summary>A command was refused while queueing, so EXEC will fail.</summary>
    public bool Aborted { get; set; }

    /// <summary>The reason why EXEC itself was refused, or null.</summary>
    public string? Refusal { get; private set; }

    /// <summary>
    /// Whether EXEC looks at the slots of the queued commands. Without cluster mode, a transaction that fails needs no shard.
    /// </summary>
    public bool NeedsShards => !Aborted || _mayMove;

    /// <summary>The union of the flags of all queued commands.</summary>
    public CommandFlags Flags { get; private set; }

    /// <summary>The flags that at least one queued command lacks.</summary>
    public CommandFlags Lacks { get; private set; }

    /// <summary>The bytes of the blocks.</summary>
    public long HeldBytes { get; private set; }

    /// <summary>The memory of the blocks.</summary>
    internal IEnumerable<ReadOnlyMemory<byte>> Blocks => _blocks.Select(block => (ReadOnlyMemory<byte>)block.Bytes);

    /// <summary>Whether the command before MULTI was ASKING, which then has its effect on the whole transaction.</summary>
    public bool IsAsking { get; init; }

    /// <summary>Makes EXEC fail with the given reason, or with a redirection if the client may be redirected.</summary>
    public void Abort(string refusal, bool mayMove)
    {
        _mayMove = mayMove && !Aborted;
        Aborted = true;
        Refusal = refusal;
    }

    /// <param name="row">The command.</param>
    /// <param name="request">Its arguments, which are copied.</param>
    /// <param name="flags">Its flags with these arguments.</param>
    /// <param name="hash">The hash of its first key.</param>
    public void Add(CommandRow row, in Request request, CommandFlags flags, ulong hash)
    {
        Flags |= flags;
        Lacks |= ~flags;
        Count++;
        int arguments = Header.Bytes + request.Count * Unsafe.SizeOf<ArgSlice>();
        int length = checked((int)((arguments + request.ArgumentBytes + Header.Alignment - 1) & -Header.Alignment));
        Span<byte> room = Room(length);
        MemoryMarshal.Write(room, new Header(row.Id, request.Count, request.WireLength, length, hash));
        Span<ArgSlice> slices = MemoryMarshal.Cast<byte, ArgSlice>(room[Header.Bytes..arguments]);
        for (int i = 0, at = arguments; i < request.Count; i++)
        {
            ReadOnlySpan<byte> argument = request[i];
            argument.CopyTo(room[at..]);
            slices[i] = new ArgSlice(at, argument.Length);
            at += argument.Length;
        }
    }

    /// <summary>The commands in the order in which they were queued.</summary>
    public Enumerator GetEnumerator() => new(this);

    /// <summary>Returns the blocks to the pool. No queued command may be read afterwards.</summary>
    public void Release()
    {
        foreach (Block block in _blocks) BufferPool.ReturnShared(block.Bytes, ofMany: true);
        _blocks.Clear();
        HeldBytes = 0;
    }

    private Span<byte> Room(int length)
    {
        if (_blocks.Count == 0 || _blocks[^1].Room < length)
        {
            int usual = _blocks.Count == 0 ? BufferPool.SmallestSize : Math.Min(_blocks[^1].Bytes.Length * 4, UsualBlock);
            byte[] bytes = BufferPool.RentShared(Math.Max(length, usual));
            _blocks.Add(new Block(bytes));
            HeldBytes += bytes.Length;
        }
        return _blocks[^1].Take(length);
    }

    /// <summary>A queued command; valid until the transaction is released.</summary>
    public readonly ref struct Queued(CommandRow row, Request request, ulong hash)
    {
        public CommandRow Row { get; } = row;

        public Request Request { get; } = request;

        /// <summary>The hash of the first key.</summary>
        public ulong Hash { get; } = hash;

        /// <summary>Whether <see cref="Hash"/> is that of the only key.</summary>
        public bool HasSingleKey => Row.HasSingleKey && Row.FirstKey < Request.Count;
    }

    public ref struct Enumerator(Transaction transaction)
    {
        private int _block;
        private int _at;
        private ReadOnlySpan<byte> _bytes;
        private Header _header;

        public readonly Queued Current
        {
            get
            {
                ReadOnlySpan<ArgSlice> slices = MemoryMarshal.Cast<byte, ArgSlice>(_bytes.Slice(Header.Bytes, _header.Arguments * Unsafe.SizeOf<ArgSlice>()));
                return new Queued(transaction.RowOf(_header), new Request(_bytes, slices, _header.WireLength), _header.Hash);
            }
        }

        public bool MoveNext()
        {
            List<Block> blocks = transaction._blocks;
            if (_block < blocks.Count && _at == blocks[_block].Used) (_block, _at) = (_block + 1, 0);
            if (_block == blocks.Count) return false;
            ReadOnlySpan<byte> rest = blocks[_block].Bytes.AsSpan(_at);
            _header = MemoryMarshal.Read<Header>(rest);
            _bytes = rest[.._header.Length];
            _at += _header.Length;
            return true;
        }
    }

    private CommandRow RowOf(Header header) => commands.All[header.Row];

    /// <summary>The header of a queued command. The slices of its arguments follow, then the arguments.</summary>
    private readonly record struct Header(int Row, int Arguments, int WireLength, int Length, ulong Hash)
    {
        public const int Bytes = 4 * sizeof(int) + sizeof(ulong);

        /// <summary>The alignment of the slices, which are read in place.</summary>
        public const int Alignment = 8;
    }

    private sealed class Block(byte[] bytes)
    {
        public byte[] Bytes { get; } = bytes;

        public int Used { get; private set; }

        public int Room => Bytes.Length - Used;

        public Span<byte> Take(int length)
        {
            Span<byte> taken = Bytes.AsSpan(Used, length);
            Used += length;
            return taken;
        }
    }
}
