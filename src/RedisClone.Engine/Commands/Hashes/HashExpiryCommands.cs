using RedisClone.Configuration;
using RedisClone.Memory;
using RedisClone.Storage;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values.Hashes;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Hashes;

/// <summary>Commands that set and return the expiry of hash fields.</summary>
internal static class HashExpiryCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("HEXPIRE key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            -6, Keys.At(1, RW | Update), Write | DenyOom | Fast, "hash", "7.4.0", Expire, "Sets the expiry of fields in seconds.")
            { FirstMember = 5, Complexity = PerField },
        new("HPEXPIRE key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            -6, Keys.At(1, RW | Update), Write | DenyOom | Fast, "hash", "7.4.0", PExpire,
            "Sets the expiry of fields in milliseconds.")
            { FirstMember = 5, Complexity = PerField },
        new("HEXPIREAT key unix-time-seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            -6, Keys.At(1, RW | Update), Write | DenyOom | Fast, "hash", "7.4.0", ExpireAt,
            "Sets the expiry of fields to a Unix time in seconds.")
            { FirstMember = 5, Complexity = PerField },
        new("HPEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            -6, Keys.At(1, RW | Update), Write | DenyOom | Fast | Repeatable, "hash", "7.4.0", PExpireAt,
            "Sets the expiry of fields to a Unix time in milliseconds.")
            { FirstMember = 5, Complexity = PerField },
        new("HTTL key FIELDS numfields field [field ...]",
            -5, Keys.At(1, RO | Access), ReadOnly | Fast, "hash", "7.4.0", Ttl, "Returns the seconds until fields expire.")
            { FirstMember = 4, Complexity = PerField },
        new("HPTTL key FIELDS numfields field [field ...]",
            -5, Keys.At(1, RO | Access), ReadOnly | Fast, "hash", "7.4.0", PTtl, "Returns the milliseconds until fields expire.")
            { FirstMember = 4, Complexity = PerField },
        new("HEXPIRETIME key FIELDS numfields field [field ...]",
            -5, Keys.At(1, RO | Access), ReadOnly | Fast, "hash", "7.4.0", ExpireTime,
            "Returns the expiry of fields as a Unix time in seconds.")
            { FirstMember = 4, Complexity = PerField },
        new("HPEXPIRETIME key FIELDS numfields field [field ...]",
            -5, Keys.At(1, RO | Access), ReadOnly | Fast, "hash", "7.4.0", PExpireTime, "Returns the expiry of fields as a " +
                "Unix time in milliseconds.") { FirstMember = 4, Complexity = PerField },
        new("HPERSIST key FIELDS numfields field [field ...]",
            -5, Keys.At(1, RW | Update), Write | Fast, "hash", "7.4.0", Persist, "Removes the expiry of fields.") { FirstMember = 4, Complexity = PerField },
        new("HGETDEL key FIELDS numfields field [field ...]",
            -5, Keys.At(1, RW | Access | KeyFlags.Delete), Write | Fast, "hash", "8.0.0", GetAndDelete,
            "Returns the values of fields and removes the fields.")
            { FirstMember = 4, Complexity = PerField },
        new("HGETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] " +
            "FIELDS numfields field [field ...]",
            -5, Keys.At(1, RW | Access | Update), Write | Fast, "hash", "8.0.0", GetAndExpire,
            "Returns the values of fields and changes their expiry.")
            { FirstMember = 4, Complexity = PerField },
        new("HSETEX key [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | " +
            "KEEPTTL] FIELDS numfields field value [field value ...]",
            -6, Keys.At(1, RW | Update), Write | DenyOom | Fast, "hash", "8.0.0", SetAndExpire, "Sets fields of a hash and their expiry.")
            { FirstMember = 4, Complexity = "O(N) where N is the number of fields being set." },
    ];

    private const string PerField = "O(N) where N is the number of specified fields";

    /// <summary>The greatest expiry of a field. Redis stores it in 46 bits.</summary>
    public const long LatestTime = (1L << 46) - 1;

    private const int NoField = -2, NoExpiry = -1, ConditionNotMet = 0, Done = 1, Deleted = 2;

    private const string TimeNegative = "ERR invalid expire time, must be >= 0";

    private enum Condition
    {
        None,
        Nx,
        Xx,
        Gt,
        Lt,
    }

    private static void Expire(ref CommandContext c) => SetExpiry(ref c, unit: 1000, from: c.Now);

    private static void PExpire(ref CommandContext c) => SetExpiry(ref c, unit: 1, from: c.Now);

    private static void ExpireAt(ref CommandContext c) => SetExpiry(ref c, unit: 1000, from: 0);

    private static void PExpireAt(ref CommandContext c) => SetExpiry(ref c, unit: 1, from: 0);

    private static void Ttl(ref CommandContext c) => ReplyExpiry(ref c, unit: 1000, from: c.Now);

    private static void PTtl(ref CommandContext c) => ReplyExpiry(ref c, unit: 1, from: c.Now);

    private static void ExpireTime(ref CommandContext c) => ReplyExpiry(ref c, unit: 1000, from: 0);

    private static void PExpireTime(ref CommandContext c) => ReplyExpiry(ref c, unit: 1, from: 0);

    private static void SetExpiry(ref CommandContext c, long unit, long from)
    {
        if (!c.TryFind(1, ValueType.Hash, write: true, out Entry entry)) return;
        if (!TryTime(ref c, 2, unit, from, out long at)) return;
        Condition condition = ConditionAt(ref c, 3);
        int first = condition == Condition.None ? 3 : 4;
        if (!TryFields(ref c, first, "ERR Parameter `numFields` should be greater than 0")) return;
        first += 2;
        HashCommands.DropExpired(ref c, ref entry, first, c.Args.Count);
        c.Reply.ArrayHeader(c.Args.Count - first);
        if (!entry.Exists)
        {
            for (int i = first; i < c.Args.Count; i++) c.Reply.Integer(NoField);
            return;
        }
        var changed = new FieldList(stackalloc int[FieldList.OnStack], c.Args.Count - first);
        bool past = c.IsOver(at);
        for (int i = first; i < c.Args.Count; i++)
        {
            if (!HashValue.TryGet(entry, c.Args[i], out HashField field))
            {
                c.Reply.Integer(NoField);
                continue;
            }
            if (!Allows(condition, field.Expiry, at))
            {
                c.Reply.Integer(ConditionNotMet);
                continue;
            }
            changed.Add(i);
            if (past) HashValue.Remove(entry, c.Args[i]);
            else HashValue.SetExpiry(entry, c.Args[i], Math.Max(1, at));
            c.Reply.Integer(past ? Deleted : Done);
        }
        if (past) SayDeleted(ref c, entry, changed.Items);
        else SayExpire(ref c, changed.Items, at);
        changed.Dispose();
    }

    private static Condition ConditionAt(ref CommandContext c, int argument) =>
        c.Is(argument, "NX"u8) ? Condition.Nx
        : c.Is(argument, "XX"u8) ? Condition.Xx
        : c.Is(argument, "GT"u8) ? Condition.Gt
        : c.Is(argument, "LT"u8) ? Condition.Lt
        : Condition.None;

    /// <summary>
    /// Whether the condition allows the new expiry. A field without expiry compares as one that expires infinitely late.
    /// </summary>
    private static bool Allows(Condition condition, long current, long wanted) => condition switch
    {
        Condition.Nx => current == 0,
        Condition.Xx => current != 0,
        Condition.Gt => current != 0 && wanted > current,
        Condition.Lt => current == 0 || wanted < current,
        _ => true,
    };

    /// <summary>Converts a time argument to Unix milliseconds.</summary>
    public static bool TryTime(ref CommandContext c, int argument, long unit, long from, out long at)
    {
        at = c.Int64(argument);
        if (!c.Failed && at < 0) c.Fail(TimeNegative);
        if (!c.Failed && (at > LatestTime / unit || at * unit > LatestTime - from)) c.Fail(Errors.InvalidExpireTime(c.Row.Name));
        at = c.Failed ? 0 : at * unit + from;
        return !c.Failed;
    }

    /// <summary>
    /// Checks FIELDS and the number of fields after it, which must equal the number of the remaining arguments.
    /// </summary>
    private static bool TryFields(ref CommandContext c, int argument, string notPositive = "ERR Number of fields must be a positive integer")
    {
        if (!c.Is(argument, "FIELDS"u8)) return c.Fail("ERR Mandatory argument FIELDS is missing or not at the right position");
        long fields = argument + 1 < c.Args.Count ? c.Int64(argument + 1, 1, long.MaxValue, notPositive) : 0;
        if (c.Failed) return false;
        return fields == c.Args.Count - argument - 2 || c.Fail("ERR The `numfields` parameter must match the number of " +
            "arguments");
    }

    /// <summary>
    /// Writes the effect and the events of fields that were removed because their new expiry is in the past.
    /// </summary>
    private static void SayDeleted(ref CommandContext c, in Entry entry, scoped ReadOnlySpan<int> fields)
    {
        if (fields.IsEmpty) return;
        if (c.ReplaceEffect(arguments: 2 + fields.Length) is { } effect)
        {
            effect.Add("HDEL"u8);
            effect.Add(c.Args[1]);
            foreach (int field in fields) effect.Add(c.Args[field]);
        }
        c.Modified(1, NotifyFlags.Hash, "hdel");
        c.RemoveIfEmpty(entry, HashValue.Count(entry), 1);
    }

    private static void SayExpire(ref CommandContext c, scoped ReadOnlySpan<int> fields, long at)
    {
        if (fields.IsEmpty) return;
        ReplaceByExpiry(ref c, fields, at);
        c.Modified(1, NotifyFlags.Hash, "hexpire");
    }

    /// <summary>Makes the effect of a command that the fields of these arguments expire at a time.</summary>
    internal static void ReplaceByExpiry(ref CommandContext c, scoped ReadOnlySpan<int> fields, long at)
    {
        if (c.ReplaceEffect(arguments: 5 + fields.Length) is not { } effect) return;
        effect.Add("HPEXPIREAT"u8);
        effect.Add(c.Args[1]);
        effect.Add(at);
        effect.Add("FIELDS"u8);
        effect.Add(fields.Length);
        foreach (int field in fields) effect.Add(c.Args[field]);
    }

    private static void SayPersist(ref CommandContext c, scoped ReadOnlySpan<int> fields)
    {
        if (fields.IsEmpty) return;
        if (c.ReplaceEffect(arguments: 4 + fields.Length) is { } effect)
        {
            effect.Add("HPERSIST"u8);
            effect.Add(c.Args[1]);
            effect.Add("FIELDS"u8);
            effect.Add(fields.Length);
            foreach (int field in fields) effect.Add(c.Args[field]);
        }
        c.Modified(1, NotifyFlags.Hash, "hpersist");
    }

    private static void ReplyExpiry(ref CommandContext c, long unit, long from)
    {
        if (!c.TryFind(1, ValueType.Hash, write: false, out Entry entry) || !TryFields(ref c, 2)) return;
        c.Reply.ArrayHeader(c.Args.Count - 4);
        for (int i = 4; i < c.Args.Count; i++)
        {
            if (!entry.Exists || !HashValue.TryGet(entry, c.Args[i], out HashField field)) c.Reply.Integer(NoField);
            else if (field.Expiry == 0) c.Reply.Integer(NoExpiry);
            else c.Reply.Integer((field.Expiry - from + unit - 1) / unit);
        }
    }

    private static void Persist(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Hash, write: true, out Entry entry) || !TryFields(ref c, 2)) return;
        HashCommands.DropExpired(ref c, ref entry, 4, c.Args.Count);
        var changed = new FieldList(stackalloc int[FieldList.OnStack], c.Args.Count - 4);
        c.Reply.ArrayHeader(c.Args.Count - 4);
        for (int i = 4; i < c.Args.Count; i++)
        {
            if (!entry.Exists || !HashValue.TryGet(entry, c.Args[i], out HashField field))
            {
                c.Reply.Integer(NoField);
            }
            else if (field.Expiry == 0)
            {
                c.Reply.Integer(NoExpiry);
            }
            else
            {
                HashValue.SetExpiry(entry, c.Args[i], 0);
                changed.Add(i);
                c.Reply.Integer(Done);
            }
        }
        SayPersist(ref c, changed.Items);
        changed.Dispose();
    }

    // ---- values and expiry at once

    private static void GetAndDelete(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Hash, write: true, out Entry entry) || !TryFields(ref c, 2)) return;
        HashCommands.DropExpired(ref c, ref entry, 4, c.Args.Count);
        c.Reply.ArrayHeader(c.Args.Count - 4);
        // The reply comes first, because memory may be missing for it. But a field that is named twice has its value only once.
        bool repliesFirst = !MayRepeat(c, 4), removed = false;
        for (int i = 4; i < c.Args.Count; i++)
        {
            HashCommands.ReplyValue(ref c, ref entry, i);
            if (!repliesFirst) removed |= entry.Exists && HashValue.Remove(entry, c.Args[i]);
        }
        for (int i = 4; i < c.Args.Count && repliesFirst && entry.Exists; i++) removed |= HashValue.Remove(entry, c.Args[i]);
        if (!removed) return;
        if (c.ReplaceEffect(arguments: c.Args.Count - 2) is { } effect)
        {
            effect.Add("HDEL"u8);
            effect.Add(c.Args[1]);
            for (int i = 4; i < c.Args.Count; i++) effect.Add(c.Args[i]);
        }
        c.Modified(1, NotifyFlags.Hash, "hdel");
        c.RemoveIfEmpty(entry, HashValue.Count(entry), 1);
    }

    /// <summary>Whether the arguments from the first one on may have two equal ones.</summary>
    private static bool MayRepeat(in CommandContext c, int first)
    {
        int count = c.Args.Count - first;
        if (count == 1) return false;
        ulong[] hashes = RentedArrays.Rent<ulong>(count);
        for (int i = 0; i < count; i++) hashes[i] = KeyHash.Of(c.Args[first + i]);
        Span<ulong> sorted = hashes.AsSpan(0, count);
        sorted.Sort();
        bool repeats = false;
        for (int i = 1; i < count; i++) repeats |= sorted[i] == sorted[i - 1];
        RentedArrays.Return(hashes);
        return repeats;
    }

    private static void GetAndExpire(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Hash, write: true, out Entry entry)) return;
        if (!HashExpiryOptions.TryParse(ref c, out HashExpiryOptions options)) return;
        int first = options.FirstField;
        HashCommands.DropExpired(ref c, ref entry, first, c.Args.Count);
        c.Reply.ArrayHeader(c.Args.Count - first);
        for (int i = first; i < c.Args.Count; i++) HashCommands.ReplyValue(ref c, ref entry, i);
        if (!entry.Exists || !options.Persist && options.At is null) return;

        long at = options.At ?? 0;
        bool past = !options.Persist && c.IsOver(at);
        var changed = new FieldList(stackalloc int[FieldList.OnStack], c.Args.Count - first);
        for (int i = first; i < c.Args.Count; i++)
        {
            if (!HashValue.TryGet(entry, c.Args[i], out HashField field)) continue;
            if (options.Persist && field.Expiry == 0) continue;
            changed.Add(i);
            if (past) HashValue.Remove(entry, c.Args[i]);
            else HashValue.SetExpiry(entry, c.Args[i], options.Persist ? 0 : Math.Max(1, at));
        }
        if (past) SayDeleted(ref c, entry, changed.Items);
        else if (options.Persist) SayPersist(ref c, changed.Items);
        else SayExpire(ref c, changed.Items, at);
        changed.Dispose();
    }

    private static void SetAndExpire(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Hash, write: true, out Entry entry)) return;
        if (!HashExpiryOptions.TryParse(ref c, out HashExpiryOptions options)) return;
        int first = options.FirstField;
        HashCommands.DropExpired(ref c, ref entry, first, c.Args.Count, step: 2);
        for (int i = first; options.MustExist is { } wanted && i < c.Args.Count; i += 2)
        {
            if ((entry.Exists && HashValue.Contains(entry, c.Args[i])) == wanted) continue;
            c.Reply.Integer(0);
            return;
        }
        c.Reply.Integer(1);
        if (options.At is { } end && c.IsOver(end))
        {
            RemoveAtOnce(ref c, entry, first);
            return;
        }
        if (!entry.Exists) entry = HashValue.Create(entry.Keyspace, c.Args[1], entry.Hash);
        HashCommands.Reserve(ref c, entry, first);
        long expiry = options.KeepTtl ? HashValue.KeepExpiry : options.At is { } time ? Math.Max(1, time) : 0;
        for (int i = first; i < c.Args.Count; i += 2) HashValue.Set(entry, c.Args[i], c.Args[i + 1], expiry);
        if (options.At is { } at && c.ReplaceEffect(arguments: c.Args.Count - first + 6) is { } effect)
        {
            effect.Add("HSETEX"u8);
            effect.Add(c.Args[1]);
            effect.Add("PXAT"u8);
            effect.Add(at);
            effect.Add("FIELDS"u8);
            effect.Add((c.Args.Count - first) / 2);
            for (int i = first; i < c.Args.Count; i++) effect.Add(c.Args[i]);
        }
        c.Modified(1, NotifyFlags.Hash, "hset");
        if (options.At is not null) c.Notify(1, NotifyFlags.Hash, "hexpire");
    }

    /// <summary>Removes fields that are set with an expiry in the past.</summary>
    private static void RemoveAtOnce(ref CommandContext c, in Entry entry, int first)
    {
        if (!entry.Exists) return;
        bool removed = false;
        for (int i = first; i < c.Args.Count; i += 2) removed |= HashValue.Remove(entry, c.Args[i]);
        if (!removed) return;
        if (c.ReplaceEffect(arguments: 2 + (c.Args.Count - first) / 2) is { } effect)
        {
            effect.Add("HDEL"u8);
            effect.Add(c.Args[1]);
            for (int i = first; i < c.Args.Count; i += 2) effect.Add(c.Args[i]);
        }
        c.Modified(1, NotifyFlags.Hash, "hdel");
        c.RemoveIfEmpty(entry, HashValue.Count(entry), 1);
    }
}
