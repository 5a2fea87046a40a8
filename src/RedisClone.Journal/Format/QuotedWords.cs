using System.Text;

namespace RedisClone.Journal.Format;

/// <summary>
/// Quotes and splits words by the rules that Redis uses in its manifest and configuration. Each character stands for
/// one byte (Latin-1).
/// </summary>
internal static class QuotedWords
{
    public static string QuoteIfNeeded(string word) =>
        word.All(c => c is > ' ' and <= '~' and not '"' and not '\\') ? word : Quote(word);

    /// <summary>Splits a line into words. Returns null if its quotes do not match.</summary>
    public static List<string>? Split(string line)
    {
        var words = new List<string>();
        int at = 0;
        while (true)
        {
            while (at < line.Length && IsSpace(line[at])) at++;
            if (at == line.Length) return words;
            string? word = ReadWord(line, ref at);
            if (word is null) return null;
            words.Add(word);
        }
    }

    private static string? ReadWord(string line, ref int at)
    {
        var word = new StringBuilder();
        while (at < line.Length && !IsSpace(line[at]))
        {
            char quote = line[at];
            if (quote is not ('"' or '\''))
            {
                word.Append(line[at++]);
                continue;
            }
            at++;
            if (!ReadQuoted(line, ref at, quote, word)) return null;

            // Only a space or the end of the line may follow a closing quote.
            return at == line.Length || IsSpace(line[at]) ? word.ToString() : null;
        }
        return word.ToString();
    }

    private static bool ReadQuoted(string line, ref int at, char quote, StringBuilder word)
    {
        while (at < line.Length)
        {
            char c = line[at++];
            if (c == quote) return true;
            if (c != '\\' || at == line.Length)
            {
                word.Append(c);
                continue;
            }
            if (quote == '\'')
            {
                word.Append(line[at] == '\'' ? line[at++] : c);
                continue;
            }
            char escaped = line[at++];
            if (escaped == 'x' && at + 1 < line.Length && char.IsAsciiHexDigit(line[at]) && char.IsAsciiHexDigit(line[at + 1]))
            {
                word.Append((char)Convert.ToByte(line.Substring(at, 2), 16));
                at += 2;
                continue;
            }
            word.Append(escaped switch { 'n' => '\n', 'r' => '\r', 't' => '\t', 'b' => '\b', 'a' => '\a', _ => escaped });
        }
        return false;
    }

    private static string Quote(string word)
    {
        var quoted = new StringBuilder("\"");
        foreach (char c in word)
            _ = c switch
            {
                '\\' or '"' => quoted.Append('\\').Append(c),
                '\n' => quoted.Append("\\n"),
                '\r' => quoted.Append("\\r"),
                '\t' => quoted.Append("\\t"),
                '\a' => quoted.Append("\\a"),
                '\b' => quoted.Append("\\b"),
                >= ' ' and <= '~' => quoted.Append(c),
                _ => quoted.Append("\\x").Append(((int)c).ToString("x2", null)),
            };
        return quoted.Append('"').ToString();
    }

    private static bool IsSpace(char c) => c is ' ' or (>= '\t' and <= '\r');
}
