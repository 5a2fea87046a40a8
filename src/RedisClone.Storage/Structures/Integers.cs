using System.Buffers.Binary;

namespace RedisClone.Storage.Structures;

/// <summary>
/// A small set of integers within its record, sorted, all as wide as the widest one. The layout is that of a Redis intset: width
/// in bytes (2, 4 or 8), count, integers. A DUMP or a snapshot can copy it.
/// </summary>
internal static class Integers
{
    public const int HeaderBytes = 8;

    public static void Clear(Span<byte> value)
    {
        BinaryPrimitives.WriteInt32LittleEndian(value, 2);
        BinaryPrimitives.WriteInt32LittleEndian(value[4..], 0);
    }

    public static int Count(ReadOnlySpan<byte> value) => BinaryPrimitives.ReadInt32LittleEndian(value[4..]);

    public static long At(ReadOnlySpan<byte> value, int index)
    {
        int width = Width(value);
        ReadOnlySpan<byte> item = value.Slice(HeaderBytes + index * width, width);
        return width switch
        {
            2 => BinaryPrimitives.ReadInt16LittleEndian(item),
            4 => BinaryPrimitives.ReadInt32LittleEndian(item),
            _ => BinaryPrimitives.ReadInt64LittleEndian(item),
        };
    }

    /// <summary>Bytes of the whole value.</summary>
    public static int BytesOf(ReadOnlySpan<byte> value) => HeaderBytes + Count(value) * Width(value);

    /// <summary>The index of an integer, or the complement of the index where it would be inserted.</summary>
    public static int Find(ReadOnlySpan<byte> value, long integer)
    {
        int low = 0, high = Count(value) - 1;
        while (low <= high)
        {
            int middle = (low + high) >>> 1;
            long found = At(value, middle);
            if (found == integer) return middle;
            if (found < integer) low = middle + 1;
            else high = middle - 1;
        }
        return ~low;
    }

    public static bool Add(in Entry entry, long integer)
    {
        int at = Find(entry.Value, integer);
        if (at >= 0) return false;
        at = ~at;
        int count = Count(entry.Value), width = Math.Max(WidthOf(integer), Width(entry.Value));
        entry.Keyspace.Resize(entry, HeaderBytes + (count + 1) * width);
        Span<byte> value = entry.Value;
        if (width > Width(value)) Widen(value, count, width);
        int offset = HeaderBytes + at * width;
        value[offset..(HeaderBytes + count * width)].CopyTo(value[(offset + width)..]);
        Put(value, at, integer);
        BinaryPrimitives.WriteInt32LittleEndian(value[4..], count + 1);
        return true;
    }

    public static bool Remove(in Entry entry, long integer)
    {
        Span<byte> value = entry.Value;
        int at = Find(value, integer);
        if (at < 0) return false;
        int width = Width(value), offset = HeaderBytes + at * width;
        value[(offset + width)..].CopyTo(value[offset..]);
        BinaryPrimitives.WriteInt32LittleEndian(value[4..], Count(value) - 1);
        entry.Keyspace.Resize(entry, value.Length - width);
        return true;
    }

    private static void Widen(Span<byte> value, int count, int width)
    {
        int old = Width(value);
        // Starts with the last integer, because each one moves to a place that earlier integers still occupy.
        for (int i = count - 1; i >= 0; i--)
        {
            BinaryPrimitives.WriteInt32LittleEndian(value, old);
            long integer = At(value, i);
            BinaryPrimitives.WriteInt32LittleEndian(value, width);
            Put(value, i, integer);
        }
        BinaryPrimitives.WriteInt32LittleEndian(value, width);
    }

    private static void Put(Span<byte> value, int index, long integer)
    {
        int width = Width(value);
        Span<byte> item = value.Slice(HeaderBytes + index * width, width);
        if (width == 2) BinaryPrimitives.WriteInt16LittleEndian(item, (short)integer);
        else if (width == 4) BinaryPrimitives.WriteInt32LittleEndian(item, (int)integer);
        else BinaryPrimitives.WriteInt64LittleEndian(item, integer);
    }

    private static int Width(ReadOnlySpan<byte> value) => BinaryPrimitives.ReadInt32LittleEndian(value);

    private static int WidthOf(long integer) => integer switch
    {
        >= short.MinValue and <= short.MaxValue => 2,
        >= int.MinValue and <= int.MaxValue => 4,
        _ => 8,
    };
}
