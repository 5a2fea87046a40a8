using System.Text;
using RedisClone.Server.Admin;

namespace RedisClone.Server.Tests.Config;

public class ConfigTextTests
{
    private readonly Random _random = new(Seed.Take());

    [Theory]
    [InlineData("a b", new[] { "a", "b" })]
    [InlineData("  a\t 'b c' ", new[] { "a", "b c" })]
    [InlineData("a \"b\\x41\\n\\\"\"", new[] { "a", "bA\n\"" })]
    [InlineData("a 'it\\'s \\n'", new[] { "a", "it's \\n" })]
    [InlineData("save \"\"", new[] { "save", "" })]
    [InlineData("ab\"cd\"", new[] { "abcd" })]
    [InlineData("", new string[0])]
    public void Words_are_split_as_Redis_does(string line, string[] words) => Assert.Equal(words, ConfigText.SplitWords(line));

    [Theory]
    [InlineData("a \"b")]
    [InlineData("a 'b")]
    [InlineData("a \"b\"c")]
    [InlineData("a 'b'c")]
    [InlineData("a \"b\\")]
    public void Quotes_must_balance(string line) => Assert.Null(ConfigText.SplitWords(line));

    [Fact]
    public void What_is_quoted_splits_into_itself()
    {
        for (var i = 0; i < 5000; i++)
        {
            var text = new StringBuilder();
            for (var length = _random.Next(12); length > 0; length--)
                text.Append((char)(_random.Next(4) == 0 ? _random.Next(0x20, 0xd800) : _random.Next(0, 128)));
            Assert.Equal([text.ToString()], ConfigText.SplitWords(ConfigText.Quote(text.ToString()))!);
        }
    }

    [Fact]
    public void Globs_agree_with_a_slow_obvious_matcher()
    {
        for (var i = 0; i < 20000; i++)
        {
            var pattern = RandomOf("ab*?[]^-\\B", 8);
            var name = RandomOf("abcB-", 8);
            var ignoreCase = _random.Next(2) == 0;
            Assert.True(Slow(pattern, name, ignoreCase) == ConfigGlob.Matches(pattern, name, ignoreCase), $"'{pattern}' '{name}' {ignoreCase}");
        }
    }

    [Fact]
    public void No_glob_is_expensive() =>
        Assert.False(ConfigGlob.Matches(string.Concat(Enumerable.Repeat("a*", 5000)) + "b", new string('a', 200), ignoreCase: true));

    private string RandomOf(string letters, int max) =>
        new([.. Enumerable.Range(0, _random.Next(max + 1)).Select(_ => letters[_random.Next(letters.Length)])]);

    /// <summary>Every star tries every length; sets are read in one place only.</summary>
    private static bool Slow(string pattern, string name, bool ignoreCase)
    {
        if (pattern.Length == 0)
            return name.Length == 0;
        if (pattern[0] == '*')
            return Enumerable.Range(0, name.Length + 1).Any(skip => Slow(pattern[1..], name[skip..], ignoreCase));
        if (name.Length == 0)
            return false;
        var (matches, length) = One(pattern, name[0], ignoreCase);
        return matches && Slow(pattern[length..], name[1..], ignoreCase);
    }

    private static (bool Matches, int Length) One(string pattern, char c, bool ignoreCase)
    {
        bool Same(char a) => ignoreCase ? char.ToLowerInvariant(a) == char.ToLowerInvariant(c) : a == c;
        switch (pattern[0])
        {
            case '?':
                return (true, 1);
            case '\\' when pattern.Length > 1:
                return (Same(pattern[1]), 2);
            case '[':
                var at = 1;
                var negated = at < pattern.Length && pattern[at] == '^';
                at += negated ? 1 : 0;
                var found = false;
                while (at < pattern.Length && pattern[at] != ']')
                {
                    if (pattern[at] == '\\' && at + 1 < pattern.Length)
                    {
                        found |= Same(pattern[at + 1]);
                        at += 2;
                    }
                    else if (at + 2 < pattern.Length && pattern[at + 1] == '-')
                    {
                        char Fold(char x) => ignoreCase ? char.ToLowerInvariant(x) : x;
                        var (low, high) = (Fold(pattern[at]), Fold(pattern[at + 2]));
                        if (low > high)
                            (low, high) = (high, low);
                        found |= Fold(c) >= low && Fold(c) <= high;
                        at += 3;
                    }
                    else
                        found |= Same(pattern[at++]);
                }
                return (found != negated, Math.Min(at + 1, pattern.Length));
            default:
                return (Same(pattern[0]), 1);
        }
    }
}
