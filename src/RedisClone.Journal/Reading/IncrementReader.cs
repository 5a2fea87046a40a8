using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>
/// Reads one append-only file: groups of ours, each verified before any of it is applied, then what Redis may have appended;
/// or a file that Redis wrote.
/// </summary>
/// <remarks>
/// What a crash leaves behind the last durable group: each sector shows what this server wrote there, or is blank, which is zeros,
/// padding, or beyond the end of the file. So where a group of ours ends stands the next header (or as much of it as its sector
/// has), or something blank; and where a command of ours ends, the next command, a header, or something blank. What else begins
/// right there is Redis's, and nowhere else is Redis believed: behind something blank, what shows may be the middle of a value,
/// and a value may look like anything. The one exception is a <see cref="FillMark"/>, which no value imitates.
/// </remarks>
internal static class IncrementReader
{
    /// <summary>
    /// Finds the salt of a file of ours. When it returns false, <paramref name="isOurs"/> says that the file is ours, or at least
    /// not Redis's, but damaged in its header, and <paramref name="result"/> how.
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
            // One copy is enough to read the marks, which decide what the damage of the other means.
            if (!first) salt = otherSalt;
            result = new(FileEnd.Damaged, 0, $"the file's header is damaged at offset {(first ? FileHeader.CopyLength : 0)}");
            return false;
        }
        result = WithoutHeader(window, head);
        isOurs = result.End != FileEnd.Whole;
        return false;
    }

    /// <summary>Where in the stream an increment begins, or -1 where it has no groups of ours.</summary>
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
                string what = bytes[0] == 0 ? "zeros where a group should begin" : "no group begins here";
                var damage = new FileResult(FileEnd.Damaged, window.Offset, what);
                return isBehindBlank || bytes[0] == 0 ? damage : BehindLine(window, damage, state, sink);
            }
            if (state.IsLsnKnown && header.Lsn != state.Lsn)
                return new(FileEnd.Damaged, window.Offset, $"the group begins at position {header.Lsn}, not at {state.Lsn}");
            FileResult result = ReadGroup(window, salt, header, headerLength, state, sink);
            if (result.End == FileEnd.Damaged) return WithinGroup(window, salt, result, headerLength, header.Payload, state, sink);
            if (result.End != FileEnd.Whole) return result;
        }
    }

    private static FileResult ReadGroup(
        FileWindow window, ulong salt, in GroupHeader header, int headerLength, StreamState state, IJournalSink sink)
    {
        long offset = window.Offset;
        if (header.Payload > window.Remaining - headerLength) return new(FileEnd.Damaged, offset, "the file ends within the group");
        if (!window.Fill(headerLength + header.Payload)) return new(FileEnd.Refused, offset, "the group is larger than memory can hold");
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
            if (step.Scan != Scan.Complete) return new(FileEnd.Refused, offset, "the group verifies, but is not a sequence of commands");
            if (state.Take(step, payload.Slice(at, step.Length), isVerified: true, sink) is { } error) return new(FileEnd.Refused, offset, error);
            at += step.Length;
        }
        window.Advance(headerLength + payload.Length);
        return new(FileEnd.Whole, window.Offset);
    }

    /// <summary>
    /// After a kill had left a group in part, redis-server cuts it behind its last whole command and appends its own. Then the
    /// group no longer verifies, yet what is there is what Redis acknowledged: it loads by Redis's rules.
    /// </summary>
    private static FileResult WithinGroup(
        FileWindow window, ulong salt, FileResult damage, int headerLength, long payload, StreamState state, IJournalSink sink)
    {
        // Where a later header survives, Redis cut nothing here, and this is damage.
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
    /// The same with a piece of the header's line, which Redis takes for an annotation and appends to; or the whole line is there
    /// and damaged, and Redis's going on behind the group shows that it was good once.
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

        // What is blank from within a line on is so for the rest of its sector at least; a zero alone is damage.
        int length = GroupHeader.DamagedLength(window.Bytes);
        if (length == 0 || window.Bytes[length - 1] == 0) return damage;
        window.Advance(length);
        return CommandRegion.FindContinuation(window) < 0 ? damage : GoneOn(damage);
    }

    /// <summary>Redis went on behind a whole group: it was good then, and is damaged since.</summary>
    private static FileResult GoneOn(FileResult damage) =>
        new(FileEnd.Refused, damage.Kept, damage.Reason + ", but redis-server has gone on behind it");

    private static FileResult WithoutHeader(FileWindow window, ReadOnlySpan<byte> head)
    {
        if (head.IsEmpty || head[0] == '*') return new(FileEnd.Whole, 0);
        if (head[0] == '#' && !head.StartsWith(GroupHeader.Tag) && !LooksLikeHeader(head)) return new(FileEnd.Whole, 0);
        int version = FileHeader.ClaimedVersion(head);
        if (version > FileHeader.Version)
            return new(FileEnd.Refused, 0, $"the journal's format is of version {version}; this server reads version {FileHeader.Version}");
        if (TailScan.EndWithoutZeros(window, 0) <= FileHeader.Length)
            return new(FileEnd.Damaged, 0, "the file ends within its header");
        return new(FileEnd.Refused, 0, "neither a header of the journal nor a command of an append-only file begins here");
    }

    /// <summary>A header whose first line is damaged and whose second is cut away must not pass for an annotation.</summary>
    private static bool LooksLikeHeader(ReadOnlySpan<byte> head) =>
        head.Length > FileHeader.CopyLength && head[FileHeader.CopyLength..].StartsWith(GroupHeader.Tag);

    /// <summary>Skips padding; true when something blank was skipped, and not to its very end.</summary>
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
