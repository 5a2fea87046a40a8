using System.Buffers.Binary;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using RedisClone.Storage.Values;

namespace RedisClone.Storage.Structures;

/// <summary>
/// Elements one after the other in a span, readable forwards and backwards: the form of every small collection and of the blocks
/// of large lists. The encoding is that of a Redis listpack, so a DUMP or a snapshot can copy it.
/// </summary>
/// <remarks>
/// An entry is a head (kind and length, or a small integer), the payload, and the length of both in a form that can be read from
/// its end. If a text is the canonical text of an integer, it is always stored as that integer in the shortest form: two entries
/// are the same element if and only if their bytes are equal.
/// </remarks>
internal static class Packed
{
    private const byte Int16Head = 0xF1, Int24Head = 0xF2, Int32Head = 0xF3, Int64Head = 0xF4, LongTextHead = 0xF0;
    private const int MaxHead = 9;

    /// <summary>Bytes of the entry of an element.</summary>
    public static int SizeOf(Element element)
    {
        if (element.IsInteger) return SizeOf(element.Integer);
        int length = element.Bytes.Length;
        int body = (length < 64 ? 1 : length < 4096 ? 2 : 5) + length;
        return body + BackLength(body);
    }

    public static int SizeOf(long integer) => 1 + integer switch
    {
        >= 0 and < 128 => 1,
        >= -4096 and < 4096 => 2,
        >= short.MinValue and <= short.MaxValue => 3,
        >= -(1 << 23) and < 1 << 23 => 4,
        >= int.MinValue and <= int.MaxValue => 5,
        _ => 9,
    };

    /// <summary>
    /// Writes the entry of an element. Returns its size. A text is not converted to an integer: see <see cref="Element.Of"/>.
    /// </summary>
    public static int Write(Span<byte> to, Element element)
    {
        int body;
        if (element.IsInteger)
        {
            body = IntegerHead(to, element.Integer);
        }
        else
        {
            int head = TextHead(to, element.Bytes.Length);
            element.Bytes.CopyTo(to[head..]);
            body = head + element.Bytes.Length;
        }
        return body + WriteBackLength(to[body..], body);
    }

    /// <summary>Reads the entry at a position. <paramref name="next"/> is the position of the next entry.</summary>
    public static Element Read(ReadOnlySpan<byte> entries, int at, out int next)
    {
        byte head = entries[at];
        if (head < 0x80)
        {
            next = at + 2;
            return new Element(head);
        }
        if (head < 0xC0)
        {
            int length = head & 0x3F;
            next = at + length + 2;
            return new Element(entries.Slice(at + 1, length));
        }
        return ReadLong(entries, at, out next);
    }

    /// <summary>The position of the entry after the one at <paramref name="at"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int Next(ReadOnlySpan<byte> entries, int at)
    {
        byte head = entries[at];
        if (head < 0x80) return at + 2;
        return head < 0xC0 ? at + (head & 0x3F) + 2 : NextLong(entries, at);
    }

    public static int Skip(ReadOnlySpan<byte> entries, int at, int count)
    {
        for (; count > 0; count--) at = Next(entries, at);
        return at;
    }

    /// <summary>The position of the entry that ends at <paramref name="at"/>.</summary>
    public static int Previous(ReadOnlySpan<byte> entries, int at)
    {
        int from = at - 1;
        int body = entries[from] & 0x7F;
        for (int shift = 7; (entries[from] & 0x80) != 0; shift += 7) body |= (entries[--from] & 0x7F) << shift;
        return from - body;
    }

    /// <summary>
    /// The position of the first entry that equals an element, or -1. Compares every <paramref name="stride"/>-th entry from
    /// <paramref name="at"/> on.
    /// </summary>
    public static int Find(ReadOnlySpan<byte> entries, int at, scoped Element element, int stride = 1)
    {
        Span<byte> head = stackalloc byte[MaxHead];
        head = head[..(element.IsInteger ? IntegerHead(head, element.Integer) : TextHead(head, element.Bytes.Length))];
        ReadOnlySpan<byte> payload = element.IsInteger ? default : element.Bytes;
        byte first = head[0];
        while (at < entries.Length)
        {
            if (entries[at] == first && entries[at..].StartsWith(head) && entries[(at + head.Length)..].StartsWith(payload))
                return at;
            for (int passed = 0; passed < stride; passed++) at = Next(entries, at);
        }
        return -1;
    }

