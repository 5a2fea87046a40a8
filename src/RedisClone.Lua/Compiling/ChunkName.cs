using System.Text;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Compiling;

/// <summary>Formats the name of a chunk for error messages.</summary>
internal static class ChunkName
{
    /// <summary>The maximum length of the name in run-time errors, including a terminating zero.</summary>
    public const int RuntimeRoom = 60;

    /// <summary>The maximum length of the name in syntax errors.</summary>
    public const int SyntaxRoom = 80;

    /// <summary>
    /// Returns the part of a name that may be shown. The name may be a whole source text, and every error message
    /// contains it.
    /// </summary>
    private static string Ends(LuaString source)
    {
        const int most = 512;
        ReadOnlySpan<byte> bytes = source.Span;
        if (bytes.Length <= 2 * most) return source.ToString();
        return bytes[0] == '@' ? "@" + Encoding.Latin1.GetString(bytes[^most..]) : Encoding.Latin1.GetString(bytes[..most]);
    }

    public static string Display(LuaString source, int room)
    {
        string name = Ends(source);
        int zero = name.IndexOf('\0', StringComparison.Ordinal);
        if (zero >= 0) name = name[..zero];
        if (name.StartsWith('=')) return name.Length - 1 < room ? name[1..] : name[1..room];
        if (name.StartsWith('@'))
        {
            room -= " '...' ".Length + 1;
            return name.Length - 1 > room ? string.Concat("...", name.AsSpan(name.Length - room)) : name[1..];
        }
        int line = name.AsSpan().IndexOfAny('\n', '\r');
        int length = line < 0 ? name.Length : line;
        length = Math.Min(length, room - (" [string \"...\"] ".Length + 1));
        StringBuilder text = new StringBuilder("[string \"").Append(name, 0, length);
        if (length < name.Length) text.Append("...");
        return text.Append("\"]").ToString();
    }
}
