using RedisClone.Configuration;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Strings;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Engine.Commands.Generic;

/// <summary>OBJECT: the encoding and the access statistics of a value. These commands do not count as an access.</summary>
internal static class ObjectCommands
{
    private const string NeedsLfu =
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between " +
            "policies at runtime LRU and " +
        "LFU data will take some time to adjust.";

    private const string NeedsLru =
        "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at " +
            "runtime LRU and LFU data will " +
        "take some time to adjust.";

    public static readonly CommandRow[] Rows =
    [
        new("OBJECT", -2, Keys.None, None, "generic", "2.2.3", null, "Commands about the internal form of values.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                Sub("ENCODING key", "2.2.3", Encoding, "Returns the internal encoding of a value."),
                Sub("FREQ key", "4.0.0", Frequency, "Returns how often a key is used, on a logarithmic scale."),
                Sub("IDLETIME key", "2.2.3", IdleTime, "Returns the seconds since a key was last used."),
                Sub("REFCOUNT key", "2.2.3", RefCount, "Returns the number of references to a value."),
                Help.Row("generic", "6.2.0"),
            ],
        },
    ];

    private static CommandRow Sub(string name, string since, CommandHandler handler, string summary) =>
        new(name, 3, Keys.At(2, KeyFlags.RO), ReadOnly, "generic", since, handler, summary) { Tips = CommandTips.Nondeterministic };

    private static void Encoding(ref CommandContext c)
    {
        Entry entry = c.Peek(2);
        if (entry.Exists) c.Reply.Bulk(ValueInfo.EncodingName(entry));
        else c.Reply.Null();
    }

    /// <summary>
    /// Replies with 1, except for small integers. Redis shares these among keys and reports the greatest count, unless the
    /// eviction policy needs the access time of each key. This server reports the same.
    /// </summary>
    private static void RefCount(ref CommandContext c)
    {
        Entry entry = c.Peek(2);
        if (!entry.Exists) c.Reply.Null();
        else c.Reply.Integer(SharesIntegers(c.Data.Config) && entry.Type == ValueType.String
            && entry.Encoding == ValueEncoding.Integer && StringValue.Integer(entry) is >= 0 and < 10_000 ? int.MaxValue : 1);
    }

    private static bool SharesIntegers(ServerConfig config) => config.MaxMemoryBytes == 0 || config.MaxMemoryPolicy is not (
        MaxMemoryPolicy.AllKeysLru or MaxMemoryPolicy.AllKeysLfu or MaxMemoryPolicy.VolatileLru or MaxMemoryPolicy.VolatileLfu);

    private static void IdleTime(ref CommandContext c)
    {
        Entry entry = c.Peek(2);
        if (!entry.Exists) c.Reply.Null();
        else if (c.Data.AccessClock.CountsFrequency) c.Fail(NeedsLru);
        else c.Reply.Integer(c.Data.AccessClock.IdleSeconds(entry.Access));
    }

    private static void Frequency(ref CommandContext c)
    {
        Entry entry = c.Peek(2);
        if (!entry.Exists) c.Reply.Null();
        else if (!c.Data.AccessClock.CountsFrequency) c.Fail(NeedsLfu);
        else c.Reply.Integer(c.Data.AccessClock.Frequency(entry.Access));
    }
}
