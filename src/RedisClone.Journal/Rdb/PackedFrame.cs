using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// The structure that listpacks and ziplists share: the total length at the start, the number of elements (or a value
/// for "unknown") directly before the first element, and an end mark after the last. The specific reader determines the
/// length of each element, and the frame advances by it.
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

    /// <summary>The offset of the next element.</summary>
    public int At { get; private set; }

    /// <summary>True at the end mark, where the last element must end.</summary>
    public readonly bool IsAtEnd => At == _bytes.Length - 1;

    /// <summary>The bytes from the next element to the end mark, which is excluded.</summary>
    public readonly ReadOnlySpan<byte> Rest => _bytes[At..^1];

    /// <summary>The number of elements that the header states, or -1 if the header does not state it.</summary>
    public readonly int Count => _count == UnknownCount ? -1 : _count;

    public void Pass(int length)
    {
        At += length;
        _seen++;
    }

    /// <summary>
    /// Ends the iteration. Reports damage if the number of elements differs from the header. Always returns false, as
    /// the result of the caller.
    /// </summary>
    public bool Finish(bool isSound = true) => isSound && (_count == UnknownCount || _count == _seen) ? false : Fail();

    /// <summary>Records damage. Always returns false, as the result of the caller.</summary>
    public bool Fail()
    {
        IsDamaged = true;
        return false;
    }
}
