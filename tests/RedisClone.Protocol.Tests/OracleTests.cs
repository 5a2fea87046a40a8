using System.Globalization;
using System.Text;

namespace RedisClone.Protocol.Tests;

/// <summary>Compares with a real redis-server, to the byte.</summary>
public sealed class OracleTests(RedisServer server) : IClassFixture<RedisServer>
{
    [Theory]
    [InlineData("*1\r\n$4\r\nPING\r\n*x\r\n")]
    [InlineData("*\r\n")]
    [InlineData("*3000000000\r\n")]
    [InlineData("*01\r\n")]
    [InlineData("*-0\r\n")]
    [InlineData("*+1\r\n")]
    [InlineData("* 1\r\n")]
    [InlineData("*-1\r\n*0\r\n*-7\r\n\r\n\n*1\r\n$4\r\nPING\r\n")]
    [InlineData("*1\r\nPING\r\n")]
    [InlineData("*1\r\n\r\n")]
    [InlineData("*1\r\n\n\r\n")]
    [InlineData("*1\r\n\u00e9\r\n")]
    [InlineData("*1\r\n$-10\r\n")]
    [InlineData("*1\r\n$\r\n")]
    [InlineData("*1\r\n$04\r\nPING\r\n")]
    [InlineData("*1\r\n$536870913\r\n")]
    [InlineData("*1\r\n$999999999999999999999999\r\n")]
    [InlineData("*1\rX$4\rYPINGZZ*1\r\n$4\r\nPING\r\n")]
    [InlineData("PING \"a\\x41\\n\\q\"\r\n")]
    [InlineData("PING 'it\\'s'\n")]
    [InlineData("PING \"abc\r\n")]
    [InlineData("PING \"abc\"d\r\n")]
    [InlineData("PING 'abc\"\r\n")]
    [InlineData("PING a\"b c\"\r\n")]
    [InlineData("PING \"\"\r\n")]
    [InlineData("\t\v PING\r\nPING \vx\r\n")]
    [InlineData("PING\0\r\n")]
    [InlineData("*1\0\r\n$4\r\nPING\r\n")]
    public void ProtocolErrorsAndUnusualRequestsMatchServer(string wire)
    {
        byte[] data = Encoding.Latin1.GetBytes(wire);
        using RedisConnection connection = server.Connect();
        connection.Raw(data);
        List<string> lines = connection.ReadToEnd();

        var parser = new RequestParser(new RequestLimits());
        var batch = new RequestBatch();
        parser.Parse(new System.Buffers.ReadOnlySequence<byte>(data), batch, out _, out _);
        var expected = new List<string>();
        for (int i = 0; i < batch.Count; i++)
        {
            Request request = batch[i];
            Assert.Equal("PING"u8, request[0]);
            if (request.Count == 1)
            {
                expected.Add("+PONG");
                continue;
            }
            expected.Add("$" + request[1].Length);
            expected.AddRange(Encoding.Latin1.GetString(request[1]).Split('\n'));
        }
        if (batch.HasError) expected.Add("-" + Encoding.Latin1.GetString(batch.ErrorBytes));
        Assert.Equal(expected, lines);
    }

    [Fact]
    public void DoublesMatchServer()
    {
        Random random = Seed.Random(11);
        double[] values = [.. Enumerable.Range(0, 4000).Select(i => RandomDouble(random))];
        List<string> replies = server.Pipeline([.. values.SelectMany(value => new[]
        {
            ["ZADD", "z", Show(value), "m"],
            new[] { "ZSCORE", "z", "m" },
        })]);
        // Since 7.2 the server prints the short digits; earlier versions print 17 digits.
        bool shortDigits = server.Version >= 70200;
        var buffer = new byte[RedisNumber.MaxDoubleLength];
        for (int i = 0; i < values.Length; i++)
        {
            string expected = replies[i * 2 + 1];
            int length = shortDigits || values[i] == Math.Floor(values[i]) && Math.Abs(values[i]) < 1e15
                ? RedisNumber.FormatDouble(values[i], buffer)
                : RedisNumber.FormatGeneral(values[i], 17, buffer);
            Assert.True(expected == Encoding.ASCII.GetString(buffer, 0, length), $"{Seed.Note} {values[i]:R}: {expected}");
            Assert.True(RedisNumber.TryParseDouble(Encoding.ASCII.GetBytes(expected), out double back));
            Assert.Equal(values[i], back);
        }

        string Show(double value) => Encoding.ASCII.GetString(buffer = new byte[32], 0, RedisNumber.FormatDouble(value, buffer));
    }

