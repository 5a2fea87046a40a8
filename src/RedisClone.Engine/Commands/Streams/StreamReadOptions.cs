using System.Text;
using RedisClone.Protocol;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>The options of XREAD and XREADGROUP.</summary>
internal struct StreamReadOptions
{
    private enum Option
    {
        None,
        Block,
        Count,
        MaxCount,
        MaxSize,
        Streams,
        Group,
        Claim,
        NoAck,
    }

    /// <summary>The index of the first key and the number of keys. The same number of identifiers follows the keys.</summary>
    public int FirstKey, Keys;

    /// <summary>The index of the group argument, which the consumer argument follows; 0 for XREAD.</summary>
    public int Group;

    /// <summary>The time to block in milliseconds: 0 for no timeout, -1 for no blocking.</summary>
    public long Milliseconds;

    /// <summary>The greatest number of entries for each stream, and for all streams together.</summary>
    public long Count, MaxCount;

    /// <summary>
    /// The greatest size of all entries together in bytes. The first entry is delivered regardless of its size.
    /// </summary>
    public long MaxSize;

    /// <summary>The idle time in milliseconds after which pending entries are claimed; -1 without CLAIM.</summary>
    public long Claim;

    public bool NoAck;

    public static bool TryRead(ref CommandContext c, bool grouped, out StreamReadOptions options)
    {
        options = new StreamReadOptions { Milliseconds = -1, Claim = -1, Count = long.MaxValue, MaxCount = long.MaxValue, MaxSize = long.MaxValue };
        int values;
        for (int i = 1; i < c.Args.Count && options.FirstKey == 0; i += 1 + values)
        {
            switch (OptionAt(c.Args, i, out values))
            {
                case Option.Block:
                    options.Milliseconds = c.Timeout(i + 1);
                    break;
                case Option.Count:
                    options.Count = c.Int64(i + 1) is > 0 and var count ? count : long.MaxValue;
                    break;
                case Option.MaxCount:
                    options.MaxCount = c.Int64(i + 1, 1, long.MaxValue, "ERR MAXCOUNT must be a positive integer");
                    break;
                case Option.MaxSize:
                    options.MaxSize = c.Int64(i + 1, 1, long.MaxValue, "ERR MAXSIZE must be a positive integer");
                    break;
                case Option.Streams:
                    options.ReadKeys(ref c, i + 1, grouped);
                    break;
                case Option.Group:
                    options.Group = i + 1;
                    if (!grouped) c.Fail("ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.");
                    break;
                case Option.Claim:
                    options.Claim = ClaimIdle(ref c, i + 1, grouped);
                    break;
                case Option.NoAck:
                    options.NoAck = true;
                    if (!grouped) c.Fail("ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.");
                    break;
                default:
                    c.FailSyntax();
                    break;
            }
            if (c.Failed) return false;
        }
        if (options.FirstKey == 0) return c.FailSyntax();
        if (options.Count != long.MaxValue && options.MaxCount < options.Count) return c.Fail("ERR MAXCOUNT must be greater than or equal to COUNT");
        return !grouped || options.Group > 0 || c.Fail("ERR Missing GROUP option for XREADGROUP");
    }

    /// <summary>
    /// The index of the first argument after STREAMS; 0 if STREAMS is missing or an earlier argument is not a valid option.
    /// </summary>
    public static int FirstKeyOf(in Request request)
    {
        int values;
        for (int i = 1; i < request.Count; i += 1 + values)
        {
            Option option = OptionAt(request, i, out values);
            if (option == Option.Streams) return i + 1;
            if (option == Option.None) return 0;
        }
        return 0;
    }

    /// <summary>The option at an argument, and the number of its values.</summary>
    private static Option OptionAt(in Request request, int i, out int values)
    {
        ReadOnlySpan<byte> word = request[i];
        int left = request.Count - i - 1;
        values = 1;
        if (left >= 1)
        {
            if (Ascii.EqualsIgnoreCase(word, "STREAMS"u8)) return Option.Streams;
            if (Ascii.EqualsIgnoreCase(word, "COUNT"u8)) return Option.Count;
            if (Ascii.EqualsIgnoreCase(word, "BLOCK"u8)) return Option.Block;
            if (Ascii.EqualsIgnoreCase(word, "MAXCOUNT"u8)) return Option.MaxCount;
            if (Ascii.EqualsIgnoreCase(word, "MAXSIZE"u8)) return Option.MaxSize;
            if (Ascii.EqualsIgnoreCase(word, "CLAIM"u8)) return Option.Claim;
        }
        values = 2;
        if (left >= 2 && Ascii.EqualsIgnoreCase(word, "GROUP"u8)) return Option.Group;
        values = 0;
        return Ascii.EqualsIgnoreCase(word, "NOACK"u8) ? Option.NoAck : Option.None;
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
    }

    private static long ClaimIdle(ref CommandContext c, int argument, bool grouped)
    {
        if (!grouped) c.Fail("ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.");
        long idle = c.Int64(argument, "ERR min-idle-time is not an integer or out of range");
        if (!c.Failed && idle < 0) c.Fail("ERR min-idle-time must be a positive integer");
        return idle;
    }
}
