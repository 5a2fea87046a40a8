using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Commands.Generic;
using RedisClone.Engine.Effects;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Strings;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Strings;

/// <summary>
/// Commands that read, write or delete one whole string. <see cref="StringRanges"/> has the commands for parts of strings.
/// </summary>
internal static class StringCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("GET key", 2, Keys.At(1, RO | Access), ReadOnly | Fast, "string", "1.0.0", Get, "Returns the string value of a key."),
        new("SET key value [NX | XX | IFEQ value | IFNE value | IFDEQ digest | IFDNE digest] [GET] [EX seconds | PX " +
            "milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
            -3, Keys.At(1, RW | Access | Update | VariableFlags), Write | DenyOom, "string", "1.0.0", Set,
            "Sets the string value of a key and replaces a value of any type.") { KeyFlagsOf = SetFlags },
        new("SETNX key value",
            3, Keys.At(1, OW | Insert), Write | DenyOom | Fast, "string", "1.0.0", SetNx,
            "Sets the string value of a key that does not exist.")
            { DeprecatedSince = "2.6.12", ReplacedBy = "`SET` with the `NX` argument" },
        new("SETEX key seconds value",
            4, Keys.At(1, OW | Update), Write | DenyOom, "string", "2.0.0", SetEx,
            "Sets a string value and its expiry in seconds.")
            { DeprecatedSince = "2.6.12", ReplacedBy = "`SET` with the `EX` argument" },
        new("PSETEX key milliseconds value",
            4, Keys.At(1, OW | Update), Write | DenyOom, "string", "2.6.0", PSetEx,
            "Sets a string value and its expiry in milliseconds.")
            { DeprecatedSince = "2.6.12", ReplacedBy = "`SET` with the `PX` argument" },
        new("GETSET key value",
            3, Keys.At(1, RW | Access | Update), Write | DenyOom | Fast, "string", "1.0.0", GetSet,
            "Sets a string value and returns the old one.")
            { DeprecatedSince = "6.2.0", ReplacedBy = "`SET` with the `GET` argument" },
        new("GETDEL key",
            2, Keys.At(1, RW | Access | KeyFlags.Delete), Write | Fast, "string", "6.2.0", GetDel,
            "Returns a string value and deletes the key."),
        new("GETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]",
            -2, Keys.At(1, RW | Access | Update), Write | Fast, "string", "6.2.0", GetEx, "Returns a string value and changes the expiry of the key."),
        new("DELEX key [IFEQ value | IFNE value | IFDEQ digest | IFDNE digest]",
            -2, Keys.At(1, RW | KeyFlags.Delete | VariableFlags), Write | Fast, "string", "8.4.0", DelEx,
            "Deletes a key if its value, or the digest of its value, meets a condition.")
            { KeyFlagsOf = DelExFlags, Complexity = "O(1), O(N) for a digest with N being the length of the value" },
        new("DIGEST key",
            2, Keys.At(1, RO | Access), ReadOnly | Fast, "string", "8.4.0", Digest, "Returns the XXH3 digest of a string value.")
            { Complexity = "O(N) with N being the length of the value" },
    ];

    private const NotifyFlags StoreEvents = NotifyFlags.Overwritten | NotifyFlags.TypeChanged;

    /// <summary>
    /// SET needs read permission if it returns the old value (GET) or compares it. A user with write permission only must not
    /// learn the old value.
    /// </summary>
    private static KeyFlags SetFlags(in Request request, int key)
    {
        for (int i = 3; i < request.Count; i++)
            if (Ascii.EqualsIgnoreCase(request[i], "GET"u8) || ValueCondition.IsComparison(request[i])) return RW | Access | Update;
        return OW | Update;
    }

    private static KeyFlags DelExFlags(in Request request, int key) =>
        request.Count > 2 ? RW | Access | KeyFlags.Delete : RM | KeyFlags.Delete;

    private static void Get(ref CommandContext c)
    {
        Entry entry = c.FindForRead(1);
        if (!entry.Exists) c.Reply.Null();
        else if (c.Expect(entry, ValueType.String)) ReplyString(ref c, entry);
    }

    private static void Set(ref CommandContext c)
    {
        if (c.Args.Count > 3)
        {
            SetWithOptions(ref c);
            return;
        }
        Entry entry = c.FindForWrite(1);
        Store(ref c, ref entry, 1, c.Args[2], expiry: 0);
        c.Modified(1, NotifyFlags.String, "set");
        c.Reply.Ok();
    }

    private static void SetWithOptions(ref CommandContext c)
    {
        var expiry = default(ExpiryOption);
        var condition = default(ValueCondition);
        bool get = false;
        for (int i = 3; i < c.Args.Count; i++)
        {
            if (condition.TryTake(c, ref i) || expiry.TryTake(c, ref i, ExpiryKind.Keep)) continue;
            if (c.Is(i, "GET"u8)) get = true;
            else c.FailSyntax();
            if (c.Failed) return;
        }
        long time = expiry.Resolve(ref c);
        if (c.Failed) return;

        Entry entry = get ? c.FindForRead(1) : c.FindForWrite(1);
        if (entry.Exists && (get || condition.ComparesValue) && !c.Expect(entry, ValueType.String)) return;
        bool met = condition.IsMetBy(ref c, entry);
        if (c.Failed) return;
        if (get) ReplyValueOrNull(ref c, entry);
        else if (!met) c.Reply.Null();
        else c.Reply.Ok();
        if (!met) return;

        if (expiry.Kind == ExpiryKind.Keep && entry.Exists) time = entry.Expiry;
        Store(ref c, ref entry, 1, c.Args[2], time);
        c.Modified(1, NotifyFlags.String, "set");
        if (expiry.HasTime) c.Notify(1, NotifyFlags.Generic, "expire");
        bool asSent = !get && !condition.ComparesValue && expiry.Kind is ExpiryKind.None or ExpiryKind.Keep or ExpiryKind.UnixMilliseconds;
        if (!asSent) EffectIsSet(ref c, 1, c.Args[2], expiry.HasTime ? time : 0, keepExpiry: expiry.Kind == ExpiryKind.Keep);
    }

    private static void SetNx(ref CommandContext c)
    {
        Entry entry = c.FindForWrite(1);
        if (entry.Exists)
        {
            c.Reply.Integer(0);
            return;
        }
        Store(ref c, ref entry, 1, c.Args[2], expiry: 0);
        c.Modified(1, NotifyFlags.String, "set");
        c.Reply.Integer(1);
    }

    private static void SetEx(ref CommandContext c) => SetExpiring(ref c, ExpiryOption.After(ExpiryKind.Seconds, argument: 2));

    private static void PSetEx(ref CommandContext c) => SetExpiring(ref c, ExpiryOption.After(ExpiryKind.Milliseconds, argument: 2));

    private static void SetExpiring(ref CommandContext c, in ExpiryOption expiry)
    {
        long time = expiry.Resolve(ref c);
        if (c.Failed) return;
        Entry entry = c.FindForWrite(1);
        Store(ref c, ref entry, 1, c.Args[3], time);
        c.Modified(1, NotifyFlags.String, "set");
        c.Notify(1, NotifyFlags.Generic, "expire");
        EffectIsSet(ref c, 1, c.Args[3], time, keepExpiry: false);
        c.Reply.Ok();
    }

    private static void GetSet(ref CommandContext c)
    {
        Entry entry = c.FindForRead(1);
        if (entry.Exists && !c.Expect(entry, ValueType.String)) return;
        ReplyValueOrNull(ref c, entry);
        Store(ref c, ref entry, 1, c.Args[2], expiry: 0);
        c.Modified(1, NotifyFlags.String, "set");
        EffectIsSet(ref c, 1, c.Args[2], time: 0, keepExpiry: false);
    }

    private static void GetDel(ref CommandContext c)
    {
        Entry entry = c.FindForRead(1);
        if (entry.Exists && !c.Expect(entry, ValueType.String)) return;
        ReplyValueOrNull(ref c, entry);
        if (!entry.Exists) return;
        c.Remove(entry, 1);
        c.ReplaceEffect("DEL"u8, c.Args[1]);
    }

    private static void GetEx(ref CommandContext c)
    {
        var expiry = default(ExpiryOption);
        for (int i = 2; i < c.Args.Count; i++)
        {
            if (expiry.TryTake(c, ref i, ExpiryKind.Persist)) continue;
            c.FailSyntax();
            return;
        }
        Entry entry = c.FindForRead(1);
        if (!entry.Exists)
        {
            c.Reply.Null();
            return;
        }
        if (!c.Expect(entry, ValueType.String)) return;
        long time = expiry.Resolve(ref c);
        if (c.Failed) return;
        ReplyString(ref c, entry);
        if (expiry.IsAbsolute && time <= c.Now)
        {
            RemoveAsExpired(ref c, entry);
        }
        else if (expiry.HasTime)
        {
            entry.Keyspace.SetExpiry(entry, time);
            c.Modified(1, NotifyFlags.Generic, "expire");
            c.ReplaceWithExpireAt(1, time);
        }
        else if (expiry.Kind == ExpiryKind.Persist && entry.Expiry != 0)
        {
            entry.Keyspace.SetExpiry(entry, 0);
            c.Modified(1, NotifyFlags.Generic, "persist");
            c.ReplaceEffect("PERSIST"u8, c.Args[1]);
        }
    }

    private static void DelEx(ref CommandContext c)
    {
        if (c.Args.Count is not (2 or 4))
        {
            c.Fail(Errors.WrongArity(c.Row.FullName));
            return;
        }
        Entry entry = c.FindForWrite(1);
        if (!entry.Exists)
        {
            c.Reply.Integer(0);
            return;
        }
        if (c.Args.Count == 4)
        {
            if (entry.Type != ValueType.String)
            {
                c.Fail("ERR Key should be of string type if conditions are specified");
                return;
            }
            var condition = default(ValueCondition);
            int at = 2;
            if (!condition.TryTake(c, ref at) || !condition.ComparesValue)
            {
                c.Fail("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
                return;
            }
            bool met = condition.IsMetBy(ref c, entry);
            if (c.Failed) return;
            if (!met)
            {
                c.Reply.Integer(0);
                return;
            }
        }
        c.Remove(entry, 1);
        c.ReplaceEffect("DEL"u8, c.Args[1]);
        c.Reply.Integer(1);
    }

    private static void Digest(ref CommandContext c)
    {
        Entry entry = c.FindForRead(1);
        if (!entry.Exists)
        {
            c.Reply.Null();
            return;
        }
        if (!c.Expect(entry, ValueType.String) || c.MoveToWorker(StringValue.Length(entry) / Limits.BytesPerWork)) return;
        Span<byte> digits = stackalloc byte[16];
        ValueCondition.WriteDigest(StringValue.Bytes(entry, stackalloc byte[IntegerText.MaxLength]), digits);
        c.Reply.Bulk(digits);
    }

    /// <summary>
    /// Sets the string value of the key at an argument, whatever its type was, and publishes that the key is overwritten.
    /// </summary>
    internal static void Store(ref CommandContext c, ref Entry entry, int key, ReadOnlySpan<byte> value, long expiry)
    {
        if ((c.Data.Notifications.Enabled & StoreEvents) != 0) NotifyStore(c, entry, key);
        StringValue.Set(entry.Keyspace, ref entry, c.Args[key], value, expiry);
    }

    internal static void NotifyStore(in CommandContext c, in Entry before, int key)
    {
        if (!before.Exists) return;
        c.Notify(key, NotifyFlags.Overwritten, "overwritten");
        if (before.Type != ValueType.String) c.Notify(key, NotifyFlags.TypeChanged, "type_changed");
    }

    /// <summary>Removes the key at argument 1 because its new expiry is in the past. The effect is a deletion.</summary>
    internal static void RemoveAsExpired(ref CommandContext c, in Entry entry)
    {
        c.Remove(entry, 1);
        c.ReplaceEffect(c.Data.Config.LazyFreeExpire ? "UNLINK"u8 : "DEL"u8, c.Args[1]);
    }

    /// <summary>
    /// Makes the effect of the command a SET of the key at an argument, with an expiry (<paramref name="time"/> is not 0) or
    /// with KEEPTTL (<paramref name="keepExpiry"/>).
    /// </summary>
    internal static void EffectIsSet(ref CommandContext c, int key, scoped ReadOnlySpan<byte> value, long time, bool keepExpiry)
    {
        EffectBuffer? effect = c.ReplaceEffect(time != 0 ? 5 : keepExpiry ? 4 : 3);
        if (effect is null) return;
        effect.Add("SET"u8);
        effect.Add(c.Args[key]);
        effect.Add(value);
        if (time != 0)
        {
            effect.Add("PXAT"u8);
            effect.Add(time);
        }
        else if (keepExpiry)
        {
            effect.Add("KEEPTTL"u8);
        }
    }

    internal static void ReplyValueOrNull(ref CommandContext c, in Entry entry)
    {
        if (entry.Exists) ReplyString(ref c, entry);
        else c.Reply.Null();
    }

    /// <summary>Replies with a string value of any encoding as a bulk string.</summary>
    internal static void ReplyString(ref CommandContext c, in Entry entry)
    {
        if (StringValue.TryGetText(entry, out ReadOnlySpan<byte> text)) c.Reply.Bulk(text);
        else c.Reply.BulkInteger(StringValue.Integer(entry));
    }
}
