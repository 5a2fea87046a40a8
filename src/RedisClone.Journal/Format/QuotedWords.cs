using System.Globalization;
using System.Text;

namespace RedisClone.Journal.Format;

/// <summary>
/// Quotes and splits words by the rules that Redis uses in its manifest and configuration. Each character stands for
/// one byte (Latin-1).
/// </summary>
public static class QuotedWords
{
    /// <summary>Quotes a word, unless all its bytes are visible ASCII and none of them has a meaning in a line.</summary>
    public static string QuoteIfNeeded(string word) =>
        word.Length > 0 && word.All(c => c is > ' ' and <= '~' and not ('"' or '\'' or '\\')) ? word : Quote(word);

    public static string Quote(string word)
    {
        var quoted = new StringBuilder(word.Length + 2);
        AppendQuoted(quoted, Encoding.Latin1.GetBytes(word));
        return quoted.ToString();
    }

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

    private static bool IsSpace(char c) => c is ' ' or (>= '\t' and <= '\r');
}
