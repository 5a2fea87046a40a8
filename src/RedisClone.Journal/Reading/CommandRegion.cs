using System.Buffers.Text;
using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>
/// Reads commands without checksums, by the rules of the Redis loader: annotation lines are skipped, a transaction
/// counts only with its EXEC, and a short read at the end is distinguished from a bad format.
/// </summary>
internal static class CommandRegion
{
    private const string ShortReadReason = "Unexpected end of file reading the append only file";

    private static ReadOnlySpan<byte> Timestamp => "#TS:"u8;

    private static ReadOnlySpan<byte> RedisSelect => "*2\r\n$6\r\nSELECT\r\n"u8;

    /// <summary>The number of bytes that suffices to recognize the first command that Redis appends.</summary>
    public const int BeginningLength = 64;

    /// <summary>Returns true if a command or a timestamp annotation of Redis begins here.</summary>
    public static bool BeginsAt(ReadOnlySpan<byte> bytes) => bytes is [(byte)'*', ..] || IsTimestamp(bytes);

    /// <summary>
    /// Returns true if the bytes are the beginning of appended Redis output: SELECT in upper case, or a timestamp.
    /// Neither occurs in a group of this server, except inside a value.
    /// </summary>
    public static bool BeginsWithRedis(ReadOnlySpan<byte> bytes) =>
        IsTimestamp(bytes) || bytes.StartsWith(RedisSelect) || bytes.StartsWith("*1\r\n$5\r\nMULTI\r\n*2\r\n$6\r\nSELECT\r\n"u8);

    /// <summary>Reads from the position of the window to the end of the file.</summary>
    public static FileResult Read(FileWindow window, StreamState state, IJournalSink sink)
    {
        while (true)
        {
            UnitStep step = Step(window, state);
            if (step.Scan == Scan.Malformed) return BadFormat(window, state);
            if (step.Scan == Scan.Incomplete) return new(FileEnd.ShortRead, window.Offset, ShortReadReason);
            if (step.Length == 0) return new(FileEnd.Whole, window.Offset);
            ReadOnlySpan<byte> bytes = window.Bytes[..step.Length];
            if (bytes.StartsWith(GroupHeader.Tag))
                return new(FileEnd.Refused, window.Offset, "a group follows commands outside of groups");
            if (state.Take(step, bytes, isVerified: false, sink) is { } error) return new(FileEnd.Refused, window.Offset, error);
            window.Advance(step.Length);
        }
    }

    /// <summary>
    /// Finds the offset at which Redis continued the file, or -1. The window is at the start of a command and moves
    /// from command to command. In output of this server, a command is followed by another command, a line of this
    /// server or blank bytes.
    /// </summary>
    public static long FindContinuation(FileWindow window)
    {
        while (true)
        {
            window.Fill(Math.Min(window.Remaining, BeginningLength));
            if (BeginsWithRedis(window.Bytes)) return window.Offset;
            while (true)
            {
                int length = 0;
                Scan scan = RespScanner.Command(window.Bytes, ref length, words: null, out _, out _, out long needed);
                if (scan == Scan.Complete)
                {
                    window.Advance(length);
                    break;
                }
                if (scan == Scan.Malformed || !window.Fill(needed)) return -1;
            }
        }
    }

    private static bool IsTimestamp(ReadOnlySpan<byte> bytes) =>
        bytes.StartsWith(Timestamp) && Utf8Parser.TryParse(bytes[Timestamp.Length..], out long _, out int digits)
        && bytes[(Timestamp.Length + digits)..].StartsWith("\r\n"u8);

    /// <summary>
    /// Scans the next step and loads as much of the file as the step needs. A length of 0 means the end of the file.
    /// </summary>
    private static UnitStep Step(FileWindow window, StreamState state)
    {
        window.Fill(1);
        if (window.Remaining == 0) return new() { Scan = Scan.Complete };
        while (true)
        {
            UnitStep step = state.Scanner.Next(window.Bytes, state.Database);

            // The window at least doubles, so that a long transaction is not scanned again for each of its commands.
            long more = Math.Max(step.Needed, Math.Min(window.Remaining, window.Bytes.Length * 2L));
            if (step.Scan != Scan.Incomplete || !window.Fill(more)) return step;
        }
    }

    /// <summary>
    /// Classifies a malformed command. Zeros to the end of the file are a short read: a power loss leaves them if the
    /// length became durable and the bytes did not.
    /// </summary>
    private static FileResult BadFormat(FileWindow window, StreamState state)
    {
        long offset = window.Offset;
        long end = TailScan.EndWithoutZeros(window, offset);
        if (end == window.Length) return new(FileEnd.Refused, offset, "Bad file format reading the append only file");
        window.MoveTo(offset);
        window.Fill(end - offset);
        Scan scan = end == offset
            ? Scan.Incomplete
            : state.Scanner.Next(window.Bytes[..(int)(end - offset)], state.Database).Scan;
        return scan == Scan.Incomplete
            ? new(FileEnd.ShortRead, offset, ShortReadReason)
            : new(FileEnd.Refused, offset, "Bad file format reading the append only file");
    }
}
