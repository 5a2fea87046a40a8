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

    /// <summary>
    /// Whether commands without a group begin here, between groups of ours. Where nothing of ours was torn, only Redis
    /// writes a command or a timestamp there. Behind padding, a group whose first sectors were lost may show its commands
    /// from a sector's start on; there it takes more to believe in Redis.
    /// </summary>
    public static bool BeginsAt(FileWindow window, bool behindPadding)
    {
        if (window.Bytes is not [(byte)'*', ..] && !IsTimestamp(window.Bytes)) return false;
        if (!behindPadding || window.Offset % Padding.TornAt != 0) return true;
        if (!BeginsWithRedis(window.Bytes)) return false;
        var start = window.Offset;
        var isRedis = FindContinuation(window) >= 0;
        window.MoveTo(start);
        window.Fill(Math.Min(window.Remaining, GroupHeader.MaxLength));
        return isRedis;
    }

    /// <summary>
    /// Where Redis may have gone on behind a piece of a header line, or -1. With <paramref name="isWhole"/> a whole line,
    /// damaged, is before it.
    /// </summary>
    public static int FindBehindLine(ReadOnlySpan<byte> bytes, out bool isWhole)
    {
        var line = bytes[..Math.Min(bytes.Length, GroupHeader.MaxLength)];
        var at = line.IndexOf(Timestamp);
        if (at < 0) at = line.IndexOf("*1\r\n$5\r\nMULTI\r\n"u8);
        if (at < 0) at = line.IndexOf("*2\r\n$6\r\n"u8);
        if (at > 0) line = line[..at];

        // Whole too where the damage is in the line's own end.
        var check = line.IndexOf(GroupHeader.CheckKey);
        isWhole = line.Contains((byte)'\n') || (check >= 0 && line.Length - check >= GroupHeader.EndLength);
        return at;
    }

    /// <summary>Reads from the window's position to the end of the file.</summary>
    public static FileResult Read(FileWindow window, StreamState state, IJournalSink sink)
    {
        while (true)
        {
            var step = Step(window, state.Database);
            if (step.Scan == Scan.Malformed) return BadFormat(window, state.Database);
            if (step.Scan == Scan.Incomplete) return new(FileEnd.ShortRead, window.Offset, ShortReadReason);
            if (step.Length == 0) return new(FileEnd.Whole, window.Offset);
            var bytes = window.Bytes[..step.Length];
            if (bytes.StartsWith(GroupHeader.Tag))
                return new(FileEnd.Refused, window.Offset, "a group stands among commands that are not in groups");
            if (step.IsUnit)
            {
                var error = sink.Apply(new JournalUnit
                {
                    Lsn = state.Lsn + step.Length,
                    Database = step.DatabaseBefore,
                    Bytes = bytes,
                    IsTransaction = step.IsTransaction,
                    IsVerified = false,
                });
                if (error is not null) return new(FileEnd.Refused, window.Offset, error);
                state.Units++;
                state.UnverifiedUnits++;
            }
            state.Database = step.DatabaseAfter;
            state.Lsn += step.Length;
            window.Advance(step.Length);
        }
    }

    /// <summary>
    /// Where Redis went on, from here on, or -1: it starts what it appends with its own spelling of SELECT, or a timestamp,
    /// neither of which stands in a group of ours. So it does after it cut a group of ours that a kill had left in part;
    /// padding it cannot have met then, since it does not load a group that is torn by padding.
    /// </summary>
    public static long FindContinuation(FileWindow window)
    {
        long found = -1;
        while (true)
        {
            var step = Step(window, 0);
            if (step.Scan == Scan.Malformed) return -1;
            if (step.Scan == Scan.Incomplete || step.Length == 0) return found;
            var bytes = window.Bytes[..step.Length];
            if (bytes[0] == '#' && !IsTimestamp(bytes)) return -1;
            if (found < 0 && BeginsWithRedis(bytes)) found = window.Offset;
            window.Advance(step.Length);
        }
    }

    private static bool BeginsWithRedis(ReadOnlySpan<byte> step) =>
        IsTimestamp(step) || step.StartsWith(RedisSelect) || step.StartsWith("*1\r\n$5\r\nMULTI\r\n*2\r\n$6\r\nSELECT\r\n"u8);

    private static bool IsTimestamp(ReadOnlySpan<byte> bytes) =>
        bytes.StartsWith(Timestamp) && Utf8Parser.TryParse(bytes[Timestamp.Length..], out long _, out var digits)
        && bytes[(Timestamp.Length + digits)..].StartsWith("\r\n"u8);

    /// <summary>The next step, with as much of the file in the window as it takes. Length 0 is the end of the file.</summary>
    private static UnitStep Step(FileWindow window, int database)
    {
        window.Fill(1);
        if (window.Remaining == 0) return new() { Scan = Scan.Complete };
        while (true)
        {
            var step = UnitScanner.Next(window.Bytes, database);

            // At least doubled, so that a long transaction is not scanned again for each of its commands.
            var more = Math.Max(step.Needed, Math.Min(window.Remaining, window.Bytes.Length * 2L));
            if (step.Scan != Scan.Incomplete || !window.Fill(more)) return step;
        }
    }

    /// <summary>
    /// A tail of zeros is what a power loss leaves where the length survived and the bytes did not: a short read too.
    /// </summary>
    private static FileResult BadFormat(FileWindow window, int database)
    {
        var offset = window.Offset;
        var end = TailScan.EndWithoutZeros(window, offset);
        if (end == window.Length) return new(FileEnd.Refused, offset, "Bad file format reading the append only file");
        window.MoveTo(offset);
        window.Fill(end - offset);
        var scan = end == offset ? Scan.Incomplete : UnitScanner.Next(window.Bytes[..(int)(end - offset)], database).Scan;
        return scan == Scan.Incomplete
            ? new(FileEnd.ShortRead, offset, ShortReadReason)
            : new(FileEnd.Refused, offset, "Bad file format reading the append only file");
    }
}
