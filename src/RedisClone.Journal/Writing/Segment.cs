namespace RedisClone.Journal.Writing;

/// <summary>A piece of the stream in memory. The segments of one group form a linked list.</summary>
internal sealed class Segment(int size)
{
    /// <summary>
    /// Room before the bytes for a header line, so that a group of one segment is written as a single span.
    /// </summary>
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

/// <summary>Keeps a bounded number of segments for reuse. The lock of the caller protects it.</summary>
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
