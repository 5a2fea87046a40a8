using RedisClone.Configuration;
using RedisClone.Engine.Commands.Generic;
using RedisClone.Storage;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Strings;

/// <summary>Commands on several strings. They hold the shards of all keys, so no client sees a part of the change.</summary>
internal static class StringMulti
{
    public static readonly CommandRow[] Rows =
    [
        new("MGET key [key ...]",
            -2, Keys.Range(1, -1, flags: RO | Access), ReadOnly | Fast, "string", "1.0.0", MGet,
            "Returns the string values of several keys.")
            { Complexity = "O(N) with N being the number of keys", Tips = ["request_policy:multi_shard"] },
        new("MSET key value [key value ...]",
            -3, Keys.Range(1, -1, 2, OW | Update), Write | DenyOom | Repeatable, "string", "1.0.1", MSet,
            "Sets the string values of several keys.")
            { Complexity = "O(N) with N being the number of keys", Tips = CommandTips.MultiShard },
        new("MSETNX key value [key value ...]",
            -3, Keys.Range(1, -1, 2, OW | Insert), Write | DenyOom, "string", "1.0.1", MSetNx,
            "Sets the string values of several keys if none of them exists.")
            { Complexity = "O(N) with N being the number of keys" },
        new("MSETEX numkeys key value [key value ...] [NX | XX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT " +
            "unix-time-milliseconds | KEEPTTL]",
            -4, [new KeySpec(OW | Update) { Index = 1, Counted = true, Step = 2 }], Write | DenyOom, "string", "8.4.0", MSetEx,
            "Sets the string values of several keys with one condition and one expiry for all.")
            { Complexity = "O(N) with N being the number of keys", Tips = CommandTips.MultiShard },
    ];

    private static void MGet(ref CommandContext c)
    {
        if (c.MoveToWorker(c.Args.Count)) return;
        c.Reply.ArrayHeader(c.Args.Count - 1);
        for (int i = 1; i < c.Args.Count; i++)
        {
            Entry entry = c.FindForRead(i);
            if (entry.Exists && entry.Type == ValueType.String) StringCommands.ReplyString(ref c, entry);
            else c.Reply.Null();
        }
    }

    private static void MSet(ref CommandContext c)
    {
        if (!CheckPairs(ref c) || c.MoveToWorker(c.Args.Count)) return;
        SetAll(ref c, 1, (c.Args.Count - 1) / 2);
        c.Reply.Ok();
    }

    private static void MSetNx(ref CommandContext c)
    {
        if (!CheckPairs(ref c) || c.MoveToWorker(c.Args.Count)) return;
        int pairs = (c.Args.Count - 1) / 2;
        bool none = CountPresent(ref c, 1, pairs) == 0;
        if (none) SetAll(ref c, 1, pairs);
        c.Reply.Integer(none ? 1 : 0);
    }

    private static void MSetEx(ref CommandContext c)
    {
        long pairs = c.Int64(1, 1, int.MaxValue, "ERR invalid numkeys value");
        if (!c.Failed && pairs * 2 > c.Args.Count - 2) c.Fail("ERR wrong number of key-value pairs");
        if (c.Failed) return;
        var expiry = default(ExpiryOption);
        var condition = default(ValueCondition);
        for (int i = 2 + 2 * (int)pairs; i < c.Args.Count; i++)
        {
            if (expiry.TryTake(c, ref i, ExpiryKind.Keep)) continue;
            if (condition.TryTake(c, ref i) && !condition.ComparesValue) continue;
            c.FailSyntax();
            return;
        }
        long time = expiry.Resolve(ref c);
        if (c.Failed || c.MoveToWorker(c.Args.Count)) return;
        bool met = condition.Kind switch
        {
            ConditionKind.Absent => CountPresent(ref c, 2, (int)pairs) == 0,
            ConditionKind.Present => CountPresent(ref c, 2, (int)pairs) == (int)pairs,
            _ => true,
        };
        if (met) SetAll(ref c, 2, (int)pairs, expiry, time);
        c.Reply.Integer(met ? 1 : 0);
    }

    private static bool CheckPairs(ref CommandContext c) => c.Args.Count % 2 == 1 || c.Fail(Errors.WrongArity(c.Row.FullName));

    private static int CountPresent(ref CommandContext c, int first, int pairs)
    {
        int present = 0;
        for (int i = first; i < first + 2 * pairs; i += 2)
            if (c.FindForWrite(i).Exists) present++;
        return present;
    }

    private static void SetAll(ref CommandContext c, int first, int pairs)
    {
        for (int i = first; i < first + 2 * pairs; i += 2)
        {
            Entry entry = c.FindForWrite(i);
            StringCommands.Store(ref c, ref entry, i, c.Args[i + 1], expiry: 0);
            c.Modified(i, NotifyFlags.String, "set");
        }
    }

    /// <summary>
    /// Sets all pairs. The effect is one SET for each key, all in one unit, so a reader of the journal need not support
    /// MSETEX.
    /// </summary>
    private static void SetAll(ref CommandContext c, int first, int pairs, in ExpiryOption expiry, long time)
    {
        bool keep = expiry.Kind == ExpiryKind.Keep;
        for (int i = first; i < first + 2 * pairs; i += 2)
        {
            Entry entry = c.FindForWrite(i);
            StringCommands.Store(ref c, ref entry, i, c.Args[i + 1], keep && entry.Exists ? entry.Expiry : time);
            c.Modified(i, NotifyFlags.String, "set");
            if (expiry.HasTime) c.Notify(i, NotifyFlags.Generic, "expire");
            StringCommands.EffectIsSet(ref c, i, c.Args[i + 1], time, keep);
        }
    }
}
