using System.Buffers.Binary;
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

    private static Scan Number(ReadOnlySpan<byte> bytes, ref int at, byte prefix, out long value)
    {
        value = 0;
        if (bytes.Length - at >= OneDigit)
        {
            // Fast path: one comparison matches the prefix, a single digit and the line ending.
            uint line = BinaryPrimitives.ReadUInt32LittleEndian(bytes[at..]);
            uint only = (line >> 8 & 0xFF) - '0';
            if ((line & 0xFFFF00FF) == (0x0A0D0000u | prefix) && only <= 9)
            {
                value = only;
                at += OneDigit;
                return Scan.Complete;
            }
        }
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
