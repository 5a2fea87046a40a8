using RedisClone.Engine.Commands.Generic;
using RedisClone.Protocol;

namespace RedisClone.Engine.Commands.Strings;

/// <summary>
/// The options of INCREX, in any order, each at most once: the positions of its numbers, and the expiry of the key.
/// </summary>
internal struct IncrExOptions
{
    public const string CrossedBounds = "ERR LBOUND can't be greater than UBOUND";

    public ExpiryOption Expiry;

    /// <summary>The positions of the numeric arguments; 0 for an absent one.</summary>
    public int Increment, Lower, Upper;

    public bool IsFloat { get; private set; }

    /// <summary>Whether a result beyond a bound becomes the bound. Otherwise the command does not change the value.</summary>
    public bool Saturate { get; private set; }

    /// <summary>ENX: the key keeps an expiry that it already has.</summary>
    private bool OnlyNewExpiry { get; set; }

    public static IncrExOptions Read(ref CommandContext c)
    {
        var options = default(IncrExOptions);
        for (int i = 2; i < c.Args.Count; i++)
        {
            if (options.TryTake(c, ref i)) continue;
            c.FailSyntax();
            return options;
        }
        if (!options.OnlyNewExpiry || options.Expiry.HasTime) return options;
        if (options.Expiry.Kind == ExpiryKind.Persist) c.FailSyntax();
        else c.Fail("ERR ENX flag requires an expiration");
        return options;
    }

    /// <summary>Whether ENX makes the key keep its present expiry.</summary>
    public readonly bool LeavesExpiry(long present) => OnlyNewExpiry && present != 0;

    /// <summary>Whether the key gets the expiry of the option.</summary>
    public readonly bool SetsExpiry(long present) => Expiry.HasTime && !LeavesExpiry(present);

    /// <summary>The expiry that the key has after the command. <paramref name="time"/> is that of the option.</summary>
    public readonly long ExpiryAfter(long present, long time) =>
        Expiry.Kind == ExpiryKind.Persist ? 0 : SetsExpiry(present) ? time : present;

    public static long Integer(ref CommandContext c, int argument, long absent, string name)
    {
        if (argument == 0) return absent;
        if (!RedisNumber.TryParseInt64(c.Args[argument], out long value)) c.Fail($"ERR {name} is not an integer or out of range");
        return value;
    }

    public static LongDouble Float(ref CommandContext c, int argument, LongDouble absent, string name)
    {
        if (argument == 0) return absent;
        if (!LongDouble.TryParse(c.Args[argument], out LongDouble value)) c.Fail($"ERR {name} is not a valid float");
        return value;
    }

    private bool TryTake(in CommandContext c, ref int i)
    {
        if (c.Is(i, "BYFLOAT"u8) && TryTakeNumber(c, ref i, ref Increment)) return IsFloat = true;
        if (c.Is(i, "BYINT"u8)) return TryTakeNumber(c, ref i, ref Increment);
        if (c.Is(i, "LBOUND"u8)) return TryTakeNumber(c, ref i, ref Lower);
        if (c.Is(i, "UBOUND"u8)) return TryTakeNumber(c, ref i, ref Upper);
        if (c.Is(i, "SATURATE"u8)) return !Saturate && (Saturate = true);
        if (c.Is(i, "ENX"u8)) return !OnlyNewExpiry && (OnlyNewExpiry = true);
        return Expiry.Kind == ExpiryKind.None && Expiry.TryTake(c, ref i, ExpiryKind.Persist);
    }

    private static bool TryTakeNumber(in CommandContext c, ref int i, ref int position)
    {
        if (position != 0 || i + 1 == c.Args.Count) return false;
        position = ++i;
        return true;
    }
}
