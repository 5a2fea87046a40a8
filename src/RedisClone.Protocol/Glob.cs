namespace RedisClone.Protocol;

/// <summary>
/// Redis's glob patterns: * ? [a-z] [^a] \x, over bytes. Work is bounded by pattern times text: only the last star ever has
/// to take one more byte, since whatever an earlier one could reach, the later one reaches too.
/// </summary>
public static class Glob
{
    public static bool Matches(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool ignoreCase = false)
    {
        int p = 0;
        int t = 0;
        int starPattern = -1;
        int starText = 0;
        while (t < text.Length)
        {
            if (p < pattern.Length && pattern[p] == '*')
            {
                while (p < pattern.Length && pattern[p] == '*') p++;
                if (p == pattern.Length) return true;
                starPattern = p;
                starText = t;
                continue;
            }
            if (p < pattern.Length && MatchesOne(pattern, ref p, text[t], ignoreCase))
            {
                t++;
                continue;
            }
            if (starPattern < 0) return false;
            p = starPattern;
            t = ++starText;
        }
        while (p < pattern.Length && pattern[p] == '*') p++;
        return p == pattern.Length;
    }

    /// <summary>Matches one byte with the element at <paramref name="p"/>, which is no star, and moves behind it.</summary>
    private static bool MatchesOne(ReadOnlySpan<byte> pattern, ref int p, byte c, bool ignoreCase)
    {
        byte element = pattern[p];
        switch (element)
        {
            case (byte)'?':
                p++;
                return true;
            case (byte)'[':
                return MatchesClass(pattern, ref p, c, ignoreCase);
            case (byte)'\\' when p + 1 < pattern.Length:
                element = pattern[++p];
                break;
        }
        p++;
        return Same(element, c, ignoreCase);
    }

    /// <summary>
    /// A class ends at its ']' or at the pattern's end. An escaped byte in it is compared with its case, and a range's
    /// end may be any byte, ']' and '\' too: as in Redis.
    /// </summary>
    private static bool MatchesClass(ReadOnlySpan<byte> pattern, ref int p, byte c, bool ignoreCase)
    {
        p++;
        bool not = p < pattern.Length && pattern[p] == '^';
        if (not) p++;
        bool match = false;
        for (; p < pattern.Length && pattern[p] != ']'; p++)
        {
            if (pattern[p] == '\\' && p + 1 < pattern.Length)
            {
                p++;
                match |= pattern[p] == c;
            }
            else if (p + 2 < pattern.Length && pattern[p + 1] == '-')
            {
                match |= InRange(pattern[p], pattern[p + 2], c, ignoreCase);
                p += 2;
            }
            else match |= Same(pattern[p], c, ignoreCase);
        }
        if (p < pattern.Length) p++;
        return match != not;
    }

    private static bool InRange(byte from, byte to, byte c, bool ignoreCase)
    {
        int start = Math.Min(from, to);
        int end = Math.Max(from, to);
        if (!ignoreCase) return c >= start && c <= end;
        int lower = Lower(c);
        return lower >= Lower((byte)start) && lower <= Lower((byte)end);
    }

    private static bool Same(byte a, byte b, bool ignoreCase) => a == b || (ignoreCase && Lower(a) == Lower(b));

    private static int Lower(byte c) => c is >= (byte)'A' and <= (byte)'Z' ? c | 0x20 : c;
}
