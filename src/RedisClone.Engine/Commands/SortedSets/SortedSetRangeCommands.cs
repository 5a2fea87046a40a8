using RedisClone.Configuration;
using RedisClone.Engine.Effects;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.SortedSets;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.SortedSets;

/// <summary>Commands that count, return, store or remove a range of a sorted set by rank, score or member.</summary>
internal static class SortedSetRangeCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("ZCOUNT key min max",
            4, Keys.At(1, RO | Access), ReadOnly | Fast, "sorted-set", "2.0.0", Count, "Counts the members in a range of scores.")
            { Complexity = LogN },
        new("ZLEXCOUNT key min max",
            4, Keys.At(1, RO | Access), ReadOnly | Fast, "sorted-set", "2.8.9", CountMembers,
            "Counts the members in a lexicographical range.") { Complexity = LogN },
        new("ZRANGE key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
            -4, Keys.At(1, RO | Access), ReadOnly, "sorted-set", "1.2.0", Range, "Returns the members of a range.") { Complexity = Listed },
        new("ZRANGESTORE dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]",
            -5, Keys.At(1, OW | Update).And(Keys.At(2, RO | Access)), Write | DenyOom, "sorted-set", "6.2.0", Store,
            "Stores the members of a range in another key.")
            { Complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements " +
                "stored into the destination key." },
        new("ZREVRANGE key start stop [WITHSCORES]",
            -4, Keys.At(1, RO | Access), ReadOnly, "sorted-set", "1.2.0", ReverseRange,
            "Returns the members in a range of ranks, highest score first.")
            { Complexity = Listed, DeprecatedSince = "6.2.0", ReplacedBy = "`ZRANGE` with the `REV` argument" },
        new("ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]",
            -4, Keys.At(1, RO | Access), ReadOnly, "sorted-set", "1.0.5", ByScore, "Returns the members in a range of scores.")
            { Complexity = Listed, DeprecatedSince = "6.2.0", ReplacedBy = "`ZRANGE` with the `BYSCORE` argument" },
        new("ZREVRANGEBYSCORE key max min [WITHSCORES] [LIMIT offset count]",
            -4, Keys.At(1, RO | Access), ReadOnly, "sorted-set", "2.2.0", ReverseByScore, "Returns the members in a range of scores, highest score first.")
            { Complexity = Listed, DeprecatedSince = "6.2.0", ReplacedBy = "`ZRANGE` with the `REV` and `BYSCORE` arguments" },
        new("ZRANGEBYLEX key min max [LIMIT offset count]",
            -4, Keys.At(1, RO | Access), ReadOnly, "sorted-set", "2.8.9", ByMember, "Returns the members in a lexicographical range.")
            { Complexity = Listed, DeprecatedSince = "6.2.0", ReplacedBy = "`ZRANGE` with the `BYLEX` argument" },
        new("ZREVRANGEBYLEX key max min [LIMIT offset count]",
            -4, Keys.At(1, RO | Access), ReadOnly, "sorted-set", "2.8.9", ReverseByMember, "Returns the members in a lexicographical range, in reverse order.")
            { Complexity = Listed, DeprecatedSince = "6.2.0", ReplacedBy = "`ZRANGE` with the `REV` and `BYLEX` arguments" },
        new("ZREMRANGEBYRANK key start stop",
            4, Keys.At(1, RW | KeyFlags.Delete), Write, "sorted-set", "2.0.0", RemoveByRank,
            "Removes the members in a range of ranks.") { Complexity = Removed },
        new("ZREMRANGEBYSCORE key min max",
            4, Keys.At(1, RW | KeyFlags.Delete), Write, "sorted-set", "1.2.0", RemoveByScore,
            "Removes the members in a range of scores.") { Complexity = Removed },
        new("ZREMRANGEBYLEX key min max",
            4, Keys.At(1, RW | KeyFlags.Delete), Write, "sorted-set", "2.8.9", RemoveByMember,
            "Removes the members in a lexicographical range.") { Complexity = Removed },
    ];

    private const string LogN = "O(log(N)) with N being the number of elements in the sorted set.";

    private const string Listed = "O(log(N)+M) with N being the number of elements in the sorted set and M the number of " +
        "elements returned.";

    private const string Removed = "O(log(N)+M) with N being the number of elements in the sorted set and M the number of " +
        "elements removed by the operation.";

    private static void Count(ref CommandContext c)
    {
        var query = new SortedSetQuery { Kind = RangeKind.Score };
        Count(ref c, ref query);
    }

    private static void CountMembers(ref CommandContext c)
    {
        var query = new SortedSetQuery { Kind = RangeKind.Member };
        Count(ref c, ref query);
    }

    private static void Count(ref CommandContext c, scoped ref SortedSetQuery query)
    {
        if (!query.TryParseBounds(ref c, 1) || !c.TryFind(1, ValueType.SortedSet, write: false, out Entry entry)) return;
        c.Reply.Integer(entry.Exists ? query.RanksIn(ref c, entry).Count : 0);
    }

    private static void Range(ref CommandContext c) => List(ref c, RangeKind.Unknown, reverse: null);

    private static void ReverseRange(ref CommandContext c) => List(ref c, RangeKind.Rank, reverse: true);

    private static void ByScore(ref CommandContext c) => List(ref c, RangeKind.Score, reverse: false);

    private static void ReverseByScore(ref CommandContext c) => List(ref c, RangeKind.Score, reverse: true);

    private static void ByMember(ref CommandContext c) => List(ref c, RangeKind.Member, reverse: false);

    private static void ReverseByMember(ref CommandContext c) => List(ref c, RangeKind.Member, reverse: true);

    private static void List(ref CommandContext c, RangeKind kind, bool? reverse)
    {
        var query = new SortedSetQuery { Kind = kind };
        if (!query.TryParse(ref c, 1, reverse, store: false)) return;
        if (!c.TryFind(1, ValueType.SortedSet, write: false, out Entry entry)) return;
        if (!entry.Exists)
        {
            c.Reply.EmptyArray();
            return;
        }
        RankRange range = query.RanksIn(ref c, entry);
        if (c.MoveToWorker(range.Count)) return;
        SortedSetCommands.ReplyHeader(ref c, range.Count, query.WithScores);
        foreach (ScoredMember member in SortedSetValue.Members(entry, range, query.Reverse))
            SortedSetCommands.Reply(ref c, member, query.WithScores);
    }

    private static void Store(ref CommandContext c)
    {
        var query = new SortedSetQuery();
        if (!query.TryParse(ref c, 2, reverse: null, store: true)) return;
        if (!c.TryFind(2, ValueType.SortedSet, write: false, out Entry source)) return;
        RankRange range = source.Exists ? query.RanksIn(ref c, source) : default;
        if (c.MoveToWorker(range.Count)) return;
        Entry built = SortedSetValue.Create(c.ScratchFor(1), c.Args[1], c.HashOf(1));
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        if (range.Count > 0)
        {
            SortedSetValue.Reserve(built, range.Count, 0);
            foreach (ScoredMember member in SortedSetValue.Members(source, range))
                SortedSetValue.Set(built, member.Member.Text(digits), member.Score, out _);
        }
        if (query.IsByMember && source.Exists && HasSeveralScores(source) && !TryReplaceByStored(ref c, built, range.Count))
        {
            built.Keyspace.Remove(built);
            return;
        }
        c.Store(built, 1, range.Count, NotifyFlags.Zset, "zrangestore");
        c.Reply.Integer(range.Count);
    }

    private static void RemoveByRank(ref CommandContext c) => RemoveRange(ref c, RangeKind.Rank, "zremrangebyrank");

    private static void RemoveByScore(ref CommandContext c) => RemoveRange(ref c, RangeKind.Score, "zremrangebyscore");

    private static void RemoveByMember(ref CommandContext c) => RemoveRange(ref c, RangeKind.Member, "zremrangebylex");

    private static void RemoveRange(ref CommandContext c, RangeKind kind, string keyEvent)
    {
        var query = new SortedSetQuery { Kind = kind };
        if (!query.TryParseBounds(ref c, 1) || !c.TryFind(1, ValueType.SortedSet, write: true, out Entry entry)) return;
        RankRange range = entry.Exists ? query.RanksIn(ref c, entry) : default;
        if (c.MoveToWorker(range.Count)) return;
        if (range.Count > 0)
        {
            if (kind == RangeKind.Member && HasSeveralScores(entry) && !TryReplaceByMembers(ref c, entry, range)) return;
            SortedSetValue.RemoveRange(entry, range);
            c.Modified(1, NotifyFlags.Zset, keyEvent);
            c.RemoveIfEmpty(entry, SortedSetValue.Count(entry), 1);
        }
        c.Reply.Integer(range.Count);
    }

    private static bool HasSeveralScores(in Entry entry)
    {
        long last = SortedSetValue.Count(entry) - 1;
        return ScoreAt(entry, 0) != ScoreAt(entry, last);
    }

    private static double ScoreAt(in Entry entry, long rank)
    {
        foreach (ScoredMember member in SortedSetValue.Members(entry, new RankRange(rank, 1))) return member.Score;
        throw new InvalidOperationException("A rank within the set has no member.");
    }

    /// <summary>
    /// Replaces the effect by the members. Among different scores, members are in no order, so the search for a range of them ends at a
    /// place that depends on the structure of the set. A replica has another structure. False, with an error, if the effect would be too long.
    /// </summary>
    private static bool TryReplaceByMembers(ref CommandContext c, in Entry entry, RankRange range)
    {
        if (!c.EffectsWanted) return true;
        Span<byte> digits = stackalloc byte[RedisNumber.MaxDoubleLength];
        if (!c.ReserveEffects(SizeOfEffect(c, entry, range, 1, digits)) || c.ReplaceEffect((int)range.Count + 2) is not { } effect) return !c.Failed;
        effect.Add("ZREM"u8);
        effect.Add(c.Args[1]);
        foreach (ScoredMember member in SortedSetValue.Members(entry, range)) effect.Add(member.Member.Text(digits));
        return true;
    }

    /// <summary>Replaces the effect by the members that are stored and their scores, for the same reason.</summary>
    private static bool TryReplaceByStored(ref CommandContext c, in Entry built, long count)
    {
        if (!c.EffectsWanted) return true;
        Span<byte> digits = stackalloc byte[RedisNumber.MaxDoubleLength];
        var all = new RankRange(0, count);
        if (!c.ReserveEffects(EffectBuffer.SizeOf(2, "DEL"u8.Length + c.Args[1].Length) + SizeOfEffect(c, built, all, 2, digits))) return false;
        if (count > 0 || c.Peek(1).Exists) c.ReplaceEffect("DEL"u8, c.Args[1]);
        if (count == 0 || c.ReplaceEffect(2 * (int)count + 2) is not { } effect) return true;
        effect.Add("ZADD"u8);
        effect.Add(c.Args[1]);
        foreach (ScoredMember member in SortedSetValue.Members(built, all))
        {
            effect.Add(digits[..RedisNumber.FormatDouble(member.Score, digits)]);
            effect.Add(member.Member.Text(digits));
        }
        return true;
    }

    /// <summary>An upper bound of the size, in bytes, of a command with some members, each of which takes a number of arguments.</summary>
    private static long SizeOfEffect(scoped in CommandContext c, scoped in Entry entry, RankRange range, int arguments, Span<byte> digits)
    {
        long text = "ZADD"u8.Length + c.Args[1].Length + range.Count * (arguments - 1) * RedisNumber.MaxDoubleLength;
        foreach (ScoredMember member in SortedSetValue.Members(entry, range)) text += member.Member.Text(digits).Length;
        return EffectBuffer.SizeOf(2 + range.Count * arguments, text);
    }
}
