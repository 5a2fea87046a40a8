using RedisClone.Configuration;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Strings;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Strings;

/// <summary>
/// Commands on parts of strings: length, append, ranges, and the longest common subsequence of two strings.
/// </summary>
internal static class StringRanges
{
    public static readonly CommandRow[] Rows =
    [
        new("STRLEN key", 2, Keys.At(1, RO), ReadOnly | Fast, "string", "2.2.0", StrLen, "Returns the length of a string value."),
        new("APPEND key value",
            3, Keys.At(1, RW | Insert), Write | DenyOom | Fast, "string", "2.0.0", Append, "Appends bytes to a string value."),
        new("SETRANGE key offset value",
            4, Keys.At(1, RW | Update), Write | DenyOom, "string", "2.2.0", SetRange,
            "Overwrites a part of a string value from an offset.")
            { Complexity = "O(1), not counting the time to copy the bytes; O(M) with M being the length of the argument" },
        new("GETRANGE key start end",
            4, Keys.At(1, RO | Access), ReadOnly, "string", "2.4.0", GetRange, "Returns a part of a string value.")
            { Complexity = "O(N) with N being the length of what is returned" },
        new("SUBSTR key start end",
            4, Keys.At(1, RO | Access), ReadOnly, "string", "1.0.0", GetRange, "Returns a part of a string value.")
            { Complexity = "O(N) with N being the length of what is returned", DeprecatedSince = "2.0.0", ReplacedBy = "`GETRANGE`" },
        new("LCS key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
            -3, Keys.Range(1, 2, flags: RO | Access), ReadOnly, "string", "7.0.0", Lcs, "Finds the longest common subsequence of two string values.")
            { Complexity = "O(N*M) with N and M being the lengths of the values" },
    ];

    private static void StrLen(ref CommandContext c)
    {
        Entry entry = c.FindForRead(1);
        if (!entry.Exists) c.Reply.Integer(0);
        else if (c.Expect(entry, ValueType.String)) c.Reply.Integer(StringValue.Length(entry));
    }

    private static void Append(ref CommandContext c)
    {
        ReadOnlySpan<byte> tail = c.Args[2];
        Entry entry = c.FindForWrite(1);
        int length = tail.Length;
        if (!entry.Exists)
        {
            StringCommands.Store(ref c, ref entry, 1, tail, expiry: 0);
        }
        else
        {
            if (!c.Expect(entry, ValueType.String) || !FitsLimit(ref c, StringValue.Length(entry), tail.Length)) return;
            length = StringValue.Append(entry, tail);
        }
        c.Modified(1, NotifyFlags.String, "append");
        c.Reply.Integer(length);
    }

    private static void SetRange(ref CommandContext c)
    {
        long offset = c.Int64(2);
        if (!c.Failed && offset < 0) c.Fail("ERR offset is out of range");
        if (c.Failed) return;
        ReadOnlySpan<byte> part = c.Args[3];
        Entry entry = c.FindForWrite(1);
        if (entry.Exists && !c.Expect(entry, ValueType.String)) return;
        int old = entry.Exists ? StringValue.Length(entry) : 0;
        if (part.IsEmpty)
        {
            c.Reply.Integer(old);
            return;
        }
        if (!FitsLimit(ref c, offset, part.Length)) return;
        int length = Math.Max(old, (int)offset + part.Length);
        if (c.MoveToWorker((length - old) / Limits.BytesPerWork)) return;
        part.CopyTo(BytesToChange(ref c, ref entry, length)[(int)offset..]);
        c.Modified(1, NotifyFlags.String, "setrange");
        c.Reply.Integer(length);
    }

    private static void GetRange(ref CommandContext c)
    {
        long start = c.Int64(2), end = c.Int64(3);
        if (c.Failed) return;
        Entry entry = c.FindForRead(1);
        if (!entry.Exists)
        {
            c.Reply.Bulk(default);
            return;
        }
        if (!c.Expect(entry, ValueType.String)) return;
        ReadOnlySpan<byte> value = StringValue.Bytes(entry, stackalloc byte[IntegerText.MaxLength]);
        c.Reply.Bulk(TryClampRange(ref start, ref end, value.Length) ? value[(int)start..((int)end + 1)] : default);
    }

