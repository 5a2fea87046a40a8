using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;

namespace RedisClone.Journal.Tests.Format;

/// <summary>Commands and units are found for every split of the input, and other input is refused.</summary>
public sealed class RespScannerTests
{
    private static readonly byte[] Transaction =
    [
        .. Units.Command("MULTI"), .. "#TS:5\r\n"u8, .. Units.Command("SELECT", "7"), .. Units.Command("SET", "a", "b"),
        .. Units.Command("EXEC"),
    ];

    [Fact]
    public void EveryPrefixIsIncomplete()
    {
        foreach (var bytes in new[] { Units.Command("SET", "key", "value\r\n"), Transaction, "#TS:1700000000\r\n"u8.ToArray() })
        {
            for (var length = 0; length < bytes.Length; length++)
            {
                var part = new UnitScanner().Next(bytes.AsSpan(0, length), 0);
                Assert.Equal(Scan.Incomplete, part.Scan);
                Assert.InRange(part.Needed, length + 1, bytes.Length);
            }
            var step = new UnitScanner().Next([.. bytes, .. "*1"u8], 0);
            Assert.Equal(Scan.Complete, step.Scan);
            Assert.Equal(bytes.Length, step.Length);
        }
    }

    [Fact]
    public void TransactionsAreOneUnitAndSelectsAreFollowed()
    {
        var step = new UnitScanner().Next(Transaction, 2);
        Assert.True(step is { IsUnit: true, IsTransaction: true, DatabaseBefore: 2, DatabaseAfter: 7 });
        step = new UnitScanner().Next(Units.Command("select", "3"), 2);
        Assert.True(step is { IsUnit: false, DatabaseAfter: 3 });
    }

    [Fact]
    public void TheCommandsOfAUnitAndTheirWordsAreFound()
    {
        byte[] bytes =
        [
            .. Units.Command("MULTI"), .. Units.Command("SET", "a", ""), .. "#TS:5\r\n"u8, .. Units.Command("SELECT", "7"),
            .. Units.Command("DEL", new string('k', 300)),
            .. Units.Command("SELECT", "x"), .. Units.Command("PING"), .. Units.Command("EXEC"),
        ];
        var scanner = new UnitScanner();
        for (var again = 0; again < 2; again++)
        {
            Assert.Equal(bytes.Length, scanner.Next(bytes, 2).Length);
            Assert.Equal(
                ["2:SET,a,", "7:DEL," + new string('k', 300), "-1:PING"],
                Enumerable.Range(0, scanner.Parts.Count).Select(i => Describe(scanner.Parts.Command(bytes, i))));
        }
        Assert.Equal(Units.Command("PING"), scanner.Parts.Command(bytes, 2).Bytes);
        scanner.Next(Units.Command("select", "3"), 2);
        Assert.Equal(0, scanner.Parts.Count);
    }

    private static string Describe(JournalCommand command)
    {
        var words = new List<string>();
        for (var i = 0; i < command.Words.Length; i++) words.Add(System.Text.Encoding.Latin1.GetString(command[i]));
        return $"{command.Database}:{string.Join(',', words)}";
    }

    [Theory]
    [InlineData("+OK\r\n")]
    [InlineData("*0\r\n")]
    [InlineData("*-1\r\n")]
    [InlineData("*a\r\n")]
    [InlineData("*1\n$1\r\na\r\n")]
    [InlineData("*1\r\n:1\r\n")]
    [InlineData("*1\r\n$1\r\nab\r\n")]
    [InlineData("*1\r\n$-1\r\n")]
    [InlineData("*9999999999999999\r\n")]
    [InlineData("*1\r\n$4\r\nEXEC\r\n")]
    [InlineData("*1\r\n$5\r\nMULTI\r\n*1\r\n$5\r\nMULTI\r\n")]
    [InlineData("\0\0\0\0")]
    public void OtherInputIsMalformed(string text) =>
        Assert.Equal(Scan.Malformed, new UnitScanner().Next(System.Text.Encoding.Latin1.GetBytes(text), 0).Scan);
}
