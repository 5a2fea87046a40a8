namespace RedisClone.Engine.Commands.Generic;

internal enum ExpiryKind : byte
{
    None,
    Seconds,
    Milliseconds,
    UnixSeconds,
    UnixMilliseconds,
    Keep,
    Persist,
}

/// <summary>
/// The expiry options of SET, GETEX and similar commands: EX, PX, EXAT or PXAT with a time, KEEPTTL, or PERSIST.
/// </summary>
internal struct ExpiryOption
{
    private int _time;

    public ExpiryKind Kind { get; private set; }

    /// <summary>An expiry time at a fixed argument, as in SETEX.</summary>
    public static ExpiryOption After(ExpiryKind kind, int argument) => new() { Kind = kind, _time = argument };

    /// <summary>Whether the option has a time.</summary>
    public readonly bool HasTime => Kind is >= ExpiryKind.Seconds and <= ExpiryKind.UnixMilliseconds;

    /// <summary>Whether the time is a Unix time, which may be in the past, and not a duration.</summary>
    public readonly bool IsAbsolute => Kind is ExpiryKind.UnixSeconds or ExpiryKind.UnixMilliseconds;

    /// <summary>
    /// Takes the argument at <paramref name="i"/> and its value. It returns false if the argument is not an expiry option, or
    /// if it contradicts an earlier one. As in Redis, the same option may be repeated.
    /// </summary>
    public bool TryTake(in CommandContext c, ref int i, ExpiryKind wordAllowed)
    {
        ExpiryKind kind = KindOf(c, i);
        bool isWord = kind is ExpiryKind.Keep or ExpiryKind.Persist;
        if (kind == ExpiryKind.None || (Kind != ExpiryKind.None && Kind != kind)) return false;
        if (isWord ? kind != wordAllowed : i + 1 == c.Args.Count) return false;
        Kind = kind;
        if (!isWord) _time = ++i;
        return true;
    }

    /// <summary>The time in Unix milliseconds, or 0 without one. It sets an error if the time is not valid.</summary>
    public readonly long Resolve(ref CommandContext c)
    {
        if (!HasTime) return 0;
        long time = c.Int64(_time);
        if (c.Failed) return 0;
        bool seconds = Kind is ExpiryKind.Seconds or ExpiryKind.UnixSeconds;
        long start = IsAbsolute ? 0 : c.Now;
        if (time > 0 && (!seconds || time <= long.MaxValue / 1000))
        {
            if (seconds) time *= 1000;
            if (time <= long.MaxValue - start) return start + time;
        }
        c.Fail(Errors.InvalidExpireTime(c.Row.FullName));
        return 0;
    }

    private static ExpiryKind KindOf(in CommandContext c, int i) => c.Args[i].Length switch
    {
        2 when c.Is(i, "EX"u8) => ExpiryKind.Seconds,
        2 when c.Is(i, "PX"u8) => ExpiryKind.Milliseconds,
        4 when c.Is(i, "EXAT"u8) => ExpiryKind.UnixSeconds,
        4 when c.Is(i, "PXAT"u8) => ExpiryKind.UnixMilliseconds,
        7 when c.Is(i, "KEEPTTL"u8) => ExpiryKind.Keep,
        7 when c.Is(i, "PERSIST"u8) => ExpiryKind.Persist,
        _ => ExpiryKind.None,
    };
}
