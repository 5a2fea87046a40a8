namespace RedisClone.Server.Admin;

/// <summary>
/// Glob patterns over short names: CONFIG GET's patterns and the wildcards of `include`. Iterative, with one point to fall
/// back to (the last star), so that no pattern costs more than its length times that of the name.
/// </summary>
public static class ConfigGlob
{
    public static bool HasWildcard(string text) => text.AsSpan().IndexOfAny('*', '?', '[') >= 0;

    public static bool Matches(ReadOnlySpan<char> pattern, ReadOnlySpan<char> name, bool ignoreCase)
    {
        int p = 0, n = 0, afterStar = -1, starName = 0;
        while (n < name.Length)
        {
            if (p < pattern.Length && pattern[p] == '*')
            {
                afterStar = ++p;
                starName = n;
            }
            else if (p < pattern.Length && MatchesOne(pattern, ref p, name[n], ignoreCase))
                n++;
            else if (afterStar >= 0)
            {
                p = afterStar;
                n = ++starName;
            }
            else
                return false;
        }
        while (p < pattern.Length && pattern[p] == '*')
            p++;
        return p == pattern.Length;
    }

    /// <summary>Matches one char against the item at <paramref name="p"/> and moves behind the item if it matches.</summary>
    private static bool MatchesOne(ReadOnlySpan<char> pattern, ref int p, char c, bool ignoreCase)
    {
        switch (pattern[p])
        {
            case '?':
                p++;
                return true;
            case '[':
                var end = p;
                if (!MatchesSet(pattern, ref end, c, ignoreCase))
                    return false;
                p = end;
                return true;
            case '\\' when p + 1 < pattern.Length:
                if (!Same(pattern[p + 1], c, ignoreCase))
                    return false;
                p += 2;
                return true;
            default:
                if (!Same(pattern[p], c, ignoreCase))
                    return false;
                p++;
                return true;
        }
    }

    private static bool MatchesSet(ReadOnlySpan<char> pattern, ref int p, char c, bool ignoreCase)
    {
        p++;
        var negated = p < pattern.Length && pattern[p] == '^';
        if (negated)
            p++;

        var found = false;
        for (; p < pattern.Length && pattern[p] != ']'; p++)
        {
            if (pattern[p] == '\\' && p + 1 < pattern.Length)
                found |= Same(pattern[++p], c, ignoreCase);
            else if (p + 2 < pattern.Length && pattern[p + 1] == '-')
            {
                found |= InRange(pattern[p], pattern[p + 2], c, ignoreCase);
                p += 2;
            }
            else
                found |= Same(pattern[p], c, ignoreCase);
        }
        p = Math.Min(p + 1, pattern.Length); // a set that is not closed ends with the pattern
        return found != negated;
    }

    private static bool InRange(char first, char last, char c, bool ignoreCase)
    {
        if (ignoreCase)
            (first, last, c) = (char.ToLowerInvariant(first), char.ToLowerInvariant(last), char.ToLowerInvariant(c));
        return first <= last ? c >= first && c <= last : c >= last && c <= first;
    }

    private static bool Same(char a, char b, bool ignoreCase) =>
        a == b || (ignoreCase && char.ToLowerInvariant(a) == char.ToLowerInvariant(b));
}
