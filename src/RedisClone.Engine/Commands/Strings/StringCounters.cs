using RedisClone.Configuration;
using RedisClone.Engine.Commands.Generic;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Strings;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Strings;

/// <summary>Commands that add to the numeric value of a string.</summary>
internal static class StringCounters
{
    public static readonly CommandRow[] Rows =
    [
        new("INCR key",
            2, Keys.At(1, RW | Access | Update), Write | DenyOom | Fast, "string", "1.0.0", Incr,
            "Adds one to the integer value of a key."),
        new("DECR key",
            2, Keys.At(1, RW | Access | Update), Write | DenyOom | Fast, "string", "1.0.0", Decr,
            "Subtracts one from the integer value of a key."),
        new("INCRBY key increment",
            3, Keys.At(1, RW | Access | Update), Write | DenyOom | Fast, "string", "1.0.0", IncrBy,
            "Adds a number to the integer value of a key."),
        new("DECRBY key decrement",
            3, Keys.At(1, RW | Access | Update), Write | DenyOom | Fast, "string", "1.0.0", DecrBy,
            "Subtracts a number from the integer value of a key."),
        new("INCRBYFLOAT key increment",
            3, Keys.At(1, RW | Access | Update), Write | DenyOom | Fast, "string", "2.6.0", IncrByFloat,
            "Adds a floating-point number to the value of a key."),
        new("INCREX key [BYINT increment | BYFLOAT increment] [LBOUND lowerbound] [UBOUND upperbound] [SATURATE] [EX seconds " +
            "| PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX]",
            -2, Keys.At(1, RW | Access | Update), Write | DenyOom | Fast, "string", "8.8.0", IncrEx,
            "Adds a number to the value of a key within bounds, and sets its expiry."),
    ];

    private static void Incr(ref CommandContext c) => Add(ref c, 1);

    private static void Decr(ref CommandContext c) => Add(ref c, -1);

    private static void IncrBy(ref CommandContext c)
    {
        long increment = c.Int64(2);
        if (!c.Failed) Add(ref c, increment);
    }

    private static void DecrBy(ref CommandContext c)
    {
        long decrement = c.Int64(2);
        if (!c.Failed && decrement == long.MinValue) c.Fail("ERR decrement would overflow");
        if (!c.Failed) Add(ref c, -decrement);
    }

    private static void Add(ref CommandContext c, long increment)
    {
        Entry entry = c.FindForWrite(1);
        if (!TryReadInteger(ref c, entry, out long value)) return;
        long sum = unchecked(value + increment);
        // The addition overflowed: both operands have the same sign, and the sum has the other one.
        if (((value ^ sum) & (increment ^ sum)) < 0)
        {
            c.Fail(Errors.Overflow);
            return;
        }
        if (entry.Exists && entry.Encoding == ValueEncoding.Integer) StringValue.SetInteger(entry, sum);
        else StringValue.Set(entry.Keyspace, ref entry, c.Args[1], sum, ExpiryOf(entry));
        c.Modified(1, NotifyFlags.String, "incrby");
        c.Reply.Integer(sum);
    }

    private static void IncrByFloat(ref CommandContext c)
    {
        Entry entry = c.FindForWrite(1);
        if (!TryReadFloat(ref c, entry, out LongDouble value)) return;
        if (!LongDouble.TryParse(c.Args[2], out LongDouble increment))
        {
            c.Fail(Errors.NotFloat);
            return;
        }
        value += increment;
        if (value.IsInfinity)
        {
            c.Fail("ERR increment would produce NaN or Infinity");
            return;
        }
        Span<byte> text = stackalloc byte[LongDouble.MaxLength];
        text = text[..value.Format(text)];
        StoreText(ref c, ref entry, text, ExpiryOf(entry));
        c.Modified(1, NotifyFlags.String, "incrbyfloat");
        // The effect is the sum, because a replay that adds again could round differently.
        StringCommands.EffectIsSet(ref c, 1, text, time: 0, keepExpiry: true);
        c.Reply.Bulk(text);
    }

    private static void IncrEx(ref CommandContext c)
    {
        IncrExOptions options = IncrExOptions.Read(ref c);
        if (c.Failed) return;
        Entry entry = c.FindForWrite(1);
        if (options.IsFloat) IncrExFloat(ref c, ref entry, options);
        else IncrExInteger(ref c, ref entry, options);
    }

    private static void IncrExInteger(ref CommandContext c, ref Entry entry, in IncrExOptions options)
    {
        long increment = IncrExOptions.Integer(ref c, options.Increment, 1, "Increment");
        long lower = IncrExOptions.Integer(ref c, options.Lower, long.MinValue, "LBOUND");
        long upper = IncrExOptions.Integer(ref c, options.Upper, long.MaxValue, "UBOUND");
        if (!c.Failed && lower > upper) c.Fail(IncrExOptions.CrossedBounds);
        long time = options.Expiry.Resolve(ref c);
        if (c.Failed || !TryReadInteger(ref c, entry, out long value)) return;

        Int128 wanted = (Int128)value + increment;
        bool within = wanted >= lower && wanted <= upper;
        long result = (long)Int128.Clamp(wanted, lower, upper);
        Int128 applied = (Int128)result - value;
        if (!within && !options.Saturate)
        {
            result = value;
            applied = 0;
        }
        else if (applied != (long)applied)
        {
            c.Fail("ERR applied increment would overflow");
            return;
        }
        c.Reply.ArrayHeader(2);
        c.Reply.Integer(result);
        c.Reply.Integer((long)applied);
        if (!within && !options.Saturate) return;
        Span<byte> text = stackalloc byte[IntegerText.MaxLength];
        text = text[..IntegerText.Format(result, text)];
        if (RemovedAsExpired(ref c, entry, options, time)) return;
        long before = ExpiryOf(entry);
        StoreInteger(ref c, ref entry, result, options.ExpiryAfter(before, time));
        AfterIncrEx(ref c, before, options, time, text, "incrby");
    }

