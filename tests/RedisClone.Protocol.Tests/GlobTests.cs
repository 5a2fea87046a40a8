using System.Text;

namespace RedisClone.Protocol.Tests;

/// <summary>Compares glob patterns with a slow matcher that tries every possibility.</summary>
public sealed class GlobTests
{
    [Theory]
    [InlineData("", "", true)]
    [InlineData("*", "", false)]
    [InlineData("*", "a", true)]
    [InlineData("h?llo", "hello", true)]
    [InlineData("h[^e]llo", "hello", false)]
    [InlineData("h[a-e]llo", "hello", true)]
    [InlineData("h[e-a]llo", "hello", true)]
    [InlineData("a\\*", "a*", true)]
    [InlineData("a\\", "a\\", true)]
    [InlineData("[abc", "b", true)]
    [InlineData("[^", "b", true)]
    [InlineData("[", "[", false)]
    [InlineData("[\\]]", "]", true)]
    [InlineData("[a-]", "-", false)]
    [InlineData("[a-]", "_", true)]
    [InlineData("a*", "a", true)]
    [InlineData("a**", "a", true)]
    [InlineData("a?", "a", false)]
    [InlineData("*a*b*c", "xxaxxbxxc", true)]
    [InlineData("*a*b*c", "xxaxxbxxcx", false)]
    public void KnownPatternsHaveTheResultOfRedis(string pattern, string text, bool matches) => Assert.Equal(matches, Matches(pattern, text, false));

    [Fact]
    public void CaseIsIgnoredExceptForEscapedBytesInClasses()
    {
        Assert.True(Matches("HELLO*[A-C]", "helloxb", true));
        Assert.True(Matches("\\H", "h", true));
        Assert.False(Matches("[\\H]", "h", true));
        Assert.False(Matches("H", "h", false));
    }

    [Fact]
    public void APatternWithMoreThanAThousandStarsNeverMatches()
    {
        Assert.True(Matches(string.Concat(Enumerable.Repeat("*a", 1000)), new string('a', 2000), false));
        Assert.False(Matches(string.Concat(Enumerable.Repeat("*a", 1001)), new string('a', 2000), false));
    }

    [Fact]
    public void ManyStarsTakeBoundedTime()
    {
        string pattern = string.Concat(Enumerable.Repeat("*?*a", 200)) + "b";
        Assert.False(Matches(pattern, new string('a', 20_000), false));
    }

    /// <summary>With a comparison at every position, each of these patterns would take minutes or years.</summary>
    [Fact]
    public void LongPatternsOnLongTextsTakeBoundedTime()
    {
        string many = new('a', 300_000), half = many[..150_000];
        Assert.False(Matches($"*{half}b", many, false));
        Assert.False(Matches($"*{half}b*", many, false));
        Assert.False(Matches($"*{half}b{half[..1000]}*", many, false));
        Assert.True(Matches($"*{half}b*", many + "b" + many, false));
        Assert.True(Matches($"*{half}b{half}*c", many + "b" + many + "c", false));
        Assert.False(Matches($"*?{half}b*", many, false));
        Assert.False(Matches($"*{half}b*", many, true));
        Assert.False(Matches($"*[a{half}]{half}b*", many, false));
        Assert.False(Matches(string.Concat(Enumerable.Repeat($"*{half}[a]", 500)) + "*", many, false));
    }

    /// <summary>A different search finds long pieces. Few different letters give it many partial matches.</summary>
    [Fact]
    public void LongPiecesAreFoundInOrder()
    {
        Random random = Seed.Random(21);
        int hits = 0;
        for (int i = 0; i < 2000; i++)
        {
            string text = new([.. Enumerable.Range(0, 2000).Select(_ => random.Next(30) == 0 ? 'b' : 'a')]);
            int first = random.Next(1000), second = random.Next(first, 1500);
            string one = text.Substring(first, random.Next(40, 200)), two = text.Substring(second, random.Next(40, 400));
            int at = text.IndexOf(one, StringComparison.Ordinal);
            bool expected = text.IndexOf(two, at + one.Length, StringComparison.Ordinal) >= 0;
            if (expected) hits++;
            Assert.True(expected == Matches($"*{one}*{two}*", text, false), $"{Seed.Note} '{one}' '{two}' '{text}'");
        }
        Assert.InRange(hits, 100, 1990);
    }

