using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>
/// Reads one append-only file: groups of this server, each verified before any of its units is applied, followed by
/// commands that Redis may have appended; or a file that Redis wrote.
/// </summary>
/// <remarks>
/// After a crash, each sector after the last durable group either contains the bytes that this server wrote there or
/// is blank. Blank means zeros, padding or beyond the end of the file. The end of a group is therefore followed by the
/// next header (or the part of it in the same sector) or by blank bytes. The end of a command in a group is followed by
/// another command, a header or blank bytes. Any other bytes directly after such an end were written by Redis. Bytes
/// elsewhere are never attributed to Redis: after blank bytes, the visible bytes may be the middle of a value, and a
/// value may have any content. The only exception is a <see cref="FillMark"/>, which no value can imitate.
/// </remarks>
internal static class IncrementReader
{
    public const string NoBeginning = "neither a header of the journal nor a command of an append-only file begins here";

    /// <summary>
    /// Finds the salt of a file of this server. If the result is false, <paramref name="isOurs"/> is true for a file
    /// with a damaged header and false for a file of Redis, and <paramref name="result"/> describes the damage.
    /// </summary>
    public static bool TryReadHeader(FileWindow window, out ulong salt, out bool isOurs, out FileResult result)
    {
        result = default;
        salt = 0;
        window.MoveTo(0);
        window.Fill(Math.Min(window.Length, FileHeader.Length));
        ReadOnlySpan<byte> head = window.Bytes[..(int)Math.Min(window.Bytes.Length, FileHeader.Length)];
        bool first = FileHeader.TryReadCopy(head, 0, out salt);
        bool second = FileHeader.TryReadCopy(head, 1, out ulong otherSalt);
        isOurs = first || second;
        if (first && second && salt == otherSalt) return true;
        if (isOurs)
        {
            // One copy suffices to read the marks, which decide whether a power loss explains the damage of the other
            // copy.
            if (!first) salt = otherSalt;
            result = new(FileEnd.Damaged, 0, $"the file's header is damaged at offset {(first ? FileHeader.CopyLength : 0)}");
            return false;
        }
        result = WithoutHeader(window, head);
        isOurs = result.End != FileEnd.Whole;
        return false;
    }

    /// <summary>
    /// Returns true if an increment has commands. A file with a damaged header has none that was acknowledged: the header is
    /// durable before the first command is written.
    /// </summary>
    public static bool HoldsCommands(IDiskFile file)
    {
        var window = new FileWindow();
        window.Open(file, static _ => { });
        if (!TryReadHeader(window, out ulong salt, out _, out _))
        {
            window.MoveTo(0);
            window.Fill(Math.Min(window.Remaining, CommandRegion.BeginningLength));
            return CommandRegion.BeginsWithRedis(window.Bytes);
        }
        for (long at = FileHeader.Length; at < window.Length;)
        {
            window.MoveTo(at);
            window.Fill(Math.Min(window.Remaining, GroupHeader.MaxLength));
            if (!GroupHeader.TryRead(window.Bytes, salt, window.Offset, out GroupHeader header, out int length)) return false;
            if (header.Payload > 0) return true;
            at += length;
        }
        return false;
    }

    /// <summary>
    /// Returns the stream position at which an increment begins, or -1 if the increment has no groups.
    /// </summary>
    public static long StartOf(IDiskFile file)
    {
        var window = new FileWindow();
        window.Open(file, static _ => { });
        if (!TryReadHeader(window, out ulong salt, out bool isOurs, out FileResult result))
            return isOurs ? throw new IOException(result.Reason) : -1;
        window.MoveTo(FileHeader.Length);
        window.Fill(Math.Min(window.Remaining, GroupHeader.MaxLength));
        bool found = GroupHeader.TryRead(window.Bytes, salt, window.Offset, out GroupHeader first, out _);
        return found ? first.Lsn : throw new IOException("no group follows the file's header");
    }

