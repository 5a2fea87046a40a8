namespace RedisClone.Journal.Writing;

/// <summary>A piece of the stream in memory. The segments of one group form a linked list.</summary>
internal sealed class Segment
{
    /// <summary>
    /// Room before the bytes for a header line, so that a group of one segment is written as a single span.
    /// </summary>
    public const int HeaderRoom = 128;

    private readonly int _start = HeaderRoom;
    private readonly int _end;

    public Segment(int size)
    {
        Buffer = GC.AllocateUninitializedArray<byte>(HeaderRoom + size, pinned: true);
        _end = Buffer.Length;
    }

    /// <summary>A full segment whose bytes another class has allocated. It has no room for a header.</summary>
    public Segment(ArraySegment<byte> bytes)
    {
        Buffer = bytes.Array!;
        _start = bytes.Offset;
        _end = bytes.Offset + bytes.Count;
        Length = bytes.Count;
        IsForeign = true;
    }

    public byte[] Buffer { get; }

    /// <summary>Whether the array is not one of the pool.</summary>
    public bool IsForeign { get; }

    public int Length { get; set; }

    public Segment? Next { get; set; }

    public int Free => _end - _start - Length;

    public ReadOnlySpan<byte> Bytes => Buffer.AsSpan(_start, Length);

    public ReadOnlyMemory<byte> Memory => Buffer.AsMemory(_start, Length);

    public void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Buffer.AsSpan(_start + Length));
        Length += bytes.Length;
    }
}

/// <summary>Keeps a bounded number of segments for reuse. The lock of the caller protects it.</summary>
internal sealed class SegmentPool(int segmentSize, int maxKept)
{
    private Segment? _free;
    private int _count;

    public Segment Rent()
    {
        Segment? segment = _free;
        if (segment is null) return new(segmentSize);
        _free = segment.Next;
        _count--;
        segment.Next = null;
        return segment;
    }

    public void Return(Segment? chain)
    {
        while (chain is not null)
        {
            Segment? next = chain.Next;
            if (_count < maxKept && !chain.IsForeign)
            {
                chain.Length = 0;
                chain.Next = _free;
                _free = chain;
                _count++;
            }
            chain = next;
        }
    }
}
