using System.Buffers.Binary;
using System.Diagnostics;
using RedisClone.Storage.Values;

namespace RedisClone.Storage.Structures;

/// <summary>
/// The words of stream entries, one after the other: numbers, and texts with their lengths. A text of several bytes that is the
/// canonical text of an integer is stored as that integer.
/// </summary>
internal static class StreamWords
{
    private const byte LongText = 0xF0, Int8 = 0xF1, Int16 = 0xF2, Int32 = 0xF3, Int64 = 0xF4;
    private const int MaxShort = 0xEF;

    /// <summary>An upper bound of the bytes that a word takes in addition to its text.</summary>
    public const int Overhead = 5;

    /// <summary>Largest size of a number.</summary>
    public const int MaxNumber = 10;

    /// <summary>Writes a text. Returns its size.</summary>
    public static int Write(Span<byte> to, ReadOnlySpan<byte> text)
    {
        if (text.Length > 1 && IntegerText.TryParse(text, out long integer)) return WriteInteger(to, integer);
        int head = 1;
        if (text.Length <= MaxShort)
        {
            to[0] = (byte)text.Length;
        }
        else
        {
            to[0] = LongText;
            BinaryPrimitives.WriteInt32LittleEndian(to[1..], text.Length);
            head = 5;
        }
        text.CopyTo(to[head..]);
        return head + text.Length;
    }

    public static Element Read(ReadOnlySpan<byte> words, scoped ref int at)
    {
        byte head = words[at++];
        if (head <= MaxShort)
        {
            at += head;
            return new Element(words.Slice(at - head, head));
        }
        ReadOnlySpan<byte> rest = words[at..];
        switch (head)
        {
            case LongText:
                int length = BinaryPrimitives.ReadInt32LittleEndian(rest);
                at += 4 + length;
                return new Element(rest.Slice(4, length));
            case Int8:
                at++;
                return new Element((sbyte)rest[0]);
            case Int16:
                at += 2;
                return new Element(BinaryPrimitives.ReadInt16LittleEndian(rest));
            case Int32:
                at += 4;
                return new Element(BinaryPrimitives.ReadInt32LittleEndian(rest));
            case Int64:
                at += 8;
                return new Element(BinaryPrimitives.ReadInt64LittleEndian(rest));
            default:
                throw new UnreachableException("a block of a stream has an invalid word");
        }
    }

    /// <summary>The position after <paramref name="count"/> words.</summary>
    public static int Skip(ReadOnlySpan<byte> words, int at, int count)
    {
        for (; count > 0; count--)
        {
            byte head = words[at];
            at += head <= MaxShort ? 1 + head : LongSize(words, at);
        }
        return at;
    }

    public static int WriteNumber(Span<byte> to, ulong number)
    {
        int at = 0;
        for (; number >= 0x80; number >>= 7) to[at++] = (byte)(number | 0x80);
        to[at++] = (byte)number;
        return at;
    }

    public static ulong ReadNumber(ReadOnlySpan<byte> words, scoped ref int at)
    {
        byte part = words[at++];
        ulong number = part & 0x7Fu;
        for (int shift = 7; part >= 0x80; shift += 7)
        {
            part = words[at++];
            number |= (part & 0x7Ful) << shift;
        }
        return number;
    }

    private static int LongSize(ReadOnlySpan<byte> words, int at) => words[at] switch
    {
        LongText => 5 + BinaryPrimitives.ReadInt32LittleEndian(words[(at + 1)..]),
        Int8 => 2,
        Int16 => 3,
        Int32 => 5,
        Int64 => 9,
        _ => throw new UnreachableException("a block of a stream has an invalid word"),
    };

    private static int WriteInteger(Span<byte> to, long integer)
    {
        switch (integer)
        {
            case >= sbyte.MinValue and <= sbyte.MaxValue:
                to[0] = Int8;
                to[1] = (byte)integer;
                return 2;
            case >= short.MinValue and <= short.MaxValue:
                to[0] = Int16;
                BinaryPrimitives.WriteInt16LittleEndian(to[1..], (short)integer);
                return 3;
            case >= int.MinValue and <= int.MaxValue:
                to[0] = Int32;
                BinaryPrimitives.WriteInt32LittleEndian(to[1..], (int)integer);
                return 5;
            default:
                to[0] = Int64;
                BinaryPrimitives.WriteInt64LittleEndian(to[1..], integer);
                return 9;
        }
    }
}