    internal static double RandomDouble(Random random)
    {
        double value = random.Next(6) switch
        {
            0 => BitConverter.Int64BitsToDouble(random.NextInt64(long.MinValue, long.MaxValue)),
            1 => random.NextDouble(),
            2 => Math.Round(random.NextDouble() * 1000, random.Next(6)),
            3 => random.NextInt64() * Math.Pow(2, random.Next(-60, 60)),
            4 => Math.Pow(2, random.Next(-1074, 1023)),
            _ => -random.Next() * Math.Pow(10, random.Next(-30, 30)),
        };
        return double.IsNaN(value) ? 1.5 : value;
    }

    [Fact]
    public void AcceptedDoublesMatchServer()
    {
        string[] texts =
        [
            "0", "-0", "+1", "1.", ".5", "-.5", ".", "", " 1", "1 ", "1e5", "1E+5", "1e", "1e+", "e5", "--1", "+-1", "1.2.3",
            "inf", "+inf", "-inf", "INF", "Infinity", "-infinity", "infinit", "nan", "-nan", "NaN",
            "1e400", "-1e400", "1e-400", "0e-400", "0e999999999999", "4.9e-324", "1e-308", "1\0", "1_0", "1,5", "∞", "0x", "1d",
            "00012", "9007199254740993", "1e22", "179769313486231570000e290",
        ];
        List<string> replies = server.Pipeline([.. texts.Select(text => new[] { "ZADD", "texts", text, "m" })]);
        for (int i = 0; i < texts.Length; i++)
        {
            bool mine = RedisNumber.TryParseDouble(Encoding.Latin1.GetBytes(texts[i]), out _);
            Assert.True(mine == !replies[i].StartsWith("ERR", StringComparison.Ordinal), $"'{texts[i]}': {replies[i]}");
        }
    }

    [Fact]
    public void AcceptedIntegersMatchServer()
    {
        string[] texts =
        [
            "0", "-0", "+1", "1", "-1", "01", "-01", "", "-", " 1", "1 ", "1.0", "1e3",
            "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
            "18446744073709551615", "18446744073709551616", "99999999999999999999", "-99999999999999999999", "1\0", "0x1", "00",
        ];
        List<string> replies = server.Pipeline([.. texts.SelectMany(text => new[]
        {
            ["SET", "n", text],
            new[] { "SETRANGE", "n", "0", "" },
            ["INCRBY", "n", "0"],
        })]);
        for (int i = 0; i < texts.Length; i++)
        {
            string reply = replies[i * 3 + 2];
            bool mine = RedisNumber.TryParseInt64(Encoding.Latin1.GetBytes(texts[i]), out long value);
            string expected = mine
                ? value.ToString(CultureInfo.InvariantCulture)
                : "ERR value is not an integer or out of range";
            Assert.Equal(expected, reply);
        }
    }

    [Fact]
    public void LongDoubleSumsMatchServer()
    {
        Random random = Seed.Random(12);
        (string, string)[] pairs =
        [
            ("10.5", "0.1"), ("5.0e3", "2.0e2"), ("3.0", "1.1"), ("0.1", "0.2"), ("1000.1", "0.1"), ("-0", "0"), ("1", "-1"),
            ("1e-17", "4e-18"), ("1e4000", "1"), ("0.5e-17", "0"), ("1.5e-17", "0"), ("123456789012345678901234567890", "1"),
            ("18446744073709551615", "0.5"),
            .. Enumerable.Range(0, 3000).Select(_ => (RandomDecimal(random), RandomDecimal(random))),
        ];
        List<string> replies = server.Pipeline(
            [.. pairs.SelectMany(pair => new[] { ["SET", "f", pair.Item1], new[] { "INCRBYFLOAT", "f", pair.Item2 } })]);
        var buffer = new byte[LongDouble.MaxLength];
        for (int i = 0; i < pairs.Length; i++)
        {
            bool isFirst = LongDouble.TryParse(Encoding.ASCII.GetBytes(pairs[i].Item1), out LongDouble a);
            bool isSecond = LongDouble.TryParse(Encoding.ASCII.GetBytes(pairs[i].Item2), out LongDouble b);
            Assert.True(isFirst && isSecond, $"{Seed.Note} {pairs[i]}");
            string sum = Encoding.ASCII.GetString(buffer, 0, (a + b).Format(buffer));
            Assert.True(sum == replies[i * 2 + 1], $"{Seed.Note} {pairs[i]}: {sum} / {replies[i * 2 + 1]}");
        }
    }

