namespace RedisClone.Protocol;

/// <summary>
/// Redis's glob patterns: * ? [a-z] [^a] \x, over bytes. Work is bounded by pattern times text: only the last star ever has
/// to take one more byte, since whatever an earlier one could reach, the later one reaches too.
/// <para>
/// Redis's oddities are kept: no pattern but the empty one matches the empty text, not even *; a pattern with more than a
/// thousand stars matches nothing; a class may lack its ']'; bytes in a range are signed, as C's char is on x86.
/// </para>
/// </summary>
public static class Glob
{
    private const int MaxStars = 1000;

    public static bool Matches(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool ignoreCase = false)
    {
        if (text.IsEmpty) return pattern.IsEmpty;
        int p = 0;
        int t = 0;
        int stars = 0;
        int starPattern = -1;
        int starText = 0;
        while (t < text.Length)
        {
            if (p < pattern.Length && pattern[p] == '*')
            {
                while (p < pattern.Length && pattern[p] == '*') p++;
                if (p == pattern.Length) return true;
                if (++stars > MaxStars) return false;
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
        sbyte start = Math.Min((sbyte)from, (sbyte)to);
        sbyte end = Math.Max((sbyte)from, (sbyte)to);
        if (!ignoreCase) return (sbyte)c >= start && (sbyte)c <= end;
        sbyte lower = (sbyte)Lower(c);
        return lower >= (sbyte)Lower((byte)start) && lower <= (sbyte)Lower((byte)end);
    }

    private static bool Same(byte a, byte b, bool ignoreCase) => a == b || (ignoreCase && Lower(a) == Lower(b));

    private static byte Lower(byte c) => c is >= (byte)'A' and <= (byte)'Z' ? (byte)(c | 0x20) : c;
}
