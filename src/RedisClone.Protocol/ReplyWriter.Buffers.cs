using System.Buffers;
using System.Runtime.InteropServices;

namespace RedisClone.Protocol;

/// <summary>
/// The destination of the bytes of replies. Usually they go directly into the current chunk of the output. Bytes after the last
/// mark are never committed to the output, so the reply of the current command can still be dropped. The part of a reply that
/// does not fit into the chunk goes to pooled scratch, and so does everything within a deferred reply. The scratch is copied to
/// the output when the next command begins.
/// </summary>
public sealed partial class ReplyWriter
{
    /// <summary>A partial reply up to this length moves to the next chunk of the output instead of going to scratch.</summary>
    private const int MaxMovedTail = 1024;

    /// <summary>The largest chunk that is requested from the output for a reply that must stay droppable.</summary>
    private const int MaxContiguous = 16 * 1024 * 1024;

    private readonly ReplyScratch _scratch = new(scratchLimit);
    private IBufferWriter<byte> _output = output;

    // The array in use, of the output or of scratch. The bytes [_base, _pos) follow the _before bytes written earlier.
    private byte[] _array = [];
    private int _pos;
    private int _end;
    private int _base;
    private long _before;
    private long _committed;

    // The current chunk of the output: [_chunkStart, _chunkPos) is written and not committed. While no scratch is in use, _array
    // is this chunk and _pos replaces _chunkPos.
    private byte[] _chunk = [];
    private int _chunkStart;
    private int _chunkPos;
    private int _chunkEnd;
    private bool _inScratch;
    private int _deferred;

    // The last mark: a position in the chunk of the output, or in scratch within a deferred reply.
    private int _markSequence;
    private bool _marked;
    private bool _markInScratch;
    private int _markPos;
    private int _markChunks;
    private int _markHoles;
    private int _markDeferred;
    private int _markErrors;
    private long _markBytes;

    /// <summary>Bytes written since creation, committed or not.</summary>
    public long BytesWritten => _before + (_pos - _base);

    /// <summary>The largest number of uncommitted bytes. Bytes beyond it, and all later ones, are dropped.</summary>
    public long Limit { get; set; } = long.MaxValue;

    /// <summary>The limit was exceeded. The output is incomplete and useless.</summary>
    public bool Overflowed { get; private set; }

    /// <summary>
    /// Marks the beginning of a command. <see cref="Rollback"/> can drop the following bytes until the next mark or commit.
    /// </summary>
    public ReplyMark Mark()
    {
        if (_inScratch && _deferred == 0) MoveScratch();
        _marked = true;
        _markInScratch = _inScratch;
        _markPos = _pos;
        _markErrors = Errors;
        _markBytes = BytesWritten;
        if (_inScratch)
        {
            _markChunks = _scratch.ChunkCount;
            _markHoles = _scratch.HoleCount;
            _markDeferred = _deferred;
        }
        return new ReplyMark(++_markSequence);
    }

    /// <summary>
    /// Drops everything written since a mark. Returns false, with nothing dropped, if the mark is not the latest or is committed:
    /// a part of the reply may then be sent already, and the connection must be closed.
    /// </summary>
    public bool Rollback(ReplyMark mark)
    {
        if (!_marked || mark.Sequence != _markSequence) return false;
        if (_markInScratch)
        {
            _array = _scratch.CutTo(_markChunks, _markHoles);
            _end = _array.Length;
            _deferred = _markDeferred;
        }
        else if (_inScratch)
        {
            _scratch.CutTo(0, 0);
            _deferred = 0;
            BackToChunk();
        }
        _pos = _markPos;
        _base = _pos;
        _before = _markBytes;
        Errors = _markErrors;
        return true;
    }

    /// <summary>The latest mark. For an error that replaces a partly written reply.</summary>
    public ReplyMark LatestMark => new(_markSequence);

    /// <summary>Drops all uncommitted bytes and continues with another output, even after an overflow.</summary>
    public void Restart(IBufferWriter<byte> target)
    {
        _scratch.CutTo(0, 0);
        _inScratch = false;
        _deferred = 0;
        _marked = false;
        _before = _committed = BytesWritten;
        SetChunk([], 0, 0);
        _output = target;
        Overflowed = false;
    }

    /// <summary>Commits everything written to the output. Called before the output is flushed, or written to directly.</summary>
    public void Commit()
    {
        if (_deferred > 0) throw new InvalidOperationException("a deferred reply is open");
        if (_inScratch) MoveScratch();
        if (_pos > _chunkStart) _output.Advance(_pos - _chunkStart);
        _before = BytesWritten;
        _committed = _before;
        SetChunk([], 0, 0);
        _marked = false;
    }

    /// <summary>Commits everything written and continues with another output.</summary>
    public void Redirect(IBufferWriter<byte> target)
    {
        Commit();
        _output = target;
    }

    /// <summary>
    /// Begins an aggregate whose length is not known yet. Everything up to its end goes to scratch. Deferred replies nest and end
    /// in reverse order.
    /// </summary>
    public DeferredReply BeginDeferred()
    {
        if (!_inScratch) EnterScratch(ReplyScratch.HoleSize);
        Reserve(ReplyScratch.HoleSize);
        DeferredReply reply = new(_scratch.AddHole(_pos));
        _pos += ReplyScratch.HoleSize;
        _deferred++;
        return reply;
    }