    public static FileResult Read(FileWindow window, ulong salt, StreamState state, IJournalSink sink)
    {
        window.MoveTo(FileHeader.Length);
        while (true)
        {
            long end = window.Offset;
            bool isBehindBlank = SkipPadding(window, salt);
            if (window.Remaining == 0) return new(FileEnd.Whole, end);
            ReadOnlySpan<byte> bytes = window.Bytes;
            if (!GroupHeader.TryRead(bytes, salt, window.Offset, out GroupHeader header, out int headerLength))
            {
                if (!isBehindBlank && CommandRegion.BeginsAt(bytes)) return CommandRegion.Read(window, state, sink);
                string what = bytes[0] == 0 ? "zeros where a group should begin"
                    : isBehindBlank && CommandRegion.BeginsWithRedis(bytes) ? "what looks like commands of redis-server follows padding without an end"
                    : "no group begins here";
                var damage = new FileResult(FileEnd.Damaged, window.Offset, what);
                return isBehindBlank || bytes[0] == 0 ? damage : BehindLine(window, damage, state, sink);
            }
            if (header.Lsn > StreamState.MaxLsn) return StreamState.OutOfRange(header.Lsn, window.Offset);
            if (state.IsLsnKnown && header.Lsn != state.Lsn)
            {
                // A power loss leaves gaps. It does not leave a group that begins before the end of what was read: one of the files
                // is from another journal.
                return header.Lsn > state.Lsn
                    ? new(FileEnd.Damaged, window.Offset, $"the group begins at position {header.Lsn}, not at {state.Lsn}")
                    : new(FileEnd.Refused, window.Offset,
                        $"the group begins at position {header.Lsn}, but the files before it end at {state.Lsn}: they are not of one journal");
            }
            FileResult result = ReadGroup(window, salt, header, headerLength, state, sink);
            if (result.End == FileEnd.Damaged)
                return WithinGroup(window, salt, result, headerLength, header.Payload, state, sink);
            if (result.End != FileEnd.Whole) return result;
        }
    }

    private static FileResult ReadGroup(
        FileWindow window, ulong salt, in GroupHeader header, int headerLength, StreamState state, IJournalSink sink)
    {
        long offset = window.Offset;
        if (header.Payload > window.Remaining - headerLength)
            return new(FileEnd.Damaged, offset, "the file ends within the group");
        if (!window.Fill(headerLength + header.Payload))
            return new(FileEnd.Refused, offset, "the group is larger than memory can hold");
        ReadOnlySpan<byte> payload = window.Bytes.Slice(headerLength, (int)header.Payload);
        if (Checksum.Finish(Checksum.Add(GroupHeader.StartCrc(salt, header.Lsn), payload)) != header.Crc)
            return new(FileEnd.Damaged, offset, "the group's checksum does not match");

        state.Lsn = header.Lsn;
        state.IsLsnKnown = true;
        state.Durable = header.Durable;
        int at = 0;
        while (at < payload.Length)
        {
            UnitStep step = state.Scanner.Next(payload[at..], state.Database);
            if (step.Scan != Scan.Complete)
                return new(FileEnd.Refused, offset, "the group verifies, but is not a sequence of commands");
            if (state.Take(step, payload.Slice(at, step.Length), isVerified: true, sink) is { } error)
                return new(FileEnd.Refused, offset, error);
            at += step.Length;
        }
        window.Advance(headerLength + payload.Length);
        return new(FileEnd.Whole, window.Offset);
    }

