using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// What listpacks and ziplists have around their elements: the length of all in front, the number of elements right before the
/// first (or that it is unknown), a mark behind the last. Walks from element to element as the reader of either tells their lengths.
/// </summary>
internal ref struct PackedFrame
{
    private const byte End = 0xFF;
    private const int UnknownCount = 0xFFFF;

    private readonly ReadOnlySpan<byte> _bytes;
    private readonly int _count;
    private int _seen;

    public PackedFrame(ReadOnlySpan<byte> bytes, int headerLength)
    {
        _bytes = bytes;
        At = headerLength;
        IsDamaged = bytes.Length < headerLength + 1
            || BinaryPrimitives.ReadUInt32LittleEndian(bytes) != bytes.Length || bytes[^1] != End;
        if (!IsDamaged) _count = BinaryPrimitives.ReadUInt16LittleEndian(bytes[(headerLength - sizeof(ushort))..]);
    }

    public bool IsDamaged { get; private set; }

    /// <summary>Where the next element begins.</summary>
    public int At { get; private set; }

    /// <summary>Where the end mark stands: the only place where the last element may end.</summary>
    public readonly bool IsAtEnd => At == _bytes.Length - 1;

    /// <summary>From the next element on, the end mark apart.</summary>
    public readonly ReadOnlySpan<byte> Rest => _bytes[At..^1];

    /// <summary>The number of elements where the header says it, else -1.</summary>
    public readonly int Count => _count == UnknownCount ? -1 : _count;

    public void Pass(int length)
    {
        At += length;
        _seen++;
    }

    /// <summary>At the end: whether there were as many elements as the header says, if it does. False, for the caller to return.</summary>
    public bool Finish(bool isSound = true) => isSound && (_count == UnknownCount || _count == _seen) ? false : Fail();

    /// <summary>Notes damage. False, for the caller to return.</summary>
    public bool Fail()
    {
        IsDamaged = true;
        return false;
    }
}
