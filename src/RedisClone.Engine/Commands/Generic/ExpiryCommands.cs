using RedisClone.Configuration;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Generic;

/// <summary>Commands that set and return the expiry of keys.</summary>
internal static class ExpiryCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("EXPIRE key seconds [NX | XX | GT | LT]",
            -3, Keys.At(1, RW | Update), Write | Fast, "generic", "1.0.0", Expire, "Sets the expiry of a key in seconds."),
        new("PEXPIRE key milliseconds [NX | XX | GT | LT]",
            -3, Keys.At(1, RW | Update), Write | Fast, "generic", "2.6.0", PExpire, "Sets the expiry of a key in milliseconds."),
        new("EXPIREAT key unix-time-seconds [NX | XX | GT | LT]",
            -3, Keys.At(1, RW | Update), Write | Fast, "generic", "1.2.0", ExpireAt, "Sets the expiry of a key to a Unix time in seconds."),
        new("PEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT]",
            -3, Keys.At(1, RW | Update), Write | Fast, "generic", "2.6.0", PExpireAt, "Sets the expiry of a key to a Unix time in milliseconds."),
        new("TTL key",
            2, Keys.At(1, RO | Access), ReadOnly | Fast, "generic", "1.0.0", Ttl, "Returns the seconds until a key expires.")
            { Tips = CommandTips.Nondeterministic },
        new("PTTL key",
            2, Keys.At(1, RO | Access), ReadOnly | Fast, "generic", "2.6.0", PTtl,
            "Returns the milliseconds until a key expires.")
            { Tips = CommandTips.Nondeterministic },
        new("EXPIRETIME key",
            2, Keys.At(1, RO | Access), ReadOnly | Fast, "generic", "7.0.0", ExpireTime,
            "Returns the expiry of a key as a Unix time in seconds."),
        new("PEXPIRETIME key", 2, Keys.At(1, RO | Access), ReadOnly | Fast, "generic", "7.0.0", PExpireTime,
            "Returns the expiry of a key as a Unix time in milliseconds."),
        new("PERSIST key", 2, Keys.At(1, RW | Update), Write | Fast, "generic", "2.2.0", Persist, "Removes the expiry of a key."),
    ];

    [Flags]
    private enum Condition
    {
        None = 0,
        Nx = 1,
        Xx = 2,
        Gt = 4,
        Lt = 8,
    }

    private static void Expire(ref CommandContext c) => SetExpiry(ref c, unit: 1000, from: c.Now);

    private static void PExpire(ref CommandContext c) => SetExpiry(ref c, unit: 1, from: c.Now);

    private static void ExpireAt(ref CommandContext c) => SetExpiry(ref c, unit: 1000, from: 0);

    private static void PExpireAt(ref CommandContext c) => SetExpiry(ref c, unit: 1, from: 0);

    private static void Ttl(ref CommandContext c) => ReplyExpiry(ref c, unit: 1000, from: c.Now);

    private static void PTtl(ref CommandContext c) => ReplyExpiry(ref c, unit: 1, from: c.Now);

    private static void ExpireTime(ref CommandContext c) => ReplyExpiry(ref c, unit: 1000, from: 0);

    private static void PExpireTime(ref CommandContext c) => ReplyExpiry(ref c, unit: 1, from: 0);

    /// <summary>
    /// Converts a time argument to Unix milliseconds. If it is not a number or overflows, the function sets the error of
    /// Redis and returns false.
    /// </summary>
    public static bool TryTime(ref CommandContext c, int argument, long unit, long from, out long at)
    {
        at = c.Int64(argument);
        if (c.Failed) return false;
        if (at > long.MaxValue / unit || at < long.MinValue / unit) return c.Fail(Errors.InvalidExpireTime(c.Row.Name));
        at *= unit;
        if (at > long.MaxValue - from) return c.Fail(Errors.InvalidExpireTime(c.Row.Name));
        at += from;
        return true;
    }

    private static void SetExpiry(ref CommandContext c, long unit, long from)
    {
        if (!TryConditions(ref c, out Condition condition)) return;
        if (!TryTime(ref c, 2, unit, from, out long at)) return;
        Entry entry = c.FindForWrite(1);
        if (!entry.Exists || !Allows(condition, entry.Expiry, at))
        {
            c.Reply.Integer(0);
            return;
        }
        if (c.IsOver(at))
        {
            c.ReplaceEffect("DEL"u8, c.Args[1]);
            c.Remove(entry, 1);
        }
        else
        {
            if (c.MoveToWorker(ValueTransfer.WorkOfExpiry(entry, Math.Max(at, 1)))) return;
            entry.Keyspace.SetExpiry(entry, Math.Max(at, 1));
            c.ReplaceWithExpireAt(1, at);
            c.Modified(1, NotifyFlags.Generic, "expire");
        }
        c.Reply.Integer(1);
    }

    private static bool TryConditions(ref CommandContext c, out Condition condition)
    {
        condition = Condition.None;
        for (int i = 3; i < c.Args.Count; i++)
        {
            if (c.Is(i, "NX"u8)) condition |= Condition.Nx;
            else if (c.Is(i, "XX"u8)) condition |= Condition.Xx;
            else if (c.Is(i, "GT"u8)) condition |= Condition.Gt;
            else if (c.Is(i, "LT"u8)) condition |= Condition.Lt;
            else return c.Fail($"ERR Unsupported option {c.Echo(i)}");
        }
        if ((condition & Condition.Nx) != 0 && (condition & ~Condition.Nx) != 0)
            return c.Fail("ERR NX and XX, GT or LT options at the same time are not compatible");
        if ((condition & (Condition.Gt | Condition.Lt)) == (Condition.Gt | Condition.Lt))
            return c.Fail("ERR GT and LT options at the same time are not compatible");
        return true;
    }

    /// <summary>
    /// Whether the condition allows the new expiry. A key without expiry compares as one that expires infinitely late.
    /// </summary>
    private static bool Allows(Condition condition, long current, long wanted) =>
        ((condition & Condition.Nx) == 0 || current == 0)
        && ((condition & Condition.Xx) == 0 || current != 0)
        && ((condition & Condition.Gt) == 0 || current != 0 && wanted > current)
        && ((condition & Condition.Lt) == 0 || current == 0 || wanted < current);

    private static void ReplyExpiry(ref CommandContext c, long unit, long from)
    {
        Entry entry = c.PeekForRead(1);
        if (!entry.Exists) c.Reply.Integer(-2);
        else if (entry.Expiry == 0) c.Reply.Integer(-1);
        else if (unit == 1) c.Reply.Integer(Math.Max(0, entry.Expiry - from));
        // As in Redis, seconds are rounded to the nearest one.
        else c.Reply.Integer((long)(((ulong)Math.Max(0, entry.Expiry - from) + 500) / 1000));
    }

    private static void Persist(ref CommandContext c)
    {
        Entry entry = c.FindForWrite(1);
        if (!entry.Exists || entry.Expiry == 0)
        {
            c.Reply.Integer(0);
            return;
        }
        if (c.MoveToWorker(ValueTransfer.WorkOfExpiry(entry, expiry: 0))) return;
        entry.Keyspace.SetExpiry(entry, 0);
        c.Modified(1, NotifyFlags.Generic, "persist");
        c.Reply.Integer(1);
    }
}
