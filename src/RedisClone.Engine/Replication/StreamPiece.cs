namespace RedisClone.Engine.Replication;

/// <summary>
/// A piece of a stream or of a snapshot. Each reader references the piece that it has reached, and the stream the first piece of its
/// backlog. The stream uses one piece that all of them have passed again; the garbage collector frees the others.
/// </summary>
internal sealed class StreamPiece
{
    public const int Size = 64 * 1024;

    private int _length;
    private StreamPiece? _next;

    public byte[] Bytes { get; } = GC.AllocateUninitializedArray<byte>(Size);

    /// <summary>The number of readable bytes.</summary>
    public int Length
    {
        get => Volatile.Read(ref _length);
        set => Volatile.Write(ref _length, value);
    }

    /// <summary>The next piece; set once this piece is full.</summary>
    public StreamPiece? Next
    {
        get => Volatile.Read(ref _next);
        set => Volatile.Write(ref _next, value);
    }
}

/// <summary>The place of a reader in a chain of pieces. One thread at a time reads; any thread may ask how far it is.</summary>
internal sealed class PieceReader
{
    private StreamPiece? _piece;
    private int _position;
    private long _offset;

    /// <summary>Whether it has a place.</summary>
    public bool IsPlaced => Volatile.Read(ref _piece) is not null;

    /// <summary>The offset up to which everything is read.</summary>
    public long Offset => Volatile.Read(ref _offset);

    /// <summary>Sets the place: a position in a piece, and the offset there.</summary>
    public void Place(StreamPiece piece, int position, long offset)
    {
        (_position, _offset) = (position, offset);
        Volatile.Write(ref _piece, piece);
    }

    public void Clear() => _piece = null;

    /// <summary>The next bytes; none if there are no more yet.</summary>
    public ReadOnlySpan<byte> Next()
    {
        while (true)
        {
            int end = _piece!.Length;
            if (_position < end) return _piece.Bytes.AsSpan(_position, end - _position);
            if (_piece.Next is not { } next) return default;
            // Race: the piece may have become longer after its length was read. Next is set only after the piece is full.
            if (_position == _piece.Length) (_piece, _position) = (next, 0);
        }
    }

    /// <summary>Passes bytes that <see cref="Next"/> returned.</summary>
    public void Advance(int bytes)
    {
        _position += bytes;
        Volatile.Write(ref _offset, _offset + bytes);
    }
}