    private static void IncrExFloat(ref CommandContext c, ref Entry entry, in IncrExOptions options)
    {
        LongDouble increment = IncrExOptions.Float(ref c, options.Increment, LongDouble.FromInt64(1), "Increment");
        if (!c.Failed && increment.IsInfinity) c.Fail("ERR BYFLOAT increment cannot be Infinity");
        LongDouble lower = IncrExOptions.Float(ref c, options.Lower, -LongDouble.MaxValue, "LBOUND");
        LongDouble upper = IncrExOptions.Float(ref c, options.Upper, LongDouble.MaxValue, "UBOUND");
        if (!c.Failed && lower > upper) c.Fail(IncrExOptions.CrossedBounds);
        long time = options.Expiry.Resolve(ref c);
        if (c.Failed || !TryReadFloat(ref c, entry, out LongDouble value)) return;
        if (value.IsInfinity)
        {
            c.Fail("ERR value cannot be Infinity");
            return;
        }

        LongDouble result = value + increment, applied = increment;
        bool within = result >= lower && result <= upper && !result.IsInfinity;
        if (!within)
        {
            bool tooHigh = result > upper || (result.IsInfinity && result > default(LongDouble));
            result = !options.Saturate ? value : tooHigh ? upper : lower;
            applied = result - value;
        }
        if (applied.IsInfinity || result.IsInfinity)
        {
            c.Fail("ERR applied increment would be Infinity");
            return;
        }
        Span<byte> text = stackalloc byte[LongDouble.MaxLength], appliedText = stackalloc byte[LongDouble.MaxLength];
        text = text[..result.Format(text)];
        c.Reply.ArrayHeader(2);
        c.Reply.NumberText(text);
        c.Reply.NumberText(appliedText[..applied.Format(appliedText)]);
        if (!within && !options.Saturate) return;
        if (RemovedAsExpired(ref c, entry, options, time)) return;
        long before = ExpiryOf(entry);
        StoreText(ref c, ref entry, text, options.ExpiryAfter(before, time));
        AfterIncrEx(ref c, before, options, time, text, "incrbyfloat");
    }

    /// <summary>
    /// Removes the key if its new absolute expiry is in the past. It returns true if the expiry is in the past, even if the
    /// key did not exist.
    /// </summary>
    private static bool RemovedAsExpired(ref CommandContext c, in Entry entry, in IncrExOptions options, long time)
    {
        if (!options.Expiry.IsAbsolute || time > c.Now || options.LeavesExpiry(ExpiryOf(entry))) return false;
        if (entry.Exists) StringCommands.RemoveAsExpired(ref c, entry);
        return true;
    }

    private static void AfterIncrEx(ref CommandContext c, long before, in IncrExOptions options, long time, scoped ReadOnlySpan<byte> text, string keyEvent)
    {
        c.Modified(1, NotifyFlags.String, keyEvent);
        bool persists = options.Expiry.Kind == ExpiryKind.Persist, sets = options.SetsExpiry(before);
        if (persists && before != 0) c.Notify(1, NotifyFlags.Generic, "persist");
        if (sets) c.Notify(1, NotifyFlags.Generic, "expire");
        StringCommands.EffectIsSet(ref c, 1, text, sets ? time : 0, keepExpiry: !persists && !sets);
    }

    private static bool TryReadInteger(ref CommandContext c, in Entry entry, out long value)
    {
        value = 0;
        if (!entry.Exists) return true;
        return c.Expect(entry, ValueType.String) && (StringValue.TryGetInteger(entry, out value) || c.Fail(Errors.NotInteger));
    }

    private static bool TryReadFloat(ref CommandContext c, in Entry entry, out LongDouble value)
    {
        value = default;
        if (!entry.Exists) return true;
        if (!c.Expect(entry, ValueType.String)) return false;
        if (entry.Encoding != ValueEncoding.Integer) return LongDouble.TryParse(entry.Value, out value) || c.Fail(Errors.NotFloat);
        value = LongDouble.FromInt64(StringValue.Integer(entry));
        return true;
    }

    private static long ExpiryOf(in Entry entry) => entry.Exists ? entry.Expiry : 0;

    /// <summary>Stores the value and the expiry of a key. If memory is missing, neither changes.</summary>
    private static void StoreInteger(ref CommandContext c, ref Entry entry, long value, long expiry)
    {
        if (entry.Exists && entry.Encoding == ValueEncoding.Integer)
        {
            if (entry.Expiry != expiry) entry.Keyspace.SetExpiry(entry, expiry);
            StringValue.SetInteger(entry, value);
            return;
        }
        StringValue.Set(entry.Keyspace, ref entry, c.Args[1], value, expiry);
    }

    private static void StoreText(ref CommandContext c, ref Entry entry, scoped ReadOnlySpan<byte> text, long expiry) =>
        StringValue.SetBytes(entry.Keyspace, ref entry, c.Args[1], text, expiry);
}
