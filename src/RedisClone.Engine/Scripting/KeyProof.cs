using RedisClone.Engine.Commands;
using RedisClone.Lua.Analysis;
using RedisClone.Lua.Values;
using RedisClone.Protocol;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// Proves that a script or a function runs only commands whose keys are elements of KEYS. What is unknown proves nothing: the
/// script then holds all shards.
/// </summary>
internal static class KeyProof
{
    private static readonly AnalysisNames s_names = new("KEYS", ["redis", "server"], ["call", "pcall"], ["ARGV"]);

    /// <summary>The commands without keys that use no data.</summary>
    private static readonly string[] s_keyless = ["echo", "ping", "publish", "spublish", "time"];

    /// <summary>Whether a script uses only keys that it declares.</summary>
    public static bool Holds(CommandTable commands, LuaFunction script) => Holds(commands, new FunctionGroup([script]), script);

    /// <summary>
    /// Whether a function of a library uses only keys that it declares, and leaves nothing that a later call could see.
    /// </summary>
    public static bool Holds(CommandTable commands, FunctionGroup library, LuaFunction function)
    {
        if (library.Find(function, s_names) is not { } sites) return false;
        foreach (CallSite site in sites)
            if (!KeepsToKeys(commands, site)) return false;
        return true;
    }

    private static bool KeepsToKeys(CommandTable commands, CallSite site)
    {
        if (TextOf(site, 0) is not { } name || commands.Find(name.Span) is not { } row) return false;
        if (row.Subcommands.Length > 0)
        {
            if (TextOf(site, 1) is not { } second || CommandTable.FindSubcommand(row, second.Span) is not { } subcommand) return false;
            row = subcommand;
        }
        // A route means that the keys alone do not determine the shards. Options decide where the keys are if a function finds them.
        if (row.Has(CommandFlags.AllShards | CommandFlags.NoScript) || row.Route is not null || row.FindKeys is not null) return false;
        KeySpec[] specs = Array.FindAll(row.Keys, static spec => (spec.Flags & KeyFlags.NotKey) == 0);
        return specs.Length > 0 ? Array.TrueForAll(specs, spec => AreKeys(site, spec)) : Array.IndexOf(s_keyless, row.FullName) >= 0;
    }

    /// <summary>Whether all arguments that a rule may find are keys.</summary>
    private static bool AreKeys(CallSite site, KeySpec spec)
    {
        if (spec.IsUnknown || spec.Keyword is not null || spec.Limit > 0 || spec.Index < 1) return false;
        int end = site.Arguments.Length;
        if (spec.Counted)
        {
            int first = spec.Index + spec.FirstKey;
            // If the number of keys is not known, all further arguments may be keys.
            long last = NumberOf(site, spec.Index) is { } count ? first + (count - 1) * spec.Step : long.MaxValue;
            return AreKeys(site, first, last, spec.Step);
        }
        if (spec.Last >= 0) return AreKeys(site, spec.Index, spec.Index + spec.Last, spec.Step);
        return AreKeys(site, spec.Index, site.Rest is null ? end + spec.Last : long.MaxValue, spec.Step);
    }

    private static bool AreKeys(CallSite site, int first, long last, int step)
    {
        long position = first;
        for (; position <= last && position < site.Arguments.Length; position += step)
            if (site.Arguments[position].Kind != ArgumentOrigin.Key) return false;
        // Every further argument may be at a position of a key.
        return site.Rest is null or ArgumentOrigin.Key || last < site.Arguments.Length;
    }

    private static LuaString? TextOf(CallSite site, int index) =>
        index < site.Arguments.Length && site.Arguments[index].Kind == ArgumentOrigin.Constant ? site.Arguments[index].Constant.AsString : null;

    /// <summary>The number that an argument is; null if it is not known.</summary>
    private static long? NumberOf(CallSite site, int index)
    {
        if (index >= site.Arguments.Length || site.Arguments[index] is not { Kind: ArgumentOrigin.Constant } argument) return null;
        double number = argument.Constant.AsNumber;
        if (argument.Constant.AsString is { } text) number = RedisNumber.TryParseInt64(text.Span, out long parsed) ? parsed : 0;
        return number is > 0 and <= int.MaxValue && number == Math.Truncate(number) ? (long)number : null;
    }
}