    private static void Lcs(ref CommandContext c)
    {
        c.FindForRead(1);
        Entry second = c.FindForRead(2);
        // The lookup of the second key may remove it as expired and move the entry of the first, so the first is looked up
        // again.
        Entry first = c.Peek(1);
        if ((first.Exists && first.Type != ValueType.String) || (second.Exists && second.Type != ValueType.String))
        {
            c.Fail("ERR The specified keys must contain string values");
            return;
        }
        bool length = false, ranges = false, withLength = false;
        long least = 0;
        for (int i = 3; i < c.Args.Count && !c.Failed; i++)
        {
            if (c.Is(i, "IDX"u8)) ranges = true;
            else if (c.Is(i, "LEN"u8)) length = true;
            else if (c.Is(i, "WITHMATCHLEN"u8)) withLength = true;
            else if (c.Is(i, "MINMATCHLEN"u8) && i + 1 < c.Args.Count) least = c.Int64(++i);
            else c.FailSyntax();
        }
        if (!c.Failed && length && ranges) c.Fail("ERR If you want both the length and indexes, please just use IDX.");
        if (c.Failed) return;

        ReadOnlySpan<byte> a = first.Exists ? StringValue.Bytes(first, stackalloc byte[IntegerText.MaxLength]) : default;
        ReadOnlySpan<byte> b = second.Exists ? StringValue.Bytes(second, stackalloc byte[IntegerText.MaxLength]) : default;
        // Redis needs a table of 32-bit lengths of this size. This server needs a 32nd of it, but keeps the limit, which also
        // bounds the time.
        if ((a.Length + 1L) * (b.Length + 1L) * sizeof(uint) > c.LongestString)
        {
            c.Fail("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
            return;
        }
        if (c.MoveToWorker((long)a.Length * b.Length / 64)) return;
        using var common = new CommonSubsequence(a, b, keepPath: !length);
        if (length) c.Reply.Integer(common.Length);
        else if (ranges) ReplyRanges(c.Reply, common, least, withLength);
        else ReplySubsequence(c.Reply, common);
    }

    private static void ReplySubsequence(ReplyWriter reply, in CommonSubsequence common)
    {
        using var result = new Scratch(common.Length);
        int at = common.Length;
        CommonRuns runs = common.Runs();
        while (runs.MoveNext())
        {
            at -= runs.Length;
            common.First.Slice(runs.InFirst, runs.Length).CopyTo(result.Bytes[at..]);
        }
        reply.Bulk(result.Bytes);
    }

    private static void ReplyRanges(ReplyWriter reply, in CommonSubsequence common, long least, bool withLength)
    {
        reply.MapHeader(2);
        reply.Bulk("matches"u8);
        DeferredReply matches = reply.BeginDeferred();
        int count = 0;
        CommonRuns runs = common.Runs();
        while (runs.MoveNext())
        {
            if (runs.Length < least) continue;
            count++;
            reply.ArrayHeader(withLength ? 3 : 2);
            ReplyRange(reply, runs.InFirst, runs.Length);
            ReplyRange(reply, runs.InSecond, runs.Length);
            if (withLength) reply.Integer(runs.Length);
        }
        reply.EndArray(matches, count);
        reply.Bulk("len"u8);
        reply.Integer(common.Length);
    }

    private static void ReplyRange(ReplyWriter reply, int start, int length)
    {
        reply.ArrayHeader(2);
        reply.Integer(start);
        reply.Integer(start + length - 1);
    }

    /// <summary>
    /// The bytes of the value at argument 1, for a change in place. The value is extended to at least
    /// <paramref name="length"/> bytes, and an absent key is created.
    /// </summary>
    internal static Span<byte> BytesToChange(ref CommandContext c, ref Entry entry, int length)
    {
        if (entry.Exists) return StringValue.Grow(entry, length);
        return StringValue.Create(entry.Keyspace, ref entry, c.Args[1], length);
    }

    /// <summary>Whether a string of the given total length is within the limit; sets an error if not.</summary>
    internal static bool FitsLimit(ref CommandContext c, long length, long more) =>
        length <= long.MaxValue - more && length + more <= c.LongestString || c.Fail(Errors.StringTooLong);

    /// <summary>
    /// Clamps a range to a length, as Redis does: negative ends count from the end of the string. It returns false if the
    /// range is empty.
    /// </summary>
    internal static bool TryClampRange(ref long start, ref long end, long length)
    {
        if (start < 0 && end < 0 && start > end) return false;
        if (start < 0) start = Math.Max(0, start + length);
        if (end < 0) end = Math.Max(0, end + length);
        end = Math.Min(end, length - 1);
        return start <= end;
    }
}
