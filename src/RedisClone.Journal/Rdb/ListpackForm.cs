using System.Buffers.Binary;

namespace RedisClone.Journal.Rdb;

/// <summary>The bytes of a listpack: its beginning, its elements without their backward lengths, and its end.</summary>
internal static class ListpackForm
{
    public const int HeaderLength = 6, LongestHeader = 5, LongestInteger = 9;

    public const byte End = 0xFF;

    public static void WriteBeginning(Span<byte> into, int length, int count)
    {
        BinaryPrimitives.WriteInt32LittleEndian(into, length);
        BinaryPrimitives.WriteUInt16LittleEndian(into[4..], (ushort)Math.Min(count, 0xFFFF));
    }

    /// <summary>The number of bytes that precede a text.</summary>
    public static int HeaderOf(int length) => length switch { < 64 => 1, < 4096 => 2, _ => LongestHeader };

    public static void WriteHeader(Span<byte> into, int length)
    {
        switch (HeaderOf(length))
        {
            case 1:
                into[0] = (byte)(0x80 | length);
                break;
            case 2:
                into[0] = (byte)(0xE0 | length >> 8);
                into[1] = (byte)length;
                break;
            default:
                into[0] = 0xF0;
                BinaryPrimitives.WriteInt32LittleEndian(into[1..], length);
                break;
        }
    }

    /// <summary>Writes an integer, and returns its size. The room is that of the longest.</summary>
    public static int WriteInteger(Span<byte> into, long number)
    {
        int size;
        switch (number)
        {
            case >= 0 and < 128:
                into[0] = (byte)number;
                return 1;
            case >= -4096 and < 4096:
                into[0] = (byte)(0xC0 | ((number >> 8) & 0x1F));
                into[1] = (byte)number;
                return 2;
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
                size = LongestInteger;
                break;
        }
        Span<byte> eight = stackalloc byte[8];
        BinaryPrimitives.WriteInt64LittleEndian(eight, number);
        eight[..(size - 1)].CopyTo(into[1..]);
        return size;
    }
}