    /// <summary>
    /// Handles an incomplete group that redis-server continued. After a kill in the middle of a group, redis-server
    /// cuts the file after the last whole command and appends its own commands. The group no longer verifies, but
    /// Redis has acknowledged the content of the file. It is therefore loaded by the rules of Redis.
    /// </summary>
    private static FileResult WithinGroup(
        FileWindow window, ulong salt, FileResult damage, int headerLength, long payload, StreamState state, IJournalSink sink)
    {
        // A header that survives further on proves that Redis cut nothing here, so this is damage.
        if (TailScan.Survivors(window, salt, damage.Kept).Durable > state.Lsn) return damage;
        long start = damage.Kept + headerLength;
        window.MoveTo(start);
        long redis = CommandRegion.FindContinuation(window);
        if (redis < 0) return damage;
        if (redis - start >= payload) return GoneOn(damage);
        window.MoveTo(start);
        return CommandRegion.Read(window, state, sink);
    }

    /// <summary>
    /// Handles an incomplete or damaged header line that redis-server continued. Redis treats a partial line as an
    /// annotation and appends to it. If the whole line exists but is damaged and Redis output follows the group, the
    /// group was intact when Redis loaded it.
    /// </summary>
    private static FileResult BehindLine(FileWindow window, FileResult damage, StreamState state, IJournalSink sink)
    {
        window.Fill(Math.Min(window.Remaining, GroupHeader.MaxLength + CommandRegion.BeginningLength));
        int piece = GroupHeader.FormLength(window.Bytes);
        if (piece > 0 && window.Bytes[piece - 1] != (byte)'\n' && CommandRegion.BeginsWithRedis(window.Bytes[piece..]))
        {
            window.Advance(piece);
            return CommandRegion.Read(window, state, sink);
        }

        // Blank bytes from a point within a line extend at least to the end of the sector. A single zero byte is
        // damage.
        int length = GroupHeader.DamagedLength(window.Bytes);
        if (length == 0 || window.Bytes[length - 1] == 0) return damage;
        window.Advance(length);
        return CommandRegion.FindContinuation(window) < 0 ? damage : GoneOn(damage);
    }

    /// <summary>
    /// Redis continued the file after a whole group. The group was intact at that time and was damaged later.
    /// </summary>
    private static FileResult GoneOn(FileResult damage) =>
        new(FileEnd.Refused, damage.Kept, damage.Reason + ", but redis-server continued the file after it");

    private static FileResult WithoutHeader(FileWindow window, ReadOnlySpan<byte> head)
    {
        if (head.IsEmpty || head[0] == '*') return new(FileEnd.Whole, 0);
        if (head[0] == '#' && !head.StartsWith(GroupHeader.Tag) && !LooksLikeHeader(head)) return new(FileEnd.Whole, 0);
        int version = FileHeader.ClaimedVersion(head);
        if (version > FileHeader.Version)
            return new(
                FileEnd.Refused, 0, $"the journal has format version {version}; this server reads version {FileHeader.Version}");
        if (TailScan.EndWithoutZeros(window, 0) <= FileHeader.Length)
            return new(FileEnd.Damaged, 0, "the file ends within its header");
        return new(FileEnd.Refused, 0, NoBeginning);
    }

    /// <summary>
    /// Detects a header whose first line is damaged and whose second line is cut off. It must not be taken for an
    /// annotation.
    /// </summary>
    private static bool LooksLikeHeader(ReadOnlySpan<byte> head) =>
        head.Length > FileHeader.CopyLength && head[FileHeader.CopyLength..].StartsWith(GroupHeader.Tag);

    /// <summary>Skips padding. Returns true if blank bytes were skipped and no fill mark ended them.</summary>
    private static bool SkipPadding(FileWindow window, ulong salt)
    {
        long start = window.Offset;
        while (true)
        {
            window.Fill(Math.Min(window.Remaining, GroupHeader.MaxLength));
            int padding = Padding.Count(window.Bytes);
            window.Advance(padding);
            if (padding == 0 || window.Remaining == 0) break;
        }
        if (!FillMark.IsAt(window.Bytes, salt, window.Offset)) return window.Offset != start;
        window.Advance(FillMark.Length);
        window.Fill(Math.Min(window.Remaining, GroupHeader.MaxLength));
        return false;
    }
}
