namespace RedisClone.Journal.Writing;

/// <summary>A piece of the stream in memory. Segments of one group are chained.</summary>
internal sealed class Segment(int size)
{
    /// <summary>Room in front of the bytes, so that a group of one segment is written, header and all, as one span.</summary>
    public const int HeaderRoom = 128;

    public byte[] Buffer { get; } = GC.AllocateUninitializedArray<byte>(HeaderRoom + size, pinned: true);

    public int Length { get; set; }

    public Segment? Next { get; set; }

    public int Free => Buffer.Length - HeaderRoom - Length;

    public ReadOnlySpan<byte> Bytes => Buffer.AsSpan(HeaderRoom, Length);

    public ReadOnlyMemory<byte> Memory => Buffer.AsMemory(HeaderRoom, Length);

    public void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Buffer.AsSpan(HeaderRoom + Length));
        Length += bytes.Length;
    }
}

/// <summary>Keeps segments for reuse, up to a bound. The callers' lock protects it.</summary>
internal sealed class SegmentPool(int segmentSize)
{
    private const int MaxKept = 64;

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
            if (_count < MaxKept)
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
