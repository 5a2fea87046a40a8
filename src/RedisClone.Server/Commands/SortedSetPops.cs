using RedisClone.Protocol;
using RedisClone.Server.Admin;
using RedisClone.Storage;
using static RedisClone.Server.Commands.CommandFlags;
using static RedisClone.Server.Commands.KeyFlags;

namespace RedisClone.Server.Commands;

/// <summary>Taking the members with the lowest or highest scores, also from the first of several sorted sets, and waiting for them.</summary>
internal static class SortedSetPops
{
    public static readonly CommandRow[] Rows =
    [
        new("ZPOPMIN key [count]", -2, Keys.At(1, RW | Access | KeyFlags.Delete), Write | Fast, "sorted-set", "5.0.0", PopMin, "Takes the members with the lowest scores.") { Complexity = PerPop },
        new("ZPOPMAX key [count]", -2, Keys.At(1, RW | Access | KeyFlags.Delete), Write | Fast, "sorted-set", "5.0.0", PopMax, "Takes the members with the highest scores.") { Complexity = PerPop },
        new("BZPOPMIN key [key ...] timeout", -3, Keys.Range(1, -2, flags: RW | Access | KeyFlags.Delete), Write | Fast | Blocking, "sorted-set", "5.0.0", BlockingPopMin,
            "Takes the member with the lowest score of the first sorted set that has any, waiting for one.") { Complexity = LogN },
        new("BZPOPMAX key [key ...] timeout", -3, Keys.Range(1, -2, flags: RW | Access | KeyFlags.Delete), Write | Fast | Blocking, "sorted-set", "5.0.0", BlockingPopMax,
            "Takes the member with the highest score of the first sorted set that has any, waiting for one.") { Complexity = LogN },
        new("ZMPOP numkeys key [key ...] <MIN | MAX> [COUNT count]",
            -4, Keys.Counted(1, RW | Access | KeyFlags.Delete), Write, "sorted-set", "7.0.0", PopMany, "Takes members from the first sorted set that has any.")
            { Complexity = OfKeysAndMembers },
        new("BZMPOP timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
            -5, Keys.Counted(2, RW | Access | KeyFlags.Delete), Write | Blocking, "sorted-set", "7.0.0", BlockingPopMany,
            "Takes members from the first sorted set that has any, waiting for one.") { Complexity = OfKeysAndMembers },
    ];

    private const string LogN = "O(log(N)) with N being the number of elements in the sorted set.";

    private const string PerPop = "O(log(N)*M) with N being the number of elements in the sorted set, and M being the number of elements popped.";

    private const string OfKeysAndMembers = "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in the sorted set, and M being the number of elements popped.";

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

    /// <summary>Writes so many members of one end to the reply and takes them away; an emptied sorted set's key goes too.</summary>
    private static void ReplyAndPop(ref CommandContext c, in Entry entry, int keyArgument, bool max, long count, bool pairs)
    {
        long all = SortedSetValue.Count(entry);
        var range = new RankRange(max ? all - count : 0, count);
        foreach (ScoredMember member in SortedSetValue.Members(entry, range, backwards: max))
        {
            if (pairs) c.Reply.ArrayHeader(2);
            ListCommands.Reply(ref c, member.Member);
            c.Reply.Double(member.Score);
        }
        SortedSetValue.RemoveRange(entry, range);
        c.Modified(keyArgument, NotifyFlags.Zset, max ? "zpopmax" : "zpopmin");
        SortedSetCommands.RemoveIfEmpty(ref c, entry, keyArgument);
    }

    private static void BlockingPopMin(ref CommandContext c) => BlockingPop(ref c, max: false);

    private static void BlockingPopMax(ref CommandContext c) => BlockingPop(ref c, max: true);

    private static void BlockingPop(ref CommandContext c, bool max)
    {
        int keys = c.Args.Count - 2;
        if (!ListMoves.TryTimeout(ref c, c.Args.Count - 1, out long milliseconds)) return;
        if (!TryFirst(ref c, 1, keys, out int found)) return;
        if (found > 0)
        {
            Entry entry = c.FindForWrite(found);
            c.Reply.ArrayHeader(3);
            c.Reply.Bulk(c.Args[found]);
            c.ReplaceEffect(max ? "ZPOPMAX"u8 : "ZPOPMIN"u8, c.Args[found], arguments: 1);
            ReplyAndPop(ref c, entry, found, max, 1, pairs: false);
        }
        else if (c.CanBlock)
        {
            c.Block(milliseconds, ValueType.SortedSet, 1, keys, nullIsArray: true);
        }
        else
        {
            c.Reply.NullArray();
        }
    }

    private static void PopMany(ref CommandContext c) => PopMany(ref c, 1, waits: false);

    private static void BlockingPopMany(ref CommandContext c) => PopMany(ref c, 2, waits: true);

    /// <param name="c">The command.</param>
    /// <param name="at">The argument that counts the keys.</param>
    /// <param name="waits">Whether it waits for an element, as long as the argument before says.</param>
    private static void PopMany(ref CommandContext c, int at, bool waits)
    {
        long keys = c.Int64(at, 1, long.MaxValue, "ERR numkeys should be greater than 0");
        if (c.Failed) return;
        if (keys >= c.Args.Count - at - 1)
        {
            c.FailSyntax();
            return;
        }
        int where = at + (int)keys + 1;
        bool max = c.Is(where, "MAX"u8);
        if (!max && !c.Is(where, "MIN"u8)) c.FailSyntax();
        long count = 1;
        for (int i = where + 1; i < c.Args.Count && !c.Failed; i++)
        {
            if (i == where + 1 && c.Is(i, "COUNT"u8) && i + 1 < c.Args.Count) count = c.Int64(++i, 1, long.MaxValue, "ERR count should be greater than 0");
            else c.FailSyntax();
        }
        long milliseconds = 0;
        if (c.Failed || waits && !ListMoves.TryTimeout(ref c, 1, out milliseconds)) return;
        if (!TryFirst(ref c, at + 1, (int)keys, out int found)) return;
        if (found > 0)
        {
            Entry entry = c.FindForWrite(found);
            count = Math.Min(count, SortedSetValue.Count(entry));
            if (c.MoveToWorker(count)) return;
            c.Reply.ArrayHeader(2);
            c.Reply.Bulk(c.Args[found]);
            c.Reply.ArrayHeader(count);
            if (c.ReplaceEffect(arguments: 3) is { } effect)
            {
                effect.Add(max ? "ZPOPMAX"u8 : "ZPOPMIN"u8);
                effect.Add(c.Args[found]);
                effect.Add(count);
            }
            ReplyAndPop(ref c, entry, found, max, count, pairs: true);
        }
        else if (waits && c.CanBlock)
        {
            c.Block(milliseconds, ValueType.SortedSet, at + 1, (int)keys, nullIsArray: true);
        }
        else
        {
            c.Reply.NullArray();
        }
    }

    /// <summary>The first argument that names a sorted set that exists; 0 for none. False where a key before it holds something else.</summary>
    private static bool TryFirst(ref CommandContext c, int first, int count, out int found)
    {
        found = 0;
        for (int i = first; i < first + count; i++)
        {
            if (!c.TryFind(i, ValueType.SortedSet, write: true, out Entry entry)) return false;
            if (!entry.Exists) continue;
            found = i;
            break;
        }
        return true;
    }
}
