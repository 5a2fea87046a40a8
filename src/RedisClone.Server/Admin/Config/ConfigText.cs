using System.Globalization;
using System.Text;
using RedisClone.Protocol;

namespace RedisClone.Server.Admin;

/// <summary>
/// The quoting and the patterns of redis.conf, shared by files, the command line and CONFIG REWRITE. A line is held as one char a byte
/// (Latin-1), so that line and escapes stay what the file says; its words come out as the UTF-8 text that the bytes spell.
/// </summary>
internal static class ConfigText
{
    /// <summary>Text as the line form holds it: its UTF-8 bytes, a char each.</summary>
    public static string ToLine(string text) => Encoding.Latin1.GetString(Encoding.UTF8.GetBytes(text));

    /// <summary>What the bytes of a line spell.</summary>
    public static string FromLine(string line) => Encoding.UTF8.GetString(Encoding.Latin1.GetBytes(line));

    /// <summary>The words of a line, with "double" (escapes) and 'single' quotes. Null: the quotes do not balance.</summary>
    public static string[]? SplitWords(string line) =>
        InlineSplitter.Split(Encoding.Latin1.GetBytes(line)) is { } words ? Array.ConvertAll(words, Encoding.UTF8.GetString) : null;

    /// <summary>The double-quoted form, which <see cref="SplitWords"/> reads back as exactly <paramref name="text"/>.</summary>
    public static string Quote(string text)
    {
        var quoted = new StringBuilder(text.Length + 2);
        AppendQuoted(quoted, Encoding.UTF8.GetBytes(text));
        return quoted.ToString();
    }

    /// <summary>The same for bytes, as MONITOR shows them too.</summary>
    public static void AppendQuoted(StringBuilder quoted, ReadOnlySpan<byte> text)
    {
        quoted.Append('"');
        foreach (byte b in text)
        {
            _ = b switch
            {
                (byte)'\\' or (byte)'"' => quoted.Append('\\').Append((char)b),
                (byte)'\n' => quoted.Append("\\n"),
                (byte)'\r' => quoted.Append("\\r"),
                (byte)'\t' => quoted.Append("\\t"),
                (byte)'\a' => quoted.Append("\\a"),
                (byte)'\b' => quoted.Append("\\b"),
                >= 0x20 and < 0x7f => quoted.Append((char)b),
                _ => quoted.Append(CultureInfo.InvariantCulture, $"\\x{b:x2}"),
            };
        }
        quoted.Append('"');
    }

    /// <summary>Whole numbers as Redis reads them: no sign but a minus, no leading zero, no space.</summary>
    public static bool TryParseInteger(string text, out long value)
    {
        value = 0;
        if (!long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long parsed) ||
            parsed.ToString(CultureInfo.InvariantCulture) != text)
            return false;
        value = parsed;
        return true;
    }

    public static bool HasWildcard(string text) => text.AsSpan().IndexOfAny('*', '?', '[') >= 0;

    public static bool MatchesGlob(string pattern, string text, bool ignoreCase) =>
        Glob.Matches(Encoding.UTF8.GetBytes(pattern), Encoding.UTF8.GetBytes(text), ignoreCase);
}