    private static string RandomDecimal(Random random)
    {
        int kind = random.Next(4);
        string whole = Digits(random, kind == 0 ? random.Next(30) : random.Next(5));
        string fraction = Digits(random, kind == 1 ? random.Next(40) : random.Next(6));
        string text = (random.Next(3) == 0 ? "-" : "") + (whole + fraction == "" ? "7" : whole + "." + fraction);
        if (random.Next(4) == 0) return text + "e" + random.Next(-25, 25);
        return random.Next(50) == 0 ? text + "e" + random.Next(-4900, 4900) : text;
    }

    private static string Digits(Random random, int count) =>
        string.Concat(Enumerable.Range(0, count).Select(_ => (char)('0' + random.Next(10))));

    [Fact]
    public void AcceptedLongDoublesMatchServer()
    {
        string[] texts =
        [
            "0", "+1", "1.", ".5", ".", "", " 1", "1 ", "1e5", "1e", "--1", "nan", "1e5000", "1e-5000", "0e-99999",
            "1e4932", "2e4932", "1e-4950", "1e-4960", "1\0", "0.e5", "1e+05",
            "12345678901234567890123456789012345678901234567890",
            new string('1', 4900), new string('1', 5119), new string('0', 5200),
            "0." + new string('0', 4900) + "1",
        ];
        server.Call("SET", "zero", "0");
        List<string> replies = server.Pipeline(
            [.. texts.SelectMany(text => new[] { ["SET", "f", "0"], new[] { "INCRBYFLOAT", "f", text } })]);
        for (int i = 0; i < texts.Length; i++)
        {
            bool mine = LongDouble.TryParse(Encoding.Latin1.GetBytes(texts[i]), out _);
            string reply = replies[i * 2 + 1];
            Assert.True(mine == !reply.StartsWith("ERR", StringComparison.Ordinal), $"'{texts[i]}': {reply}");
        }
    }

    [Fact]
    public void GlobsMatchServer()
    {
        Random random = Seed.Random(14);
        const string keyLetters = "aAbB-]^z\u00e9";
        const string patternLetters = "aAbB*?[]^-\\z\u00e9*";
        string[] keys = [.. Enumerable.Range(0, 300).Select(_ => Letters(random, keyLetters, random.Next(1, 7))).Distinct()];
        server.Call("FLUSHALL");
        server.Pipeline([.. keys.Select(key => new[] { "SADD", "keys", key })]);
        for (int i = 0; i < 400; i++)
        {
            string pattern = Letters(random, patternLetters, random.Next(1, 9));
            // A script counts the matches of the server's own matcher.
            string count = server.Call(
                "EVAL", "return #redis.call('SSCAN', 'keys', 0, 'COUNT', 100000, 'MATCH', ARGV[1])[2]", "0", pattern);
            byte[] bytes = Encoding.Latin1.GetBytes(pattern);
            int mine = keys.Count(key => Glob.Matches(bytes, Encoding.Latin1.GetBytes(key)));
            Assert.True(count == mine.ToString(CultureInfo.InvariantCulture), $"{Seed.Note} '{pattern}': {count} / {mine}");
        }
    }

    private static string Letters(Random random, string letters, int count) =>
        string.Concat(Enumerable.Range(0, count).Select(_ => letters[random.Next(letters.Length)]));
}
