using RedisClone.Configuration;
using RedisClone.Engine.Commands.Collections;
using RedisClone.Engine.Effects;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Hashes;

/// <summary>The hash commands. <see cref="HashExpiryCommands"/> has the commands for the expiry of fields.</summary>
internal static class HashCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("HSET key field value [field value ...]",
            -4, Keys.At(1, RW | Update), Write | DenyOom | Fast | Repeatable, "hash", "2.0.0", Set, "Sets fields of a hash.")
            { FirstMember = 2, Complexity = "O(1) for each field/value pair added, so O(N) to add N field/value pairs when " +
                "the command is called with multiple field/value pairs." },
        new("HMSET key field value [field value ...]",
            -4, Keys.At(1, RW | Update), Write | DenyOom | Fast | Repeatable, "hash", "2.0.0", SetOk, "Sets fields of a hash.")
            {
                FirstMember = 2,
                Complexity = "O(N) where N is the number of fields being set.",
                DeprecatedSince = "4.0.0",
                ReplacedBy = "`HSET` with multiple field-value pairs"
            },
        new("HSETNX key field value",
            4, Keys.At(1, RW | KeyFlags.Insert), Write | DenyOom | Fast, "hash", "2.0.0", SetIfAbsent,
            "Sets a field of a hash that does not exist.") { FirstMember = 2 },
        new("HGET key field",
            3, Keys.At(1, RO | Access), ReadOnly | Fast, "hash", "2.0.0", Get, "Returns a field's value.") { FirstMember = 2 },
        new("HMGET key field [field ...]",
            -3, Keys.At(1, RO | Access), ReadOnly | Fast, "hash", "2.0.0", GetMany, "Returns the values of several fields.")
            { FirstMember = 2, Complexity = "O(N) where N is the number of fields being requested." },
        new("HGETALL key", 2, Keys.At(1, RO | Access), ReadOnly, "hash", "2.0.0", GetAll, "Returns all fields with their values.")
            { Complexity = OfSize, Tips = CommandTips.NondeterministicOrder },
        new("HKEYS key", 2, Keys.At(1, RO | Access), ReadOnly, "hash", "2.0.0", Names, "Returns the names of all fields.")
            { Complexity = OfSize, Tips = CommandTips.NondeterministicOrder },
        new("HVALS key", 2, Keys.At(1, RO | Access), ReadOnly, "hash", "2.0.0", Values, "Returns the values of all fields.")
            { Complexity = OfSize, Tips = CommandTips.NondeterministicOrder },
        new("HLEN key", 2, Keys.At(1, RO), ReadOnly | Fast, "hash", "2.0.0", Length, "Counts a hash's fields."),
        new("HEXISTS key field",
            3, Keys.At(1, RO), ReadOnly | Fast, "hash", "2.0.0", Exists, "Returns whether a hash has a field.")
            { FirstMember = 2 },
        new("HSTRLEN key field",
            3, Keys.At(1, RO), ReadOnly | Fast, "hash", "3.2.0", ValueLength, "Returns the length of a field's value.")
            { FirstMember = 2 },
        new("HDEL key field [field ...]",
            -3, Keys.At(1, RW | KeyFlags.Delete), Write | Fast, "hash", "2.0.0", Delete, "Removes fields from a hash.")
            { FirstMember = 2, Complexity = "O(N) where N is the number of fields to be removed." },
        new("HINCRBY key field increment",
            4, Keys.At(1, RW | Access | Update), Write | DenyOom | Fast, "hash", "2.0.0", Increment,
            "Adds an integer to a field's value.") { FirstMember = 2 },
        new("HINCRBYFLOAT key field increment",
            4, Keys.At(1, RW | Access | Update), Write | DenyOom | Fast, "hash", "2.6.0", IncrementFloat,
            "Adds a number to a field's value.") { FirstMember = 2 },
        new("HRANDFIELD key [count [WITHVALUES]]",
            -2, Keys.At(1, RO | Access), ReadOnly, "hash", "6.2.0", RandomFields, "Returns random fields.")
            { Complexity = "O(N) where N is the number of fields returned", Tips = CommandTips.Nondeterministic },
        new("HSCAN key cursor [MATCH pattern] [COUNT count] [NOVALUES]",
            -3, Keys.At(1, RO | Access), ReadOnly, "hash", "2.8.0", Scan, "Iterates over the fields of a hash.")
            { Complexity = "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor " +
                "to return back to 0. N is the number of elements inside the collection.", Tips = CommandTips.Nondeterministic },
    ];

    private const string OfSize = "O(N) where N is the size of the hash.";

    /// <summary>
    /// Removes the expired fields among the arguments, and the hash if it becomes empty. A write calls it first if its effect
    /// depends on whether the fields exist. A replay, which has no clock, then finds the same fields.
    /// </summary>
    public static void DropExpired(scoped ref CommandContext c, ref Entry entry, int from, int to, int step = 1)
    {
        if (!entry.Exists || !HasExpired(ref c, entry)) return;
        var expired = new FieldList(stackalloc int[FieldList.OnStack], (to - from + step - 1) / step);
        for (int i = from; i < to; i += step)
            if (!HashValue.TryGet(entry, c.Args[i], out HashField found) && found.Expiry != 0) expired.Add(i);
        if (!expired.Items.IsEmpty)
        {
            c.Data.KeyEvents.DropFields(entry, c.Args, expired.Items, c.Session.Database, c.Lane);
            entry = c.Peek(1);
        }
        expired.Dispose();
    }

    /// <summary>Whether the hash has expired fields that this command removes.</summary>
    private static bool HasExpired(scoped ref CommandContext c, scoped in Entry entry) => c.RemovesExpired && HashValue.HidesFields(entry);

    /// <summary>
    /// Finds the field that an argument names. An expired field is removed, and so is the hash if it becomes empty.
    /// </summary>
    private static bool TryGet(scoped ref CommandContext c, ref Entry entry, int argument, out HashField field)
    {
        field = default;
        if (!entry.Exists) return false;
        if (HashValue.TryGet(entry, c.Args[argument], out HashField found))
        {
            field = found;
            return true;
        }
        if (found.Expiry == 0 || !c.RemovesExpired) return false;
        c.Data.KeyEvents.DropFields(entry, c.Args, [argument], c.Session.Database, c.Lane);
        entry = c.Peek(1);
        return false;
    }

    // ---- writing

    private static void Set(ref CommandContext c) => Set(ref c, ok: false);

    private static void SetOk(ref CommandContext c) => Set(ref c, ok: true);

    private static void Set(ref CommandContext c, bool ok)
    {
        if (c.Args.Count % 2 != 0)
        {
            c.Fail(Errors.WrongArity(c.Row.FullName));
            return;
        }
        if (!c.TryFind(1, ValueType.Hash, write: true, out Entry entry)) return;
        bool isNew = !entry.Exists;
        if (isNew) entry = HashValue.Create(entry.Keyspace, c.Args[1], entry.Hash);
        Reserve(ref c, entry, 2);
        long added = 0;
        if (isNew) added = HashValue.Fill(entry, new FieldsAndValues(c.Args), c.Args.Count - 2);
        else
            for (int i = 2; i < c.Args.Count; i += 2)
                if (HashValue.Set(entry, c.Args[i], c.Args[i + 1])) added++;
        c.Modified(1, NotifyFlags.Hash, "hset");
        if (ok) c.Reply.Ok();
        else c.Reply.Integer(added);
    }

    /// <summary>
    /// Announces the fields and values from an argument on, so that the hash changes its encoding at most once.
    /// </summary>
    public static void Reserve(ref CommandContext c, in Entry entry, int from)
    {
        int longest = 0;
        for (int i = from; i < c.Args.Count; i++) longest = Math.Max(longest, c.Args[i].Length);
        HashValue.Reserve(entry, (c.Args.Count - from) / 2, longest);
    }

    private static void SetIfAbsent(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Hash, write: true, out Entry entry)) return;
        DropExpired(ref c, ref entry, 2, 3);
        if (!entry.Exists)
        {
            entry = HashValue.Create(entry.Keyspace, c.Args[1], entry.Hash);
        }
        else if (HashValue.Contains(entry, c.Args[2]))
        {
            c.Reply.Integer(0);
            return;
        }
        HashValue.Set(entry, c.Args[2], c.Args[3]);
        c.Modified(1, NotifyFlags.Hash, "hset");
        c.Reply.Integer(1);
    }

    private static void Delete(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Hash, write: true, out Entry entry)) return;
        long removed = 0;
        for (int i = 2; entry.Exists && i < c.Args.Count; i++)
        {
            // As in Redis, an expired field that is still present counts as removed.
            bool alive = HashValue.TryGet(entry, c.Args[i], out HashField field);
            if (!alive && field.Expiry == 0) continue;
            HashValue.Remove(entry, c.Args[i]);
            removed++;
        }
        if (removed > 0)
        {
            c.Modified(1, NotifyFlags.Hash, "hdel");
            c.RemoveIfEmpty(entry, HashValue.Count(entry), 1);
        }
        c.Reply.Integer(removed);
    }

    private static void Increment(ref CommandContext c)
    {
        long by = c.Int64(3);
        if (c.Failed || !c.TryFind(1, ValueType.Hash, write: true, out Entry entry)) return;
        DropExpired(ref c, ref entry, 2, 3);
        long value = 0;
        if (entry.Exists && HashValue.TryGet(entry, c.Args[2], out HashField field) && !field.Value.TryGetInteger(out value))
            c.Fail("ERR hash value is not an integer");
        else if (by < 0 ? value < long.MinValue - by : value > long.MaxValue - by) c.Fail(Errors.Overflow);
        if (c.Failed) return;
        value += by;
        if (!entry.Exists) entry = HashValue.Create(entry.Keyspace, c.Args[1], entry.Hash);
        Span<byte> digits = stackalloc byte[RedisNumber.MaxInt64Length];
        HashValue.Set(entry, c.Args[2], digits[..RedisNumber.WriteInt64(value, digits)], HashValue.KeepExpiry);
        c.Modified(1, NotifyFlags.Hash, "hincrby");
        c.Reply.Integer(value);
    }

    private static void IncrementFloat(ref CommandContext c)
    {
        if (!LongDouble.TryParse(c.Args[3], out LongDouble by)) c.Fail(Errors.NotFloat);
        else if (by.IsInfinity) c.Fail("ERR value is NaN or Infinity");
        if (c.Failed || !c.TryFind(1, ValueType.Hash, write: true, out Entry entry)) return;
        DropExpired(ref c, ref entry, 2, 3);
        Span<byte> digits = stackalloc byte[RedisNumber.MaxInt64Length];
        LongDouble value = default;
        long expiry = 0;
        if (entry.Exists && HashValue.TryGet(entry, c.Args[2], out HashField field))
        {
            expiry = field.Expiry;
            if (!LongDouble.TryParse(field.Value.Text(digits), out value)) c.Fail("ERR hash value is not a float");
        }
        LongDouble sum = value + by;
        if (!c.Failed && sum.IsInfinity) c.Fail("ERR increment would produce NaN or Infinity");
        if (c.Failed) return;
        Span<byte> text = stackalloc byte[LongDouble.MaxLength];
        text = text[..sum.Format(text)];
        if (!entry.Exists) entry = HashValue.Create(entry.Keyspace, c.Args[1], entry.Hash);
        HashValue.Set(entry, c.Args[2], text, HashValue.KeepExpiry);
        ReplaceBySet(ref c, text, expiry);
        c.Modified(1, NotifyFlags.Hash, "hincrbyfloat");
        c.Reply.Bulk(text);
    }

    /// <summary>
    /// Makes the effect of HINCRBYFLOAT a write of its result. HSET removes the expiry of the field, so HPEXPIREAT sets it again. HSETEX KEEPTTL
    /// would do, but redis-server before 8.0 does not know it.
    /// </summary>
    private static void ReplaceBySet(ref CommandContext c, scoped ReadOnlySpan<byte> value, long expiry)
    {
        if (c.ReplaceEffect(arguments: 4) is not { } effect) return;
        effect.Add("HSET"u8);
        effect.Add(c.Args[1]);
        effect.Add(c.Args[2]);
        effect.Add(value);
        if (expiry != 0) HashExpiryCommands.ReplaceByExpiry(ref c, [2], expiry);
    }

    // ---- reading

    private static void Get(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Hash, write: false, out Entry entry)) return;
        ReplyValue(ref c, ref entry, 2);
    }

    private static void GetMany(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Hash, write: false, out Entry entry)) return;
        DropExpired(ref c, ref entry, 2, c.Args.Count);
        c.Reply.ArrayHeader(c.Args.Count - 2);
        for (int i = 2; i < c.Args.Count; i++) ReplyValue(ref c, ref entry, i);
    }

    /// <summary>Replies with the value of the field that an argument names, or null.</summary>
    public static void ReplyValue(ref CommandContext c, ref Entry entry, int argument)
    {
        if (TryGet(ref c, ref entry, argument, out HashField field)) c.Reply.Element(field.Value);
        else c.Reply.Null();
    }

    private static void GetAll(ref CommandContext c) => ReplyAll(ref c, names: true, values: true);

    private static void Names(ref CommandContext c) => ReplyAll(ref c, names: true, values: false);

    private static void Values(ref CommandContext c) => ReplyAll(ref c, names: false, values: true);

    private static void ReplyAll(ref CommandContext c, bool names, bool values)
    {
        if (!c.TryFind(1, ValueType.Hash, write: false, out Entry entry)) return;
        long count = entry.Exists ? HashValue.Count(entry) : 0;
        if (c.MoveToWorker(count)) return;
        // The count includes expired fields that are not removed yet, so the number of live fields is known only at the end.
        bool exact = count == 0 || !HashValue.HidesFields(entry);
        DeferredReply reply = exact ? default : c.Reply.BeginDeferred();
        if (exact && names && values) c.Reply.MapHeader(count);
        else if (exact) c.Reply.ArrayHeader(count);
        if (count == 0) return;
        long alive = 0;
        foreach (HashField field in HashValue.Fields(entry))
        {
            alive++;
            if (names) c.Reply.Element(field.Name);
            if (values) c.Reply.Element(field.Value);
        }
        if (exact) return;
        if (names && values) c.Reply.EndMap(reply, alive);
        else c.Reply.EndArray(reply, alive);
    }

    private static void Length(ref CommandContext c)
    {
        if (c.TryFind(1, ValueType.Hash, write: false, out Entry entry)) c.Reply.Integer(entry.Exists ? HashValue.Count(entry) : 0);
    }

    private static void Exists(ref CommandContext c)
    {
        if (c.TryFind(1, ValueType.Hash, write: false, out Entry entry))
            c.Reply.Integer(TryGet(ref c, ref entry, 2, out _) ? 1 : 0);
    }

    private static void ValueLength(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Hash, write: false, out Entry entry)) return;
        c.Reply.Integer(TryGet(ref c, ref entry, 2, out HashField field) ? field.Value.Length : 0);
    }

    private static void RandomFields(ref CommandContext c)
    {
        if (!RandomCount.TryBegin(ref c, ValueType.Hash, "WITHVALUES"u8, out RandomCount wanted, out Entry entry)) return;
        if (HasExpired(ref c, entry))
        {
            // The number of replies depends on the number of live fields, so expired fields are removed first.
            if (c.MoveToWorker(HashValue.Count(entry))) return;
            if (!c.ReserveEffects(SizeOfExpired(c, entry))) return;
            c.Data.KeyEvents.ExpireFields(entry, int.MaxValue, c.Session.Database, c.Lane);
            entry = c.Peek(1);
            if (!entry.Exists)
            {
                wanted.ReplyNothing(ref c);
                return;
            }
        }
        long alive = HashValue.Count(entry);
        if (HashValue.HidesFields(entry))
        {
            // On a replica, expired fields stay until the primary removes them.
            if (c.MoveToWorker(alive)) return;
            alive = 0;
            foreach (HashField _ in HashValue.Fields(entry)) alive++;
            if (alive == 0)
            {
                wanted.ReplyNothing(ref c);
                return;
            }
        }
        if (!wanted.TryCount(ref c, alive, out long count)) return;
        if (wanted.Single)
        {
            HashValue.TryGetRandom(entry, out HashField one);
            c.Reply.Element(one.Name);
            return;
        }
        c.Reply.ArrayHeader(wanted.With && c.Reply.Version < 3 ? 2 * count : count);
        if (!wanted.Repeats)
        {
            foreach (HashField field in HashValue.Sample(entry, count)) ReplyRandom(ref c, field, wanted.With);
            return;
        }
        if (HashValue.HidesFields(entry))
        {
            RepeatAlive(ref c, entry, count, wanted.With);
            return;
        }
        for (; count > 0 && !c.Reply.Overflowed; count--)
        {
            HashValue.TryGetRandom(entry, out HashField field);
            ReplyRandom(ref c, field, wanted.With);
        }
    }

    /// <summary>Replies with random fields of a hash that hides expired ones. It copies the others, because each choice would walk over all.</summary>
    private static void RepeatAlive(ref CommandContext c, in Entry entry, long count, bool withValues)
    {
        var texts = new ByteList();
        var places = new List<int>();
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        foreach (HashField field in HashValue.Fields(entry))
        {
            places.Add(texts.End);
            texts.Add(field.Name.Text(digits));
            if (withValues) texts.Add(field.Value.Text(digits));
        }
        Random random = entry.Keyspace.Store.Random;
        for (; count > 0 && !c.Reply.Overflowed; count--)
        {
            int at = places[random.Next(places.Count)];
            if (withValues && c.Reply.Version >= 3) c.Reply.ArrayHeader(2);
            for (int i = withValues ? 2 : 1; i > 0 && texts.TryNext(ref at, out ReadOnlySpan<byte> text); i--) c.Reply.Bulk(text);
        }
        texts.Dispose();
    }

    /// <summary>The size, in bytes, of the effects that remove all expired fields.</summary>
    private static long SizeOfExpired(scoped in CommandContext c, scoped in Entry entry)
    {
        long size = 0;
        foreach (HashField field in HashValue.Fields(entry, withExpired: true))
            if (field.Expiry != 0 && field.Expiry < c.Now)
                size += EffectBuffer.SizeOf(3, "HDEL"u8.Length + c.Args[1].Length + (long)field.Name.Length);
        return size;
    }

    private static void ReplyRandom(ref CommandContext c, scoped HashField field, bool withValue)
    {
        if (withValue && c.Reply.Version >= 3) c.Reply.ArrayHeader(2);
        c.Reply.Element(field.Name);
        if (withValue) c.Reply.Element(field.Value);
    }

    private static void Scan(ref CommandContext c)
    {
        if (!CollectionScan.TryCursor(ref c, out ulong cursor)) return;
        if (!c.TryFind(1, ValueType.Hash, write: false, out Entry entry)) return;
        if (!CollectionScan.TryBegin(ref c, entry, noValues: true, out ScanFilter filter)) return;
        if (c.MoveToWorker(entry.Encoding == ValueEncoding.Large ? filter.Count : HashValue.Count(entry))) return;
        var page = new CollectionScan(ref c, filter);
        do
        {
            foreach (HashField field in HashValue.Scan(entry, ref cursor))
            {
                if (!page.Takes(ref c, field.Name)) continue;
                c.Reply.Element(field.Name);
                if (!filter.NoValues) c.Reply.Element(field.Value);
            }
        }
        while (!c.IsAbandoned && page.GoesOn(cursor));
        page.End(ref c, cursor, filter.NoValues ? 1 : 2);
    }

    /// <summary>The arguments of HSET from the first field on.</summary>
    private readonly ref struct FieldsAndValues(Request request) : ITexts
    {
        private readonly Request _request = request;

        public ReadOnlySpan<byte> this[int index] => _request[2 + index];
    }
}
