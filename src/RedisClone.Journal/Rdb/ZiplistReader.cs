using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>Iterates over a ziplist, the packed form of Redis before version 7, and checks its structure.</summary>
public ref struct ZiplistReader
{
    private const int HeaderLength = 10;
    private const byte LongPrevious = 0xFE;

    private readonly uint _tail;
    private PackedFrame _frame;
    private int _previous;

    public ZiplistReader(ReadOnlySpan<byte> bytes)
    {
        _frame = new(bytes, HeaderLength);
        if (!_frame.IsDamaged) _tail = BinaryPrimitives.ReadUInt32LittleEndian(bytes[4..]);
    }

    /// <summary>True after damage was found. <see cref="TryNext"/> then returns false.</summary>
    public readonly bool IsDamaged => _frame.IsDamaged;

    /// <summary>Reads the next element. Returns false at the end and on damage.</summary>
    public bool TryNext(out PackedValue value)
    {
        value = default;
        if (_frame.IsDamaged) return false;
        if (_frame.IsAtEnd) return _frame.Finish(isSound: _tail == _frame.At - _previous);
        ReadOnlySpan<byte> rest = _frame.Rest;
        int header = Previous(rest, out long previous);
        int length = header == 0 || previous != _previous ? 0 : Element(rest[header..], out value);
        if (length == 0) return _frame.Fail();
        _previous = header + length;
        _frame.Pass(_previous);
        return true;
    }

    private static int Previous(ReadOnlySpan<byte> bytes, out long previous)
    {
        previous = bytes[0];
        if (previous < LongPrevious) return 1;
        if (previous > LongPrevious || bytes.Length < 5) return 0;
        previous = BinaryPrimitives.ReadUInt32LittleEndian(bytes[1..]);
        return 5;
    }

    private static int Element(ReadOnlySpan<byte> bytes, out PackedValue value)
    {
        value = default;
        if (bytes.IsEmpty) return 0;
        int first = bytes[0];
        switch (first >> 6)
        {
            case 0:
                return PackedBytes.Text(bytes, 1, first, out value);
            case 1:
                return bytes.Length < 2 ? 0 : PackedBytes.Text(bytes, 2, (first & 0x3F) << 8 | bytes[1], out value);
            case 2:
                return bytes.Length < 5
                    ? 0
                    : PackedBytes.Text(bytes, 5, BinaryPrimitives.ReadUInt32BigEndian(bytes[1..]), out value);
        }
        switch (first)
        {
            case 0xC0 when bytes.Length >= 3:
                value = new(BinaryPrimitives.ReadInt16LittleEndian(bytes[1..]));
                return 3;
            case 0xD0 when bytes.Length >= 5:
                value = new(BinaryPrimitives.ReadInt32LittleEndian(bytes[1..]));
                return 5;
            case 0xE0 when bytes.Length >= 9:
                value = new(BinaryPrimitives.ReadInt64LittleEndian(bytes[1..]));
                return 9;
            case 0xF0 when bytes.Length >= 4:
                value = new(PackedBytes.Int24(bytes[1..]));
                return 4;
            case 0xFE when bytes.Length >= 2:
                value = new((sbyte)bytes[1]);
                return 2;
            case >= 0xF1 and <= 0xFD:
                value = new((first & 0x0F) - 1);
                return 1;
            default:
                return 0;
        }
    }
}
