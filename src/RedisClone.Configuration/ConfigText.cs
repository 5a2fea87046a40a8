using System.Globalization;
using System.Text;
using System.Text.Unicode;
using RedisClone.Journal.Format;
using RedisClone.Protocol;

namespace RedisClone.Configuration;

/// <summary>
/// The quoting and the patterns of redis.conf, shared by files, the command line and CONFIG REWRITE. A line is held as one char
/// per byte (Latin-1), so that its bytes and escapes are preserved. Its words are decoded as UTF-8.
/// </summary>
internal static class ConfigText
{
    /// <summary>Converts text to line form: its UTF-8 bytes, one char per byte.</summary>
    public static string ToLine(string text) => Encoding.Latin1.GetString(Encoding.UTF8.GetBytes(text));

    /// <summary>Converts line form to text: decodes its bytes as UTF-8.</summary>
    public static string FromLine(string line) => Encoding.UTF8.GetString(Encoding.Latin1.GetBytes(line));

    /// <summary>
    /// Splits a line into words. Words may have "double" quotes (with escapes) or 'single' quotes. Returns null if the quotes
    /// do not balance.
    /// </summary>
    public static string[]? SplitWords(string line) =>
        InlineSplitter.Split(Encoding.Latin1.GetBytes(line)) is { } words ? Array.ConvertAll(words, Encoding.UTF8.GetString) : null;

    /// <summary>Whether the words of a line, their escapes decoded, are valid UTF-8.</summary>
    public static bool IsText(string line) => InlineSplitter.Split(Encoding.Latin1.GetBytes(line)) is not { } words || Array.TrueForAll(words, IsText);

    private static bool IsText(byte[] word) => Utf8.IsValid(word);

    /// <summary>Quotes a text so that <see cref="SplitWords"/> returns exactly <paramref name="text"/>.</summary>
    public static string Quote(string text) => QuotedWords.Quote(ToLine(text));

    /// <summary>Joins words so that <see cref="SplitWords"/> returns exactly them. Only words that need quotes get them.</summary>
    public static string Join(IEnumerable<string> words) => string.Join(' ', words.Select(static word => QuotedWords.QuoteIfNeeded(ToLine(word))));

    /// <summary>Parses an integer with Redis's rules: no sign except a minus, no leading zeros, no spaces.</summary>
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
