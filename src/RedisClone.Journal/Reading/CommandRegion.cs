using System.Buffers.Text;
using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>
/// Reads commands without checksums, by the rules of Redis's loader: annotation lines are skipped, a transaction counts from its
/// EXEC on, and a short read at the end is told from a bad format.
/// </summary>
internal static class CommandRegion
{
    private const string ShortReadReason = "Unexpected end of file reading the append only file";

    private static ReadOnlySpan<byte> Timestamp => "#TS:"u8;

    private static ReadOnlySpan<byte> RedisSelect => "*2\r\n$6\r\nSELECT\r\n"u8;

    /// <summary>What it takes to see how Redis begins.</summary>
    public const int BeginningLength = 64;

    /// <summary>Whether a command, or a timestamp of Redis's, begins here.</summary>
    public static bool BeginsAt(ReadOnlySpan<byte> bytes) => bytes is [(byte)'*', ..] || IsTimestamp(bytes);

    /// <summary>
    /// Whether Redis begins to append here: with its own spelling of SELECT, or a timestamp, neither of which stands in a group of
    /// ours other than within a value.
    /// </summary>
    public static bool BeginsWithRedis(ReadOnlySpan<byte> bytes) =>
        IsTimestamp(bytes) || bytes.StartsWith(RedisSelect) || bytes.StartsWith("*1\r\n$5\r\nMULTI\r\n*2\r\n$6\r\nSELECT\r\n"u8);

    /// <summary>Reads from the window's position to the end of the file.</summary>
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
                return new(FileEnd.Refused, window.Offset, "a group stands among commands that are not in groups");
            if (state.Take(step, bytes, isVerified: false, sink) is { } error) return new(FileEnd.Refused, window.Offset, error);
            window.Advance(step.Length);
        }
    }

    /// <summary>
    /// Where Redis went on, from here on, or -1. The window stands where a command begins, and goes from command to command: so long
    /// as they are ours, what stands at the end of one is the next, a line of ours, or blank.
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

    /// <summary>The next step, with as much of the file in the window as it takes. Length 0 is the end of the file.</summary>
    private static UnitStep Step(FileWindow window, StreamState state)
    {
        window.Fill(1);
        if (window.Remaining == 0) return new() { Scan = Scan.Complete };
        while (true)
        {
            UnitStep step = state.Scanner.Next(window.Bytes, state.Database);

            // At least doubled, so that a long transaction is not scanned again for each of its commands.
            long more = Math.Max(step.Needed, Math.Min(window.Remaining, window.Bytes.Length * 2L));
            if (step.Scan != Scan.Incomplete || !window.Fill(more)) return step;
        }
    }

    /// <summary>
    /// A tail of zeros is what a power loss leaves where the length survived and the bytes did not: a short read too.
    /// </summary>
    private static FileResult BadFormat(FileWindow window, StreamState state)
    {
        long offset = window.Offset;
        long end = TailScan.EndWithoutZeros(window, offset);
        if (end == window.Length) return new(FileEnd.Refused, offset, "Bad file format reading the append only file");
        window.MoveTo(offset);
        window.Fill(end - offset);
        Scan scan = end == offset ? Scan.Incomplete : state.Scanner.Next(window.Bytes[..(int)(end - offset)], state.Database).Scan;
        return scan == Scan.Incomplete
            ? new(FileEnd.ShortRead, offset, ShortReadReason)
            : new(FileEnd.Refused, offset, "Bad file format reading the append only file");
    }
}