    public static int Count(ReadOnlySpan<byte> entries)
    {
        int count = 0;
        for (int at = 0; at < entries.Length; at = Next(entries, at)) count++;
        return count;
    }

    private static int NextLong(ReadOnlySpan<byte> entries, int at)
    {
        int body = BodyLength(entries, at);
        return at + body + BackLength(body);
    }

    private static Element ReadLong(ReadOnlySpan<byte> entries, int at, out int next)
    {
        byte head = entries[at];
        next = Next(entries, at);
        switch (head)
        {
            case >= 0xC0 and < 0xE0:
                int value = (head & 0x1F) << 8 | entries[at + 1];
                return new Element(value << 19 >> 19);
            case >= 0xE0 and < 0xF0:
                return new Element(entries.Slice(at + 2, (head & 0xF) << 8 | entries[at + 1]));
            case LongTextHead:
                return new Element(entries.Slice(at + 5, BinaryPrimitives.ReadInt32LittleEndian(entries[(at + 1)..])));
            case Int16Head:
                return new Element(BinaryPrimitives.ReadInt16LittleEndian(entries[(at + 1)..]));
            case Int24Head:
                return new Element(
                    (entries[at + 1] << 8 | entries[at + 2] << 16 | entries[at + 3] << 24) >> 8);
            case Int32Head:
                return new Element(BinaryPrimitives.ReadInt32LittleEndian(entries[(at + 1)..]));
            case Int64Head:
                return new Element(BinaryPrimitives.ReadInt64LittleEndian(entries[(at + 1)..]));
            default:
                throw new UnreachableException("a packed value has an invalid entry");
        }
    }

    /// <summary>Bytes of head and payload.</summary>
    private static int BodyLength(ReadOnlySpan<byte> entries, int at) => entries[at] switch
    {
        < 0x80 => 1,
        >= 0x80 and < 0xC0 => 1 + (entries[at] & 0x3F),
        >= 0xC0 and < 0xE0 => 2,
        >= 0xE0 and < 0xF0 => 2 + ((entries[at] & 0xF) << 8 | entries[at + 1]),
        LongTextHead => 5 + BinaryPrimitives.ReadInt32LittleEndian(entries[(at + 1)..]),
        Int16Head => 3,
        Int24Head => 4,
        Int32Head => 5,
        Int64Head => 9,
        _ => throw new UnreachableException("a packed value has an invalid entry"),
    };

    private static int IntegerHead(Span<byte> to, long integer)
    {
        switch (SizeOf(integer))
        {
            case 2:
                to[0] = (byte)integer;
                return 1;
            case 3:
                to[0] = (byte)(0xC0 | (integer >> 8 & 0x1F));
                to[1] = (byte)integer;
                return 2;
            case 4:
                to[0] = Int16Head;
                BinaryPrimitives.WriteInt16LittleEndian(to[1..], (short)integer);
                return 3;
            case 5:
                to[0] = Int24Head;
                to[1] = (byte)integer;
                to[2] = (byte)(integer >> 8);
                to[3] = (byte)(integer >> 16);
                return 4;
            case 6:
                to[0] = Int32Head;
                BinaryPrimitives.WriteInt32LittleEndian(to[1..], (int)integer);
                return 5;
            default:
                to[0] = Int64Head;
                BinaryPrimitives.WriteInt64LittleEndian(to[1..], integer);
                return 9;
        }
    }

    private static int TextHead(Span<byte> to, int length)
    {
        switch (length)
        {
            case < 64:
                to[0] = (byte)(0x80 | length);
                return 1;
            case < 4096:
                to[0] = (byte)(0xE0 | length >> 8);
                to[1] = (byte)length;
                return 2;
            default:
                to[0] = LongTextHead;
                BinaryPrimitives.WriteInt32LittleEndian(to[1..], length);
                return 5;
        }
    }

    /// <summary>Bytes of the length that follows a body of this size, which <see cref="Previous"/> reads.</summary>
    internal static int BackLength(int body) => body switch
    {
        <= 127 => 1,
        < 16383 => 2,
        < 2097151 => 3,
        < 268435455 => 4,
        _ => 5,
    };

    internal static int WriteBackLength(Span<byte> to, int body)
    {
        int bytes = BackLength(body);
        for (int i = bytes - 1; i >= 0; i--, body >>= 7) to[i] = (byte)(body & 0x7F | (i > 0 ? 0x80 : 0));
        return bytes;
    }
}
