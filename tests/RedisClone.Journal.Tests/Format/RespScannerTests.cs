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

    [Theory]
    [InlineData(0)]
    [InlineData(9)]
    [InlineData(10)]
    [InlineData(99)]
    [InlineData(100)]
    [InlineData(9_999)]
    [InlineData(12_345)]
    [InlineData(99_999)]
    [InlineData(100_000)]
    [InlineData(1_234_567)]
    public void AWordMayHaveAnyLength(int length)
    {
        byte[] command = [.. Units.Command("SET", "key", new string('v', length)), .. Units.Command("PING")];
        var step = new UnitScanner().Next(command, 0);
        Assert.Equal((Scan.Complete, command.Length - Units.Command("PING").Length), (step.Scan, step.Length));
    }

    /// <summary>A number may have zeros in front, as before. Each byte of its line is checked.</summary>
    [Fact]
    public void AByteInANumberMustBeADigit()
    {
        byte[] right = "*1\r\n$0012\r\nabcdefghijkl\r\n"u8.ToArray();
        Assert.Equal(Scan.Complete, new UnitScanner().Next(right, 0).Scan);
        for (int at = "*1\r\n"u8.Length; at < "*1\r\n$0012\r\n"u8.Length; at++)
        {
            for (int value = 0; value < 256; value++)
            {
                byte[] wrong = [.. right];
                wrong[at] = (byte)value;
                bool isDigit = value is >= '0' and <= '9' && right[at] is >= (byte)'0' and <= (byte)'9';
                if (value != right[at] && !isDigit) Assert.Equal(Scan.Malformed, new UnitScanner().Next(wrong, 0).Scan);
            }
        }
    }
}
