using RedisClone.Storage;

namespace RedisClone.Server.Commands;

/// <summary>What XREAD and XREADGROUP are asked for.</summary>
internal struct StreamReadOptions
{
    /// <summary>The arguments that are keys; as many identifiers follow them.</summary>
    public int FirstKey, Keys;

    /// <summary>The argument that names the group, behind it the consumer; 0 without a group.</summary>
    public int Group;

    /// <summary>How long to wait, 0 for ever, -1 not at all.</summary>
    public long Milliseconds;

    /// <summary>Entries at most of each stream, and of all together.</summary>
    public long Count, MaxCount;

    /// <summary>Bytes of all entries together, of which one is always given.</summary>
    public long MaxSize;

    /// <summary>What was pending for so many milliseconds is claimed first; -1 for nothing.</summary>
    public long Claim;

    public bool NoAck;

    public static bool TryRead(ref CommandContext c, bool grouped, out StreamReadOptions options)
    {
        options = new StreamReadOptions { Milliseconds = -1, Claim = -1, Count = long.MaxValue, MaxCount = long.MaxValue, MaxSize = long.MaxValue };
        for (int i = 1; i < c.Args.Count && options.FirstKey == 0; i++)
        {
            bool hasMore = i + 1 < c.Args.Count;
            if (hasMore && c.Is(i, "BLOCK"u8)) options.Milliseconds = c.Timeout(++i);
            else if (hasMore && c.Is(i, "COUNT"u8)) options.Count = c.Int64(++i) is > 0 and var count ? count : long.MaxValue;
            else if (hasMore && c.Is(i, "MAXCOUNT"u8)) options.MaxCount = c.Int64(++i, 1, long.MaxValue, "ERR MAXCOUNT must be a positive integer");
            else if (hasMore && c.Is(i, "MAXSIZE"u8)) options.MaxSize = c.Int64(++i, 1, long.MaxValue, "ERR MAXSIZE must be a positive integer");
            else if (hasMore && c.Is(i, "STREAMS"u8)) options.ReadKeys(ref c, i + 1, grouped);
            else if (i + 2 < c.Args.Count && c.Is(i, "GROUP"u8)) options.ReadGroup(ref c, ref i, grouped);
            else if (hasMore && c.Is(i, "CLAIM"u8)) options.Claim = ClaimIdle(ref c, ++i, grouped);
            else if (!c.Is(i, "NOACK"u8)) c.FailSyntax();
            else if (grouped) options.NoAck = true;
            else c.Fail("ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.");
            if (c.Failed) return false;
        }
        if (options.FirstKey == 0) return c.FailSyntax();
        if (options.Count != long.MaxValue && options.MaxCount < options.Count) return c.Fail("ERR MAXCOUNT must be greater than or equal to COUNT");
        return !grouped || options.Group > 0 || c.Fail("ERR Missing GROUP option for XREADGROUP");
    }

    private void ReadKeys(ref CommandContext c, int first, bool grouped)
    {
        int arguments = c.Args.Count - first;
        if (arguments % 2 != 0)
        {
            c.Fail($"ERR Unbalanced '{c.Row.Name}' list of streams: for each stream key an ID or '{(grouped ? '>' : '$')}' must be specified.");
            return;
        }
        (FirstKey, Keys) = (first, arguments / 2);
        // The shards at hand are those of the keys that the row's rule found: an option that is the word itself misleads it.
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        if (!c.Row.CollectKeys(c.Args, ref positions) || positions.Count != Keys || positions[0] != first) c.FailSyntax();
        positions.Dispose();
    }

    private void ReadGroup(ref CommandContext c, ref int argument, bool grouped)
    {
        if (!grouped) c.Fail("ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.");
        Group = argument + 1;
        argument += 2;
    }

    private static long ClaimIdle(ref CommandContext c, int argument, bool grouped)
    {
        if (!grouped) c.Fail("ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.");
        long idle = c.Int64(argument, "ERR min-idle-time is not an integer or out of range");
        if (!c.Failed && idle < 0) c.Fail("ERR min-idle-time must be a positive integer");
        return idle;
    }
}
