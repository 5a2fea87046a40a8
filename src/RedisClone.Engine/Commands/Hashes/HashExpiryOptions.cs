namespace RedisClone.Engine.Commands.Hashes;

/// <summary>The options of HGETEX and HSETEX. FIELDS is the last one.</summary>
internal readonly record struct HashExpiryOptions
{
    /// <summary>The expiry of the fields in Unix milliseconds.</summary>
    public long? At { get; private init; }

    public bool Persist { get; private init; }

    public bool KeepTtl { get; private init; }

    /// <summary>True for FXX (all fields must exist), false for FNX (no field may exist).</summary>
    public bool? MustExist { get; private init; }

    public int FirstField { get; private init; }

    public static bool TryParse(ref CommandContext c, out HashExpiryOptions options)
    {
        bool set = c.Row.Name == "hsetex";
        options = default;
        bool timed = false;
        for (int i = 2; i < c.Args.Count; i++)
        {
            if (c.Is(i, "FIELDS"u8)) return TryFields(ref c, i, set ? 2 : 1, ref options);
            if (set && (c.Is(i, "FXX"u8) || c.Is(i, "FNX"u8)))
            {
                if (options.MustExist is not null) return c.Fail("ERR Only one of FXX or FNX arguments can be specified");
                options = options with { MustExist = c.Is(i, "FXX"u8) };
                continue;
            }
            bool persist = !set && c.Is(i, "PERSIST"u8), keep = set && c.Is(i, "KEEPTTL"u8);
            (long unit, bool relative) = UnitAt(ref c, i);
            if (!persist && !keep && unit == 0) return c.Fail($"ERR unknown argument: {c.Echo(i)}");
            if (timed) return c.Fail($"ERR Only one of EX, PX, EXAT, PXAT or {(set ? "KEEPTTL" : "PERSIST")} arguments can be specified");
            timed = true;
            if (unit == 0)
            {
                options = options with { Persist = persist, KeepTtl = keep };
                continue;
            }
            if (i + 1 == c.Args.Count) return c.Fail("ERR missing expire time");
            if (!HashExpiryCommands.TryTime(ref c, ++i, unit, relative ? c.Now : 0, out long at)) return false;
            options = options with { At = at };
        }
        return c.Fail("ERR missing FIELDS argument");
    }

    /// <summary>
    /// The unit, in milliseconds, of the time after an option (0 if the option has none), and whether the time is a duration.
    /// </summary>
    private static (long Unit, bool Relative) UnitAt(ref CommandContext c, int argument) =>
        c.Is(argument, "EX"u8) ? (1000, true)
        : c.Is(argument, "PX"u8) ? (1, true)
        : c.Is(argument, "EXAT"u8) ? (1000, false)
        : c.Is(argument, "PXAT"u8) ? (1, false)
        : (0, false);

    private static bool TryFields(ref CommandContext c, int argument, int width, ref HashExpiryOptions options)
    {
        int first = argument + 2;
        if (c.Args.Count <= first) return c.Fail(Errors.WrongArity(c.Row.FullName));
        long fields = c.Int64(argument + 1, 1, int.MaxValue, "ERR invalid number of fields");
        if (c.Failed) return false;
        options = options with { FirstField = first };
        return fields * width == c.Args.Count - first || c.Fail(Errors.WrongArity(c.Row.FullName));
    }
}