    [Fact]
    public void RandomPatternsMatchTheSlowMatcher()
    {
        const string letters = "aAb*?[]^-\\*\u00e9z";
        const string textLetters = "aAb-]\u00e9";
        Random random = Seed.Random(20);
        int hits = 0;
        for (int i = 0; i < 200_000; i++)
        {
            byte[] pattern = Bytes(random, letters, 8);
            byte[] text = Bytes(random, textLetters, 6);
            bool ignoreCase = random.Next(2) == 0;
            bool expected = text.Length == 0 ? pattern.Length == 0 : Naive(pattern, 0, text, 0, ignoreCase);
            if (expected) hits++;
            Assert.True(
                expected == Glob.Matches(pattern, text, ignoreCase),
                $"{Seed.Note} '{Encoding.Latin1.GetString(pattern)}' '{Encoding.Latin1.GetString(text)}' {ignoreCase}");
        }
        Assert.True(hits > 5000);
    }

    private static byte[] Bytes(Random random, string letters, int longest) =>
        [.. Enumerable.Range(0, random.Next(longest + 1)).Select(_ => (byte)letters[random.Next(letters.Length)])];

    private static bool Matches(string pattern, string text, bool ignoreCase) =>
        Glob.Matches(Encoding.Latin1.GetBytes(pattern), Encoding.Latin1.GetBytes(text), ignoreCase);

    /// <summary>Tries every possibility, element by element.</summary>
    private static bool Naive(byte[] pattern, int p, byte[] text, int t, bool ignoreCase)
    {
        if (p == pattern.Length) return t == text.Length;
        if (pattern[p] == '*')
        {
            for (int skip = t; skip <= text.Length; skip++)
            {
                if (Naive(pattern, p + 1, text, skip, ignoreCase)) return true;
            }
            return false;
        }
        if (t == text.Length) return false;
        int next = p + 1;
        bool matches;
        if (pattern[p] == '?') matches = true;
        else if (pattern[p] == '[') matches = Class(pattern, ref next, text[t], ignoreCase);
        else if (pattern[p] == '\\' && next < pattern.Length)
            matches = Fold(pattern[next++], ignoreCase) == Fold(text[t], ignoreCase);
        else matches = Fold(pattern[p], ignoreCase) == Fold(text[t], ignoreCase);
        return matches && Naive(pattern, next, text, t + 1, ignoreCase);
    }

    private static bool Class(byte[] pattern, ref int p, byte c, bool ignoreCase)
    {
        bool not = p < pattern.Length && pattern[p] == '^';
        if (not) p++;
        var members = new HashSet<int>();
        bool escaped = false;
        while (p < pattern.Length && pattern[p] != ']')
        {
            if (pattern[p] == '\\' && p + 1 < pattern.Length)
            {
                escaped |= pattern[p + 1] == c;
                p += 2;
            }
            else if (p + 2 < pattern.Length && pattern[p + 1] == '-')
            {
                int from = Math.Min((sbyte)pattern[p], (sbyte)pattern[p + 2]);
                int to = Math.Max((sbyte)pattern[p], (sbyte)pattern[p + 2]);
                int last = (sbyte)Fold((byte)to, ignoreCase);
                for (int member = (sbyte)Fold((byte)from, ignoreCase); member <= last; member++) members.Add((byte)member);
                p += 3;
            }
            else members.Add(Fold(pattern[p++], ignoreCase));
        }
        p++;
        p = Math.Min(p, pattern.Length);
        return (escaped || members.Contains(Fold(c, ignoreCase))) != not;
    }

    private static byte Fold(byte c, bool ignoreCase) => ignoreCase && c is >= (byte)'A' and <= (byte)'Z' ? (byte)(c + 32) : c;
}
