using System.Globalization;
using System.Text;

namespace RedisClone.Server.Admin;

/// <summary>
/// The quoting of redis.conf, shared by files, the command line and CONFIG REWRITE. A line is held as one char a byte
/// (Latin-1), so that line and escapes stay what the file says; its words come out as the UTF-8 text that the bytes spell.
/// </summary>
public static class ConfigText
{
    /// <summary>Text as the line form holds it: its UTF-8 bytes, a char each.</summary>
    public static string ToLine(string text) => Encoding.Latin1.GetString(Encoding.UTF8.GetBytes(text));

    /// <summary>What the bytes of a line spell.</summary>
    public static string FromLine(string line) => Encoding.UTF8.GetString(Encoding.Latin1.GetBytes(line));

    /// <summary>Splits a line into words, with "double" (escapes) and 'single' quotes. Null: the quotes do not balance.</summary>
    public static string[]? SplitWords(string line)
    {
        var words = new List<string>();
        var word = new StringBuilder();
        var at = 0;
        while (true)
        {
            while (at < line.Length && IsSpace(line[at]))
                at++;
            if (at >= line.Length || line[at] == '\0')
                return [.. words];
            if (!ReadWord(line, ref at, word.Clear()))
                return null;
            words.Add(FromLine(word.ToString()));
        }
    }

    /// <summary>The double-quoted form, which <see cref="SplitWords"/> reads back as exactly <paramref name="text"/>.</summary>
    public static string Quote(string text)
    {
        var quoted = new StringBuilder(text.Length + 2).Append('"');
        foreach (var b in Encoding.UTF8.GetBytes(text))
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
        return quoted.Append('"').ToString();
    }

    /// <summary>Whole numbers as Redis reads them: no sign but a minus, no leading zero, no space.</summary>
    public static bool TryParseInteger(string text, out long value)
    {
        value = 0;
        if (!long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out var parsed) ||
            parsed.ToString(CultureInfo.InvariantCulture) != text)
            return false;
        value = parsed;
        return true;
    }

    private static bool ReadWord(string line, ref int at, StringBuilder word)
    {
        while (at < line.Length && line[at] is not ('\0' or ' ' or '\n' or '\r' or '\t'))
        {
            var c = line[at++];
            if (c is '"' or '\'')
                return ReadQuoted(line, ref at, c, word);
            word.Append(c);
        }
        return true;
    }

    /// <summary>A closing quote ends the word, and only a space or the end of the line may follow it.</summary>
    private static bool ReadQuoted(string line, ref int at, char quote, StringBuilder word)
    {
        while (at < line.Length)
        {
            var c = line[at++];
            if (c == quote)
                return at == line.Length || IsSpace(line[at]);
            if (c != '\\' || at == line.Length || (quote == '\'' && line[at] != '\''))
                word.Append(c);
            else if (quote == '"' && line[at] == 'x' && at + 2 < line.Length &&
                     char.IsAsciiHexDigit(line[at + 1]) && char.IsAsciiHexDigit(line[at + 2]))
            {
                word.Append((char)byte.Parse(line.AsSpan(at + 1, 2), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture));
                at += 3;
            }
            else
                word.Append(quote == '"' ? Unescape(line[at++]) : line[at++]);
        }
        return false;
    }

    private static char Unescape(char c) => c switch
    {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\b',
        'a' => '\a',
        _ => c,
    };

    private static bool IsSpace(char c) => c is ' ' or (>= '\t' and <= '\r');
}
