using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>
/// Iterates over a listpack and checks its complete structure: the total length, the count, the encoding of each
/// element and the backward length after it.
/// </summary>
public ref struct ListpackReader
{
    private const int HeaderLength = 6;

    private PackedFrame _frame;

    public ListpackReader(ReadOnlySpan<byte> bytes) => _frame = new(bytes, HeaderLength);

    /// <summary>True after damage was found. <see cref="TryNext"/> then returns false.</summary>
    public readonly bool IsDamaged => _frame.IsDamaged;

    /// <summary>The number of elements that the header states, or -1 if the header does not state it.</summary>
    public readonly int Count => _frame.Count;

    /// <summary>Reads the next element. Returns false at the end and on damage.</summary>
    public bool TryNext(out PackedValue value)
    {
        value = default;
        if (_frame.IsDamaged) return false;
        if (_frame.IsAtEnd) return _frame.Finish();
        ReadOnlySpan<byte> rest = _frame.Rest;
        int length = Element(rest, out value);
        if (length == 0 || !HasBackLength(rest, ref length)) return _frame.Fail();
        _frame.Pass(length);
        return true;
    }

    private static int Element(ReadOnlySpan<byte> bytes, out PackedValue value)
    {
        value = default;
        int first = bytes[0];
        if (first < 0x80)
        {
            value = new(first);
            return 1;
        }
        if (first < 0xC0) return PackedBytes.Text(bytes, 1, first & 0x3F, out value);
        if (first < 0xE0)
        {
            if (bytes.Length < 2) return 0;
            int number = (first & 0x1F) << 8 | bytes[1];
            value = new(number >= 1 << 12 ? number - (1 << 13) : number);
            return 2;
        }
        if (first < 0xF0) return bytes.Length < 2 ? 0 : PackedBytes.Text(bytes, 2, (first & 0x0F) << 8 | bytes[1], out value);
        switch (first)
        {
            case 0xF0:
                return bytes.Length < 5
                    ? 0
                    : PackedBytes.Text(bytes, 5, BinaryPrimitives.ReadUInt32LittleEndian(bytes[1..]), out value);
            case 0xF1 when bytes.Length >= 3:
                value = new(BinaryPrimitives.ReadInt16LittleEndian(bytes[1..]));
                return 3;
            case 0xF2 when bytes.Length >= 4:
                value = new(PackedBytes.Int24(bytes[1..]));
                return 4;
            case 0xF3 when bytes.Length >= 5:
                value = new(BinaryPrimitives.ReadInt32LittleEndian(bytes[1..]));
                return 5;
            case 0xF4 when bytes.Length >= 9:
                value = new(BinaryPrimitives.ReadInt64LittleEndian(bytes[1..]));
                return 9;
            default:
                return 0;
        }
    }

    private static bool HasBackLength(ReadOnlySpan<byte> rest, ref int length)
    {
        Span<byte> expected = stackalloc byte[PackedBytes.MaxBackLength];
        int size = PackedBytes.WriteBackLength(expected, length);
        if (!rest[length..].StartsWith(expected[..size])) return false;
        length += size;
        return true;
    }
}

/// <summary>Functions that the packed forms share.</summary>
internal static class PackedBytes
{
    public const int MaxBackLength = 5;

    /// <summary>
    /// Reads a text element after a header. Returns its length including the header, or 0 if the bytes end too early.
    /// </summary>
    public static int Text(ReadOnlySpan<byte> bytes, int header, long length, out PackedValue value)
    {
        value = default;
        if (length > bytes.Length - header) return 0;
        value = new(bytes.Slice(header, (int)length));
        return header + (int)length;
    }

    public static int Int24(ReadOnlySpan<byte> bytes) => (bytes[0] | bytes[1] << 8 | bytes[2] << 16) << 8 >> 8;

    /// <summary>
    /// Writes the backward length of a listpack element: seven bits per byte, most significant first, with the high bit
    /// set in all bytes but the first. The size limits are those of Redis, which uses the next larger size for the
    /// highest value of each size.
    /// </summary>
    public static int WriteBackLength(Span<byte> into, int length)
    {
        int size = length switch { <= 127 => 1, < 16383 => 2, < 2097151 => 3, < 268435455 => 4, _ => 5 };
        for (int i = size - 1; i >= 0; i--, length >>= 7) into[i] = (byte)((length & 127) | (i > 0 ? 128 : 0));
        return size;
    }
}
