using RedisClone.Configuration;
using RedisClone.Engine.Commands.Collections;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values.SortedSets;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.SortedSets;

/// <summary>The sorted set commands on single members. Ranges, pops and algebra have classes of their own.</summary>
internal static class SortedSetCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
            -4, Keys.At(1, RW | Update), Write | DenyOom | Fast | Repeatable, "sorted-set", "1.2.0", Add,
            "Adds members to a sorted set, or changes their scores.")
            { FirstMember = 3, Complexity = "O(log(N)) for each item added, where N is the number of elements in the sorted " +
                "set." },
        new("ZINCRBY key increment member",
            4, Keys.At(1, RW | Access | Update), Write | DenyOom | Fast, "sorted-set", "1.2.0", Increment,
            "Adds a number to a member's score.")
            { FirstMember = 3, Complexity = LogN },
        new("ZREM key member [member ...]",
            -3, Keys.At(1, RW | KeyFlags.Delete), Write | Fast, "sorted-set", "1.2.0", Remove,
            "Removes members from a sorted set.")
            { FirstMember = 2, Complexity = "O(M*log(N)) with N being the number of elements in the sorted set and M the " +
                "number of elements to be removed." },
        new("ZCARD key",
            2, Keys.At(1, RO), ReadOnly | Fast, "sorted-set", "1.2.0", Cardinality, "Counts a sorted set's members."),
        new("ZSCORE key member",
            3, Keys.At(1, RO | Access), ReadOnly | Fast, "sorted-set", "1.2.0", Score, "Returns a member's score.")
            { FirstMember = 2 },
        new("ZMSCORE key member [member ...]",
            -3, Keys.At(1, RO | Access), ReadOnly | Fast, "sorted-set", "6.2.0", Scores, "Returns the scores of several members.")
            { FirstMember = 2, Complexity = "O(N) where N is the number of members being requested." },
        new("ZRANK key member [WITHSCORE]",
            -3, Keys.At(1, RO | Access), ReadOnly | Fast, "sorted-set", "2.0.0", Rank,
            "Returns the rank of a member, lowest score first.") { FirstMember = 2, Complexity = OfRank },
        new("ZREVRANK key member [WITHSCORE]",
            -3, Keys.At(1, RO | Access), ReadOnly | Fast, "sorted-set", "2.0.0", ReverseRank,
            "Returns the rank of a member, highest score first.") { FirstMember = 2, Complexity = OfRank },
        new("ZRANDMEMBER key [count [WITHSCORES]]",
            -2, Keys.At(1, RO | Access), ReadOnly, "sorted-set", "6.2.0", RandomMembers, "Returns random members.")
            { Complexity = "O(N) where N is the number of members returned", Tips = CommandTips.Nondeterministic },
        new("ZSCAN key cursor [MATCH pattern] [COUNT count]",
            -3, Keys.At(1, RO | Access), ReadOnly, "sorted-set", "2.8.0", Scan, "Iterates over the members of a sorted set.")
            { Complexity = "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor " +
                "to return back to 0. N is the number of elements inside the collection.", Tips = CommandTips.Nondeterministic },
    ];

    private const string LogN = "O(log(N)) where N is the number of elements in the sorted set.";

    private const string OfRank = "O(log(N))";

    /// <summary>The greatest number of scores that one ZADD keeps on the stack.</summary>
    private const int ScoresOnStack = 16;

    [Flags]
    internal enum AddOptions
    {
        None = 0,
        Nx = 1,
        Xx = 2,
        Gt = 4,
        Lt = 8,
        Incr = 16,
        Changed = 32,
    }

    /// <summary>
    /// Replies with a member, and its score if <paramref name="withScore"/> is set. In RESP3, the two form an array.
    /// </summary>
    public static void Reply(ref CommandContext c, scoped ScoredMember member, bool withScore)
    {
        if (withScore && c.Reply.Version >= 3) c.Reply.ArrayHeader(2);
        c.Reply.Element(member.Member);
        if (withScore) c.Reply.Double(member.Score);
    }

    /// <summary>Writes the header of an array of members for <see cref="Reply"/>.</summary>
    public static void ReplyHeader(ref CommandContext c, long count, bool withScores) =>
        c.Reply.ArrayHeader(withScores && c.Reply.Version < 3 ? 2 * count : count);

    // ---- writing

    private static void Add(ref CommandContext c) => Add(ref c, AddOptions.None);

    private static void Increment(ref CommandContext c) => Add(ref c, AddOptions.Incr);

    private static void Add(ref CommandContext c, AddOptions options)
    {
        int first = ParseOptions(ref c, ref options);
        if (c.Failed) return;
        int pairs = (c.Args.Count - first) / 2;
        double[]? rented = pairs > ScoresOnStack ? RentedArrays.Rent<double>(pairs) : null;
        Span<double> scores = rented ?? stackalloc double[ScoresOnStack];
        for (int i = 0; i < pairs && !c.Failed; i++) scores[i] = c.Double(first + 2 * i);
        if (!c.Failed) Add(ref c, options, first + 1, 2, scores[..pairs]);
        if (rented is not null) RentedArrays.Return(rented);
    }

    /// <summary>Reads the options of ZADD and returns the index of the first score.</summary>
    private static int ParseOptions(ref CommandContext c, ref AddOptions options)
    {
        int i = 2;
        for (; i < c.Args.Count; i++)
        {
            AddOptions option =
                c.Is(i, "NX"u8) ? AddOptions.Nx
                : c.Is(i, "XX"u8) ? AddOptions.Xx
                : c.Is(i, "GT"u8) ? AddOptions.Gt
                : c.Is(i, "LT"u8) ? AddOptions.Lt
                : c.Is(i, "CH"u8) ? AddOptions.Changed
                : c.Is(i, "INCR"u8) ? AddOptions.Incr
                : AddOptions.None;
            if (option == AddOptions.None) break;
            options |= option;
        }
        int left = c.Args.Count - i;
        bool nx = (options & AddOptions.Nx) != 0, gt = (options & AddOptions.Gt) != 0, lt = (options & AddOptions.Lt) != 0;
        if (left == 0 || left % 2 != 0) c.FailSyntax();
        else if (nx && (options & AddOptions.Xx) != 0) c.Fail("ERR XX and NX options at the same time are not compatible");
        else if (gt && nx || lt && nx || gt && lt) c.Fail("ERR GT, LT, and/or NX options at the same time are not compatible");
        else if ((options & AddOptions.Incr) != 0 && left > 2) c.Fail("ERR INCR option supports a single increment-element pair");
        return i;
    }

    /// <summary>
    /// Sets the scores of members. The first member is at argument <paramref name="first"/>, and each further one is
    /// <paramref name="stride"/> arguments later.
    /// </summary>
    public static void Add(ref CommandContext c, AddOptions options, int first, int stride, scoped ReadOnlySpan<double> scores)
    {
        if (!c.TryFind(1, ValueType.SortedSet, write: true, out Entry entry)) return;
        bool increments = (options & AddOptions.Incr) != 0;
        if (!entry.Exists)
        {
            if ((options & AddOptions.Xx) != 0)
            {
                if (increments) c.Reply.Null();
                else c.Reply.Integer(0);
                return;
            }
            entry = SortedSetValue.Create(entry.Keyspace, c.Args[1], entry.Hash);
        }
        Reserve(ref c, entry, first, stride);
        long added = 0, updated = 0;
        double result = 0;
        bool processed = false;
        for (int i = 0; i < scores.Length; i++)
        {
            ReadOnlySpan<byte> member = c.Args[first + stride * i];
            result = scores[i];
            // A score of 0 must not become -0, which compares as equal, without an update.
            if ((options & ~AddOptions.Changed) != 0 || result == 0)
            {
                bool exists = SortedSetValue.TryGetScore(entry, member, out double current);
                if (exists && increments) result += current;
                if (double.IsNaN(result))
                {
                    c.Fail("ERR resulting score is not a number (NaN)");
                    return;
                }
                if (!Allows(options, exists, current, result)) continue;
                processed = true;
                if (exists && result == current) continue;
            }
            if (SortedSetValue.Set(entry, member, result, out double previous)) added++;
            else if (previous != result) updated++;
        }
        if (added + updated > 0) c.Modified(1, NotifyFlags.Zset, increments ? "zincr" : "zadd");
        if (!increments) c.Reply.Integer((options & AddOptions.Changed) != 0 ? added + updated : added);
        else if (processed) c.Reply.Double(result);
        else c.Reply.Null();
    }

    private static bool Allows(AddOptions options, bool exists, double current, double wanted)
    {
        if (!exists) return (options & AddOptions.Xx) == 0;
        return (options & AddOptions.Nx) == 0
            && ((options & AddOptions.Gt) == 0 || wanted > current)
            && ((options & AddOptions.Lt) == 0 || wanted < current);
    }

    private static void Reserve(ref CommandContext c, in Entry entry, int first, int stride)
    {
        int longest = 0;
        for (int i = first; i < c.Args.Count; i += stride) longest = Math.Max(longest, c.Args[i].Length);
        SortedSetValue.Reserve(entry, (c.Args.Count - first + stride - 1) / stride, longest);
    }

    private static void Remove(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.SortedSet, write: true, out Entry entry)) return;
        long removed = 0;
        for (int i = 2; entry.Exists && i < c.Args.Count; i++)
            if (SortedSetValue.Remove(entry, c.Args[i])) removed++;
        if (removed > 0)
        {
            c.Modified(1, NotifyFlags.Zset, "zrem");
            c.RemoveIfEmpty(entry, SortedSetValue.Count(entry), 1);
        }
        c.Reply.Integer(removed);
    }

    // ---- reading

    private static void Cardinality(ref CommandContext c)
    {
        if (c.TryFind(1, ValueType.SortedSet, write: false, out Entry entry)) c.Reply.Integer(entry.Exists ? SortedSetValue.Count(entry) : 0);
    }

    private static void Score(ref CommandContext c)
    {
        if (c.TryFind(1, ValueType.SortedSet, write: false, out Entry entry)) ReplyScore(ref c, entry, 2);
    }

    private static void Scores(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.SortedSet, write: false, out Entry entry)) return;
        c.Reply.ArrayHeader(c.Args.Count - 2);
        for (int i = 2; i < c.Args.Count; i++) ReplyScore(ref c, entry, i);
    }

    private static void ReplyScore(ref CommandContext c, in Entry entry, int argument)
    {
        if (entry.Exists && SortedSetValue.TryGetScore(entry, c.Args[argument], out double score)) c.Reply.Double(score);
        else c.Reply.Null();
    }

    private static void Rank(ref CommandContext c) => Rank(ref c, reverse: false);

    private static void ReverseRank(ref CommandContext c) => Rank(ref c, reverse: true);

    private static void Rank(ref CommandContext c, bool reverse)
    {
        bool withScore = c.Args.Count == 4 && c.Is(3, "WITHSCORE"u8);
        if (c.Args.Count > 4) c.Fail(Errors.WrongArity(c.Row.FullName));
        else if (c.Args.Count == 4 && !withScore) c.FailSyntax();
        if (c.Failed || !c.TryFind(1, ValueType.SortedSet, write: false, out Entry entry)) return;
        if (!entry.Exists || !SortedSetValue.TryGetRank(entry, c.Args[2], out long rank, out double score))
        {
            if (withScore) c.Reply.NullArray();
            else c.Reply.Null();
            return;
        }
        if (withScore) c.Reply.ArrayHeader(2);
        c.Reply.Integer(reverse ? SortedSetValue.Count(entry) - 1 - rank : rank);
        if (withScore) c.Reply.Double(score);
    }

    private static void RandomMembers(ref CommandContext c)
    {
        if (!RandomCount.TryBegin(ref c, ValueType.SortedSet, "WITHSCORES"u8, out RandomCount wanted, out Entry entry)) return;
        if (!wanted.TryCount(ref c, SortedSetValue.Count(entry), out long count)) return;
        if (wanted.Single)
        {
            Reply(ref c, SortedSetValue.Random(entry), withScore: false);
            return;
        }
        ReplyHeader(ref c, count, wanted.With);
        if (!wanted.Repeats)
        {
            foreach (ScoredMember member in SortedSetValue.Sample(entry, count)) Reply(ref c, member, wanted.With);
            return;
        }
        for (; count > 0 && !c.Reply.Overflowed; count--) Reply(ref c, SortedSetValue.Random(entry), wanted.With);
    }

    private static void Scan(ref CommandContext c)
    {
        if (!CollectionScan.TryCursor(ref c, out ulong cursor)) return;
        if (!c.TryFind(1, ValueType.SortedSet, write: false, out Entry entry)) return;
        if (!CollectionScan.TryBegin(ref c, entry, noValues: false, out ScanFilter filter)) return;
        bool large = entry.Encoding == ValueEncoding.Large;
        if (c.MoveToWorker(large ? filter.Count : SortedSetValue.Count(entry))) return;
        var page = new CollectionScan(ref c, filter);
        Span<byte> digits = stackalloc byte[RedisNumber.MaxDoubleLength];
        do
        {
            foreach (ScoredMember member in SortedSetValue.Scan(entry, ref cursor))
            {
                if (!page.Takes(ref c, member.Member)) continue;
                c.Reply.Element(member.Member);
                // Only in ZSCAN, and only for large sorted sets, Redis formats scores with 17 digits.
                int length = large ? RedisNumber.FormatGeneral(member.Score, 17, digits) : RedisNumber.FormatDouble(member.Score, digits);
                c.Reply.Bulk(digits[..length]);
            }
        }
        while (!c.IsAbandoned && page.GoesOn(cursor));
        page.End(ref c, cursor, 2);
    }
}
