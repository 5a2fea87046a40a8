using System.Text;
using RedisClone.Configuration;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Config;

public class ConfigTextTests(ITestOutputHelper output)
{
    private readonly Random _random = Seed.Random(output);

    [Theory]
    [InlineData("a b", new[] { "a", "b" })]
    [InlineData("  a\t 'b c' ", new[] { "a", "b c" })]
    [InlineData("a \"b\\x41\\n\\\"\"", new[] { "a", "bA\n\"" })]
    [InlineData("a 'it\\'s \\n'", new[] { "a", "it's \\n" })]
    [InlineData("save \"\"", new[] { "save", "" })]
    [InlineData("ab\"cd\"", new[] { "abcd" })]
    [InlineData("", new string[0])]
    public void WordsAreSplitAsInRedis(string line, string[] words) => Assert.Equal(words, ConfigText.SplitWords(line));

    [Theory]
    [InlineData("a \"b")]
    [InlineData("a 'b")]
    [InlineData("a \"b\"c")]
    [InlineData("a 'b'c")]
    [InlineData("a \"b\\")]
    public void QuotesMustBalance(string line) => Assert.Null(ConfigText.SplitWords(line));

    [Fact]
    public void AQuotedTextSplitsIntoTheText()
    {
        for (var i = 0; i < 5000; i++)
        {
            var text = new StringBuilder();
            for (var length = _random.Next(12); length > 0; length--)
                text.Append((char)(_random.Next(4) == 0 ? _random.Next(0x20, 0xd800) : _random.Next(0, 128)));
            Assert.Equal([text.ToString()], ConfigText.SplitWords(ConfigText.Quote(text.ToString()))!);
        }
    }
}
