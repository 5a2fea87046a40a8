using System.Text;

namespace RedisClone.Engine.Scripting;

/// <summary>The flags that a script's first line (#!lua flags=…) or a function's registration declares.</summary>
[Flags]
internal enum ScriptFlags
{
    None = 0,
    NoWrites = 1,
    AllowOom = 2,
    AllowStale = 4,
    NoCluster = 8,
    AllowCrossSlotKeys = 16,

    /// <summary>The script has no such first line and follows the rules of Redis before version 7.</summary>
    Compatible = 32,
}

/// <summary>The names of the flags.</summary>
internal static class ScriptFlagNames
{
    /// <summary>In Redis's order.</summary>
    public static readonly (string Name, ScriptFlags Flag)[] All =
    [
        ("no-writes", ScriptFlags.NoWrites), ("allow-oom", ScriptFlags.AllowOom), ("allow-stale", ScriptFlags.AllowStale),
        ("no-cluster", ScriptFlags.NoCluster), ("allow-cross-slot-keys", ScriptFlags.AllowCrossSlotKeys),
    ];

    /// <summary>The flag of a name; null for an unknown name.</summary>
    public static ScriptFlags? Find(string name, StringComparison comparison)
    {
        foreach ((string known, ScriptFlags flag) in All)
            if (known.Equals(name, comparison)) return flag;
        return null;
    }
}

/// <summary>Parses the first line of a script, which names the engine and the flags.</summary>
internal static class Shebang
{
    private const string FlagsOption = "flags=";

    /// <param name="body">The script.</param>
    /// <param name="flags">The declared flags, or <see cref="ScriptFlags.Compatible"/> if there is no such line.</param>
    /// <param name="length">The length of the line without its end, which stays in the script to keep the line numbers.</param>
    /// <param name="error">The error, or an empty string.</param>
    public static bool TryParse(ReadOnlySpan<byte> body, out ScriptFlags flags, out int length, out string error)
    {
        flags = ScriptFlags.Compatible;
        length = 0;
        error = "";
        if (!body.StartsWith("#!"u8)) return true;
        string[]? words = Words(body, out length);
        if (words is null) error = "ERR Invalid script shebang";
        else if (words.Length == 0) error = "ERR Invalid engine in script shebang";
        else if (words[0] != "#!lua") error = $"ERR Unexpected engine in script shebang: {words[0]}";
        flags = ScriptFlags.None;
        for (int i = 1; i < words?.Length && error.Length == 0; i++)
        {
            if (words[i].StartsWith(FlagsOption, StringComparison.Ordinal)) error = AddFlags(words[i][FlagsOption.Length..], ref flags);
            else error = $"ERR Unknown lua shebang option: {words[i]}";
        }
        return error.Length == 0;
    }

    /// <summary>The words of the first line, unquoted, and its length. Returns null if the text has only one line.</summary>
    public static string[]? Words(ReadOnlySpan<byte> body, out int length)
    {
        length = body.IndexOf((byte)'\n');
        if (length < 0) return null;
        byte[][] words = Protocol.InlineSplitter.Split(body[..length]) ?? [];
        return Array.ConvertAll(words, Encoding.Latin1.GetString);
    }

    private static string AddFlags(string names, ref ScriptFlags flags)
    {
        if (names.Length == 0) return "";
        foreach (string name in names.Split(','))
        {
            if (ScriptFlagNames.Find(name, StringComparison.Ordinal) is not { } flag) return $"ERR Unexpected flag in script shebang: {name}";
            flags |= flag;
        }
        return "";
    }
}
