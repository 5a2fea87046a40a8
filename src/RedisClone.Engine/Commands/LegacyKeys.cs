namespace RedisClone.Engine.Commands;

/// <summary>
/// The first key, the last key and the step, which COMMAND reported before key specifications existed, and whether these do not
/// find all keys.
/// </summary>
internal readonly record struct LegacyKeys(int First, int Last, int Step, bool Movable)
{
    public static LegacyKeys Of(KeySpec[] specs)
    {
        if (specs.Length == 0) return default;
        if (specs is [{ Keyword: null, Counted: false, IsUnknown: false } only])
            return new LegacyKeys(only.Index, LastOf(only), only.Step, IsIncomplete(only));

        int first = int.MaxValue, last = 0, lastOfPrevious = 0;
        bool movable = false;
        foreach (KeySpec spec in specs)
        {
            bool isPlain = spec is { Keyword: null, Counted: false, IsUnknown: false, Step: 1 };
            if (!isPlain || lastOfPrevious != 0 && lastOfPrevious != spec.Index - 1)
            {
                movable = true;
                continue;
            }
            movable |= IsIncomplete(spec);
            first = Math.Min(first, spec.Index);
            // A position counted from the end is beyond every position counted from the beginning.
            last = (int)Math.Max((uint)last, (uint)LastOf(spec));
            lastOfPrevious = last;
        }
        return first == int.MaxValue ? new LegacyKeys(0, 0, 0, true) : new LegacyKeys(first, last, 1, movable);
    }

    private static int LastOf(KeySpec spec) => spec.Last >= 0 ? spec.Index + spec.Last : spec.Last;

    private static bool IsIncomplete(KeySpec spec) => (spec.Flags & KeyFlags.Incomplete) != 0;
}
