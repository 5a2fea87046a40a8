using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>Walks a ziplist, the packed form of Redis before 7, checking its structure on the way.</summary>
public ref struct ZiplistReader
{
    private const int HeaderLength = 10;
    private const byte End = 0xFF;
    private const byte LongPrevious = 0xFE;
    private const int UnknownCount = 0xFFFF;

    private readonly ReadOnlySpan<byte> _bytes;
    private readonly int _count;
    private readonly uint _tail;
    private int _at;
    private int _seen;
    private int _previous;

    public ZiplistReader(ReadOnlySpan<byte> bytes)
    {
        _bytes = bytes;
        _at = HeaderLength;
        IsDamaged = bytes.Length < HeaderLength + 1
            || BinaryPrimitives.ReadUInt32LittleEndian(bytes) != bytes.Length || bytes[^1] != End;
        if (IsDamaged) return;
        _tail = BinaryPrimitives.ReadUInt32LittleEndian(bytes[4..]);
        _count = BinaryPrimitives.ReadUInt16LittleEndian(bytes[8..]);
    }

    /// <summary>True as soon as something is wrong; then <see cref="TryNext"/> returns false.</summary>
    public bool IsDamaged { get; private set; }

    /// <summary>The next element; false at the end, and where the ziplist is damaged.</summary>
    public bool TryNext(out PackedValue value)
    {
        value = default;
        if (IsDamaged) return false;
        if (_at == _bytes.Length - 1)
        {
            if ((_count != UnknownCount && _count != _seen) || _tail != _at - _previous) IsDamaged = true;
            return false;
        }
        var rest = _bytes[_at..^1];
        var header = Previous(rest, out var previous);
        var length = header == 0 || previous != _previous ? 0 : Element(rest[header..], out value);
        if (length == 0)
        {
            IsDamaged = true;
            return false;
        }
        _previous = header + length;
        _at += _previous;
        _seen++;
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
                return Text(bytes, 1, first, out value);
            case 1:
                return bytes.Length < 2 ? 0 : Text(bytes, 2, (first & 0x3F) << 8 | bytes[1], out value);
            case 2:
                return bytes.Length < 5 ? 0 : Text(bytes, 5, BinaryPrimitives.ReadUInt32BigEndian(bytes[1..]), out value);
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

    private static int Text(ReadOnlySpan<byte> bytes, int header, long length, out PackedValue value)
    {
        value = default;
        if (length > bytes.Length - header) return 0;
        value = new(bytes.Slice(header, (int)length));
        return header + (int)length;
    }
}
