using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Text;

namespace RedisClone.Journal.Format;

/// <summary>The result of a scan.</summary>
internal enum Scan
{
    Complete,

    /// <summary>The bytes are the beginning of a command.</summary>
    Incomplete,

    /// <summary>The bytes cannot become a command, whatever follows.</summary>
    Malformed,
}

/// <summary>The commands that the scanner recognizes by name.</summary>
internal enum StreamCommand
{
    Other,
    Multi,
    Exec,
    Select,
}

/// <summary>
/// Finds the end of a command in the append-only format (an array of bulk strings). The scanner ignores the values,
/// except for the names of the three commands that structure the stream. It is as strict as redis-check-aof, whereas
/// the loader of Redis is lenient.
/// </summary>
internal static class RespScanner
{
    private const int OneDigit = 4;

    /// <summary>The longest number that is read with one word: the prefix and the line ending take three bytes of it.</summary>
    private const int MostDigits = 5;

    /// <summary>The length of an empty word: its length and two line ends.</summary>
    private const int ShortestWord = 6;

    /// <summary>
    /// Scans the command at <paramref name="position"/>. If the command is complete, the position moves past it and its
    /// words are added to <paramref name="words"/>, unless that is null. If the command is incomplete,
    /// <paramref name="needed"/> is a lower bound of its length in bytes.
    /// </summary>
    public static Scan Command(
        ReadOnlySpan<byte> bytes, ref int position, WordList? words, out StreamCommand command, out int database, out long needed)
    {
        command = StreamCommand.Other;
        database = -1;
        int start = position;
        int at = position;
        needed = 4;
        Scan scan = Number(bytes, ref at, (byte)'*', out long count);
        if (scan != Scan.Complete)
        {
            needed = bytes.Length - start + 1;
            return scan;
        }
        if (count < 1) return Scan.Malformed;
        for (long i = 0; i < count; i++)
        {
            scan = Number(bytes, ref at, (byte)'$', out long length);
            if (scan != Scan.Complete)
            {
                needed = Math.Max(bytes.Length - start + 1, at - start + (count - i) * ShortestWord);
                return scan;
            }
            if (length < 0) return Scan.Malformed;
            if (length > bytes.Length - at - 2L)
            {
                needed = at - start + length + 2 + (count - 1 - i) * ShortestWord;
                return Scan.Incomplete;
            }
            ReadOnlySpan<byte> value = bytes.Slice(at, (int)length);
            words?.Add(at - start, (int)length);
            at += (int)length;
            if (bytes[at] != '\r' || bytes[at + 1] != '\n') return Scan.Malformed;
            at += 2;
            if (i == 0) command = Name(value, count);
            else if (command == StreamCommand.Select) database = DatabaseNumber(value);
        }
        position = at;
        return Scan.Complete;
    }

    private static StreamCommand Name(ReadOnlySpan<byte> name, long count) => (count, name.Length) switch
    {
        (1, 5) when Ascii.EqualsIgnoreCase(name, "multi"u8) => StreamCommand.Multi,
        (1, 4) when Ascii.EqualsIgnoreCase(name, "exec"u8) => StreamCommand.Exec,
        (2, 6) when Ascii.EqualsIgnoreCase(name, "select"u8) => StreamCommand.Select,
        _ => StreamCommand.Other,
    };

    private static int DatabaseNumber(ReadOnlySpan<byte> value) =>
        System.Buffers.Text.Utf8Parser.TryParse(value, out int number, out int used) && used == value.Length ? number : -1;

    /// <summary>Reads a prefix, a number and a line ending. Most are in the first word, so that one read shows all of it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static Scan Number(ReadOnlySpan<byte> bytes, ref int at, byte prefix, out long value)
    {
        if (bytes.Length - at < sizeof(ulong)) return NumberByByte(bytes, ref at, prefix, out value);
        ulong line = BinaryPrimitives.ReadUInt64LittleEndian(bytes[at..]);
        uint only = (uint)(line >> 8 & 0xFF) - '0';
        if ((line & 0xFFFF00FF) != (0x0A0D0000u | prefix) || only > 9)
            return TryShort(line, prefix, ref at, out value) ? Scan.Complete : NumberByByte(bytes, ref at, prefix, out value);
        value = only;
        at += OneDigit;
        return Scan.Complete;
    }

    /// <summary>Reads the prefix, a number of up to <see cref="MostDigits"/> digits and the line ending, if the word holds all of them.</summary>
    private static bool TryShort(ulong line, byte prefix, ref int at, out long value)
    {
        // Each digit becomes 0 to 9. The sum sets the highest bit of the first byte that is none, and of no byte before it.
        ulong digits = line >> 8 ^ 0x30303030303030;
        ulong others = (digits + 0x76767676767676 | digits) & 0x80808080808080;
        int count = BitOperations.TrailingZeroCount(others) / 8;
        value = 0;
        if ((byte)line != prefix || count is 0 or > MostDigits || (ushort)(line >> 8 * (count + 1)) != 0x0A0D) return false;
        // The digits move to the highest bytes, so zeros precede them. Then neighbours are added up: digits, pairs, groups of four.
        digits <<= 8 * (sizeof(ulong) - count);
        digits = digits * 10 + (digits >> 8);
        digits = (digits & 0xFF000000FF) * 0xF424000000064 + (digits >> 16 & 0xFF000000FF) * 0x271000000001;
        value = (long)(digits >> 32);
        at += count + 3;
        return true;
    }

    private static Scan NumberByByte(ReadOnlySpan<byte> bytes, ref int at, byte prefix, out long value)
    {
        value = 0;
        if (at == bytes.Length) return Scan.Incomplete;
        if (bytes[at] != prefix) return Scan.Malformed;
        int digit = at + 1;
        while (digit < bytes.Length && bytes[digit] is >= (byte)'0' and <= (byte)'9')
        {
            if (digit - at > 12) return Scan.Malformed;
            value = value * 10 + (bytes[digit++] - '0');
        }
        if (digit == bytes.Length) return Scan.Incomplete;
        if (digit == at + 1 || bytes[digit] != '\r') return Scan.Malformed;
        if (digit + 1 == bytes.Length) return Scan.Incomplete;
        if (bytes[digit + 1] != '\n') return Scan.Malformed;
        at = digit + 2;
        return Scan.Complete;
    }
}
