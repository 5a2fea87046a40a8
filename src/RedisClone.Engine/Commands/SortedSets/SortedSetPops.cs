using RedisClone.Configuration;
using RedisClone.Engine.Commands.Collections;
using RedisClone.Storage;
using RedisClone.Storage.Values.SortedSets;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.SortedSets;

/// <summary>
/// Commands that pop the members with the lowest or the highest scores, from one or the first of several keys, and can block.
/// </summary>
internal static class SortedSetPops
{
    public static readonly CommandRow[] Rows =
    [
        new("ZPOPMIN key [count]",
            -2, Keys.At(1, RW | Access | KeyFlags.Delete), Write | Fast, "sorted-set", "5.0.0", PopMin,
            "Removes and returns the members with the lowest scores.") { Complexity = PerPop },
        new("ZPOPMAX key [count]",
            -2, Keys.At(1, RW | Access | KeyFlags.Delete), Write | Fast, "sorted-set", "5.0.0", PopMax,
            "Removes and returns the members with the highest scores.") { Complexity = PerPop },
        new("BZPOPMIN key [key ...] timeout",
            -3, Keys.Range(1, -2, flags: RW | Access | KeyFlags.Delete), Write | Fast | Blocking, "sorted-set",
            "5.0.0", BlockingPopMin,
            "Removes and returns the member with the lowest score of the first non-empty sorted set; blocks until there is " +
                "one.") { Complexity = LogN },
        new("BZPOPMAX key [key ...] timeout",
            -3, Keys.Range(1, -2, flags: RW | Access | KeyFlags.Delete), Write | Fast | Blocking, "sorted-set",
            "5.0.0", BlockingPopMax,
            "Removes and returns the member with the highest score of the first non-empty sorted set; blocks until there is " +
                "one.") { Complexity = LogN },
        new("ZMPOP numkeys key [key ...] <MIN | MAX> [COUNT count]",
            -4, Keys.Counted(1, RW | Access | KeyFlags.Delete), Write, "sorted-set", "7.0.0", PopMany,
            "Removes and returns members of the first non-empty sorted set.")
            { Complexity = OfKeysAndMembers },
        new("BZMPOP timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
            -5, Keys.Counted(2, RW | Access | KeyFlags.Delete), Write | Blocking, "sorted-set", "7.0.0", BlockingPopMany,
            "Removes and returns members of the first non-empty sorted set; blocks until there is one.") { Complexity = OfKeysAndMembers },
    ];

    private const string LogN = "O(log(N)) with N being the number of elements in the sorted set.";

    private const string PerPop = "O(log(N)*M) with N being the number of elements in the sorted set, and M being the number " +
        "of elements popped.";

    private const string OfKeysAndMembers = "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of " +
        "elements in the sorted set, and M being the number of elements popped.";

    private static void PopMin(ref CommandContext c) => Pop(ref c, max: false);

    private static void PopMax(ref CommandContext c) => Pop(ref c, max: true);

    private static void Pop(ref CommandContext c, bool max)
    {
        bool many = c.Args.Count == 3;
        if (c.Args.Count > 3) c.FailSyntax();
        long wanted = many && !c.Failed ? c.Int64(2, 0, long.MaxValue, Errors.NotPositive) : 1;
        if (c.Failed || !c.TryFind(1, ValueType.SortedSet, write: true, out Entry entry)) return;
        long count = entry.Exists ? Math.Min(wanted, SortedSetValue.Count(entry)) : 0;
        if (count == 0)
        {
            c.Reply.EmptyArray();
            return;
        }
        if (c.MoveToWorker(count)) return;
        bool pairs = many && c.Reply.Version >= 3;
        c.Reply.ArrayHeader(pairs ? count : 2 * count);
        ReplyAndPop(ref c, entry, 1, max, count, pairs);
    }

    /// <summary>Replies with members at one end and removes them. It also removes the key of an empty sorted set.</summary>
    private static void ReplyAndPop(ref CommandContext c, in Entry entry, int keyArgument, bool max, long count, bool pairs)
    {
        long all = SortedSetValue.Count(entry);
        var range = new RankRange(max ? all - count : 0, count);
        foreach (ScoredMember member in SortedSetValue.Members(entry, range, backwards: max))
        {
            if (pairs) c.Reply.ArrayHeader(2);
            c.Reply.Element(member.Member);
            c.Reply.Double(member.Score);
        }
        SortedSetValue.RemoveRange(entry, range);
        c.Modified(keyArgument, NotifyFlags.Zset, max ? "zpopmax" : "zpopmin");
        c.RemoveIfEmpty(entry, SortedSetValue.Count(entry), keyArgument);
    }

    private static readonly PopKind s_kind =
        new(ValueType.SortedSet, new PopEnd("MIN", "ZPOPMIN"u8.ToArray()), new PopEnd("MAX", "ZPOPMAX"u8.ToArray()), Parts: 2, SortedSetValue.Count, Take);

    private static void Take(ref CommandContext c, in Entry entry, int keyArgument, PopEnd end, long count, bool nested) =>
        ReplyAndPop(ref c, entry, keyArgument, max: end == s_kind.Last, count, pairs: nested);

    private static void BlockingPopMin(ref CommandContext c) => FirstPops.One(ref c, s_kind, s_kind.First);

    private static void BlockingPopMax(ref CommandContext c) => FirstPops.One(ref c, s_kind, s_kind.Last);

    private static void PopMany(ref CommandContext c) => FirstPops.Many(ref c, s_kind, 1, waits: false);

    private static void BlockingPopMany(ref CommandContext c) => FirstPops.Many(ref c, s_kind, 2, waits: true);
}
