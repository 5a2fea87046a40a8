using System.Text.RegularExpressions;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// Intended differences from redis-server 7.0. In most of them this server follows a later Redis. Each line lists the requests
/// (in capitals), the reply of 7.0, our reply and the reason. Some lines apply only to keys that a certain command used before.
/// </summary>
internal static class IntendedDifferences
{
    private static readonly (string Request, string Theirs, string Ours, string Why, string? After)[] s_table =
    [
        ("^OBJECT ENCODING", @"^\$""quicklist""$", @"^\$""listpack""$", "7.2: small lists are listpacks", null),
        ("^OBJECT ENCODING", @"^\$""hashtable""$", @"^\$""listpack""$", "7.2: small sets are listpacks", null),
        ("^OBJECT ENCODING", @"^\$""skiplist""$", @"^\$""listpack""$",
         "SORT leaves the sorted set that it reads in another form; here reading changes nothing", "^SORT"),
        ("^OBJECT REFCOUNT", "^:(1|2147483647)$", "^:(1|2147483647)$", "which small integers are shared objects is Redis's own affair", null),
        ("^ZRANK", "^-ERR wrong number of arguments", "^-ERR syntax error", "7.2: ZRANK has WITHSCORE", null),
        ("^ZREVRANK", "^-ERR wrong number of arguments", "^-ERR syntax error", "7.2: ZREVRANK has WITHSCORE", null),
        ("^BITPOS", "^:|^-WRONGTYPE", "^-ERR (syntax|value is not an integer)", "7.2: arguments are checked before the key is looked up", null),
        ("^BITCOUNT", "^:|^-WRONGTYPE", "^-ERR (syntax|value is not an integer)", "7.2: arguments are checked before the key is looked up", null),
        ("^LREM", ".", "^-ERR value is out of range, value must between -9223372036854775807", "7.4: a count that cannot be negated", null),
        ("^COMMAND GETKEYS", "^-ERR wrong number of arguments for 'command", "^-ERR (Inv|The command has no key)",
         "7.2: the command may be one without arguments", null),
        (@"^COMMAND GETKEYS PFMERGE \S+$", "^-ERR Invalid arguments", @"^\*\[", "a PFMERGE without sources has one key", null),
        ("(?s)^RESTORE", @"^\+OK$", "^-ERR Bad data format$", "a payload with bytes behind its value is refused", null),
        ("^XSETID", @"^(\+OK$|-ERR The ID .* smaller)", "^-ERR The ID .* smaller than current max_deleted_entry_id",
         "7.2: the identifier is compared with deleted ones", null),
        ("^ACL (LIST|GETUSER)", ".", "sanitize-payload", "7.2: the flag is shown", null),
        ("^XGROUP CREATECONSUMER", "^:1$", "^:0$", "7.2: XCLAIM and XAUTOCLAIM make their consumer even if there is nothing to claim", null),
        ("^XAUTOCLAIM", "^-ERR Insufficient memory", ".", "7.4: memory is allocated by COUNT", null),
        ("(?s)^LPOS .*RANK -9223372036854775808", ".", "^-ERR value is out of range, value must between -9223372036854775807",
         "7.4: a rank that cannot be negated", null),
        ("^PFADD", "^:1$", "^-INVALIDOBJ",
         "an estimate that ends in the middle of an opcode: Redis reads, and writes, what lies behind the value", "^(SETRANGE|SETBIT|BITFIELD|BITOP|APPEND)"),
        ("AGGREGATE COUNT", "^-ERR syntax error", ".", "8.x: AGGREGATE has COUNT", null),
        ("^[HSZ]?SCAN", ".", "^-ERR invalid cursor", "7.4: an empty cursor is none", null),
        (@"  1|\0|E400|E309|E-324", ".", "^-ERR min or max is not a float", "the C library would read such a bound by half", null),
    ];

    private static readonly (string Request, string Theirs, string Ours, string Why)[] s_events =
    [
        ("^BITFIELD", "^$|^[^,]* new\", [^,]*:new [^,]*$", "setbit", "a string that was made longer was changed, even if nothing was written into it"),
    ];

    /// <summary>Returns whether a difference between two lists of key events is intended. Each list is one line.</summary>
    public static bool CoversEvents(string[] request, string[] ours, string[] theirs)
    {
        string text = string.Join(' ', request).ToUpperInvariant(), here = string.Join(", ", ours), there = string.Join(", ", theirs);
        if (s_events.Any(line => Regex.IsMatch(text, line.Request) && Regex.IsMatch(there, line.Theirs) && Regex.IsMatch(here, line.Ours))) return true;
        if (!Regex.IsMatch(text, "^(SORT|X)")) return false;
        return ours.Where(IsCompared).SequenceEqual(theirs.Where(IsCompared));

        // This server reports one miss for each key that a reading command names. Redis reports one miss for each lookup. From
        // 7.2 on, claims create consumers, so the events of consumers differ too.
        static bool IsCompared(string shown) =>
            !shown.Contains("keymiss", StringComparison.Ordinal) && !Regex.IsMatch(shown, "xgroup-(create|del)consumer");
    }

    public static bool Covers(string[] request, Reply ours, Reply theirs, KeyHistory before)
    {
        string text = string.Join(' ', request).ToUpperInvariant();
        return s_table.Any(line => Regex.IsMatch(text, line.Request) && Regex.IsMatch(theirs.ToString(), line.Theirs)
            && Regex.IsMatch(ours.ToString(), line.Ours) && (line.After is null || before.Knows(line.After, request)));
    }
}