    private void EndDeferred(DeferredReply reply, byte type, long count)
    {
        Span<byte> header = stackalloc byte[MaxHeader];
        EndDeferred(reply, header[..FormatHeader(type, count, header)]);
    }

    private void EndDeferred(DeferredReply reply, ReadOnlySpan<byte> header)
    {
        _scratch.FillHole(reply.Hole, header);
        _before -= ReplyScratch.HoleSize - header.Length;
        if (--_deferred == 0) LeaveScratch();
    }

    /// <summary>
    /// Makes room for this many bytes. A short reply then cannot fail for lack of memory after its command has taken effect.
    /// </summary>
    public void EnsureRoom(int size)
    {
        if (_end - _pos < size) Grow(size);
    }

    /// <summary>Room for <paramref name="size"/> contiguous bytes at _pos. The caller advances _pos. For small sizes.</summary>
    private Span<byte> Reserve(int size)
    {
        if (_end - _pos < size) Grow(size);
        return _array.AsSpan(_pos, size);
    }

    private void WriteBytes(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > _end - _pos && !_inScratch && _marked && bytes.Length <= MaxContiguous) Grow(bytes.Length);
        while (bytes.Length > _end - _pos)
        {
            int fits = _end - _pos;
            bytes[..fits].CopyTo(_array.AsSpan(_pos));
            _pos += fits;
            bytes = bytes[fits..];
            Grow(1);
        }
        bytes.CopyTo(_array.AsSpan(_pos));
        _pos += bytes.Length;
    }

    /// <summary>Gives the replies up: uncommitted bytes are never sent, and the owner of the output must close it.</summary>
    public void Overflow()
    {
        Overflowed = true;
        _output = new DiscardWriter();
    }

    private void Grow(int size)
    {
        if ((BytesWritten - _committed > Limit || _inScratch && scratchLimit is { IsExceeded: true }) && !Overflowed) Overflow();
        if (_inScratch)
        {
            NextScratchChunk(size);
            return;
        }
        int keepFrom = _marked ? _markPos : _pos;
        int tail = _pos - keepFrom;
        if (tail > MaxMovedTail || !TryNextChunk(keepFrom, tail, size)) EnterScratch(size);
    }

    /// <summary>
    /// Commits the output up to <paramref name="keepFrom"/> and gets a chunk that begins with the tail after it. The tail is
    /// carried on the stack, because the request for memory may return the old chunk to its pool.
    /// </summary>
    private bool TryNextChunk(int keepFrom, int tail, int size)
    {
        Span<byte> carried = tail == 0 ? [] : stackalloc byte[MaxMovedTail];
        _array.AsSpan(keepFrom, tail).CopyTo(carried);
        if (keepFrom > _chunkStart) _output.Advance(keepFrom - _chunkStart);
        _before += keepFrom - _base;
        // If no memory can be had, the chunk stays in use from here on.
        _chunkStart = _base = keepFrom;
        bool isArray = MemoryMarshal.TryGetArray(_output.GetMemory(tail + size), out ArraySegment<byte> memory);
        if (isArray) SetChunk(memory.Array!, memory.Offset, memory.Offset + memory.Count);
        else SetChunk([], 0, 0);
        if (_marked) _markPos = _pos;
        if (!isArray && tail > 0) EnterScratch(tail + size);
        carried[..tail].CopyTo(_array.AsSpan(_pos));
        _pos += tail;
        return isArray || _inScratch;
    }

    private void SetChunk(byte[] array, int start, int end)
    {
        _chunk = _array = array;
        _chunkStart = _pos = _base = start;
        _chunkEnd = _end = end;
    }

    private void EnterScratch(int size)
    {
        byte[] array = ScratchChunk(size);
        _chunkPos = _pos;
        _inScratch = true;
        UseScratch(array);
    }

    private void NextScratchChunk(int size)
    {
        _scratch.CloseChunk(_pos);
        UseScratch(ScratchChunk(size));
    }

    private byte[] ScratchChunk(int size) => Overflowed ? _scratch.SameChunk(size) : _scratch.NextChunk(size);

    private void UseScratch(byte[] array)
    {
        _before = BytesWritten;
        _array = array;
        _pos = _base = 0;
        _end = _array.Length;
    }

    /// <summary>
    /// Called when the last deferred reply ends. Copies the scratch to the chunk if it fits, or to the output if there is no
    /// mark. Otherwise it stays in scratch until the next command begins.
    /// </summary>
    private void LeaveScratch()
    {
        _scratch.CloseChunk(_pos);
        long length = _scratch.Length;
        if (length <= _chunkEnd - _chunkPos)
        {
            long written = BytesWritten;
            _scratch.MoveTo(_chunk.AsSpan(_chunkPos));
            BackToChunk();
            _pos = _base = _chunkPos + (int)length;
            _before = written;
        }
        else if (!_marked) MoveScratch();
    }

    private void BackToChunk()
    {
        _inScratch = false;
        _array = _chunk;
        _end = _chunkEnd;
        _pos = _chunkPos;
    }

    /// <summary>Commits the chunk and then all scratch to the output.</summary>
    private void MoveScratch()
    {
        _scratch.CloseChunk(_pos);
        _before = BytesWritten;
        try
        {
            if (_chunkPos > _chunkStart) _output.Advance(_chunkPos - _chunkStart);
            _scratch.MoveTo(_output);
        }
        catch
        {
            // A part has reached the output: nothing may follow it.
            Overflow();
            throw;
        }
        finally
        {
            _inScratch = false;
            SetChunk([], 0, 0);
        }
    }
}
