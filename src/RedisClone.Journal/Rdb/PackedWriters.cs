using System.Buffers.Binary;
using RedisClone.Memory;

namespace RedisClone.Journal.Rdb;

/// <summary>Builds a listpack. Reusable.</summary>
public sealed class ListpackWriter
{
    private const int HeaderLength = 6, LargeBytes = 1 << 20, FirstBytes = 256;

    private byte[] _bytes = new byte[FirstBytes];
    private int _length = HeaderLength;
    private int _count;

    public int Count => _count;

    /// <summary>The length that the listpack would have if it were finished now.</summary>
    public int Length => _length + 1;

    public void Clear()
    {
        if (_bytes.Length > LargeBytes) _bytes = new byte[FirstBytes];
        _length = HeaderLength;
        _count = 0;
    }

    /// <summary>Appends an element. The text of an integer is stored as an integer.</summary>
    public void Append(ReadOnlySpan<byte> value)
    {
        if (RdbText.TryParseInteger(value, out long number))
        {
            Append(number);
            return;
        }
        int header = value.Length switch { < 64 => 1, < 4096 => 2, _ => 5 };
        Span<byte> into = Reserve(header + value.Length);
        switch (header)
        {
            case 1:
                into[0] = (byte)(0x80 | value.Length);
                break;
            case 2:
                into[0] = (byte)(0xE0 | value.Length >> 8);
                into[1] = (byte)value.Length;
                break;
            default:
                into[0] = 0xF0;
                BinaryPrimitives.WriteInt32LittleEndian(into[1..], value.Length);
                break;
        }
        value.CopyTo(into[header..]);
        Finish(header + value.Length);
    }

    public void Append(long number)
    {
        Span<byte> into = Reserve(9);
        int size;
        switch (number)
        {
            case >= 0 and < 128:
                into[0] = (byte)number;
                size = 1;
                break;
            case >= -4096 and < 4096:
                into[0] = (byte)(0xC0 | ((number >> 8) & 0x1F));
                into[1] = (byte)number;
                size = 2;
                break;
            case >= short.MinValue and <= short.MaxValue:
                into[0] = 0xF1;
                size = 3;
                break;
            case >= -(1 << 23) and < 1 << 23:
                into[0] = 0xF2;
                size = 4;
                break;
            case >= int.MinValue and <= int.MaxValue:
                into[0] = 0xF3;
                size = 5;
                break;
            default:
                into[0] = 0xF4;
                size = 9;
                break;
        }
        if (size > 2)
        {
            Span<byte> eight = stackalloc byte[8];
            BinaryPrimitives.WriteInt64LittleEndian(eight, number);
            eight[..(size - 1)].CopyTo(into[1..]);
        }
        Finish(size);
    }

    /// <summary>Returns the finished listpack, which is valid until the next append.</summary>
    public ReadOnlySpan<byte> Finish()
    {
        BinaryPrimitives.WriteInt32LittleEndian(_bytes, _length + 1);
        BinaryPrimitives.WriteUInt16LittleEndian(_bytes.AsSpan(4), (ushort)Math.Min(_count, 0xFFFF));
        _bytes[_length] = 0xFF;
        return _bytes.AsSpan(0, _length + 1);
    }

    private Span<byte> Reserve(int size)
    {
        // Includes room for the backward length of the element and for the end mark.
        int needed = _length + size + PackedBytes.MaxBackLength + 1;
        if (_bytes.Length < needed) Grow(needed);
        return _bytes.AsSpan(_length, size);
    }

    /// <summary>A large array grows by an eighth: twice its size, beside itself, may not fit into a small heap.</summary>
    private void Grow(int needed)
    {
        byte[] larger = HeapRelief.Allocate(needed <= LargeBytes ? Math.Max(needed, _bytes.Length * 2) : (int)Math.Min(needed + needed / 8L, Array.MaxLength));
        _bytes.AsSpan(0, _length).CopyTo(larger);
        _bytes = larger;
    }

    private void Finish(int size)
    {
        _length += size;
        _length += PackedBytes.WriteBackLength(_bytes.AsSpan(_length), size);
        _count++;
    }
}

/// <summary>Builds an intset from ascending numbers.</summary>
public static class IntsetWriter
{
    public static byte[] Write(ReadOnlySpan<long> ascending)
    {
        int width = ascending.IsEmpty ? 2 : Math.Max(WidthOf(ascending[0]), WidthOf(ascending[^1]));
        byte[] bytes = new byte[8 + ascending.Length * width];
        BinaryPrimitives.WriteInt32LittleEndian(bytes, width);
        BinaryPrimitives.WriteInt32LittleEndian(bytes.AsSpan(4), ascending.Length);
        Span<byte> into = bytes.AsSpan(8);
        Span<byte> eight = stackalloc byte[8];
        foreach (long number in ascending)
        {
            BinaryPrimitives.WriteInt64LittleEndian(eight, number);
            eight[..width].CopyTo(into);
            into = into[width..];
        }
        return bytes;
    }

    private static int WidthOf(long number) => number switch
    {
        >= short.MinValue and <= short.MaxValue => 2,
        >= int.MinValue and <= int.MaxValue => 4,
        _ => 8,
    };
}
