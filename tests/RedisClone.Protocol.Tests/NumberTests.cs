using System.Security.Cryptography;
using System.Text;

namespace RedisClone.Protocol.Tests;

/// <summary>Numbers with known texts, without a server.</summary>
public sealed class NumberTests
{
    [Theory]
    [InlineData(0.0, "0")]
    [InlineData(-0.0, "-0")]
    [InlineData(0.1, "0.1")]
    [InlineData(-3.5, "-3.5")]
    [InlineData(100.0, "100")]
    [InlineData(9007199254740993.0, "9007199254740992")]
    [InlineData(4611686018427387904.0, "4611686018427387904")]
    [InlineData(1e19, "1e+19")]
    [InlineData(12345678e13, "1.2345678e+20")]
    [InlineData(1e21, "1e+21")]
    [InlineData(1.5e300, "1.5e+300")]
    [InlineData(0.0001, "0.0001")]
    [InlineData(0.00012345, "1.2345e-4")]
    [InlineData(0.00001, "0.00001")]
    [InlineData(0.0000001, "1e-7")]
    [InlineData(1.2345e-5, "1.2345e-5")]
    [InlineData(5e-324, "5e-324")]
    [InlineData(double.MaxValue, "1.7976931348623157e+308")]
    [InlineData(double.NegativeInfinity, "-inf")]
    [InlineData(double.NaN, "nan")]
    public void DoublesHaveTheShortestText(double value, string text)
    {
        var buffer = new byte[RedisNumber.MaxDoubleLength];
        Assert.Equal(text, Encoding.ASCII.GetString(buffer, 0, RedisNumber.FormatDouble(value, buffer)));
    }

    [Theory]
    [InlineData(0.1, "0.10000000000000001")]
    [InlineData(1e16, "10000000000000000")]
    [InlineData(1e17, "1e+17")]
    [InlineData(1e-5, "1.0000000000000001e-05")]
    [InlineData(0.0001, "0.0001")]
    [InlineData(2.98023223876953125e-08, "2.9802322387695312e-08")]
    [InlineData(-1.5e300, "-1.5000000000000001e+300")]
    public void DoublesHaveSeventeenDigits(double value, string text)
    {
        var buffer = new byte[RedisNumber.MaxDoubleLength];
        Assert.Equal(text, Encoding.ASCII.GetString(buffer, 0, RedisNumber.FormatGeneral(value, 17, buffer)));
    }

    [Theory]
    [InlineData(0, "0.0000")]
    [InlineData(0.775, "0.7750")]
    [InlineData(-0.00005, "0.0000")]
    [InlineData(166274.15156, "166274.1516")]
    [InlineData(-12.5, "-12.5000")]
    public void DoublesHaveAFixedNumberOfDecimals(double value, string text)
    {
        var buffer = new byte[40];
        Assert.Equal(text, Encoding.ASCII.GetString(buffer, 0, RedisNumber.FormatFixed(value, 4, buffer)));
    }

    /// <summary>Compares with the digest of the texts that Redis 7.4.1 prints for these doubles of all kinds and sizes.</summary>
    [Fact]
    public void TheShortestTextMatchesRedisForManyDoubles()
    {
        const string digestOfRedis = "832E6C23B7EFAFAA5124A0DF24E7748B4CD98219D1DD34A6169F29CABC30814C";
        using IncrementalHash hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        var line = new byte[RedisNumber.MaxDoubleLength + 1];
        ulong state = 1;
        for (int i = 0; i < 100_000; i++)
        {
            int length = RedisNumber.FormatDouble(GoldenDouble(ref state), line);
            line[length] = (byte)'\n';
            hash.AppendData(line, 0, length + 1);
        }
        Assert.Equal(digestOfRedis, Convert.ToHexString(hash.GetHashAndReset()));
    }

    /// <summary>
    /// Doubles from a fixed generator (splitmix64): any bits, decimal fractions, and multiples of powers of two.
    /// </summary>
    internal static double GoldenDouble(ref ulong state)
    {
        while (true)
        {
            ulong bits = Next(ref state);
            double value = (bits % 3) switch
            {
                0 => BitConverter.UInt64BitsToDouble(Next(ref state)),
                1 => (double)(Next(ref state) % 1_000_000_000) / (1 << (int)(bits >> 60)) / 1000.0,
                _ => (double)(Next(ref state) >> (int)(bits >> 58)) * 0.001,
            };
            if (double.IsFinite(value)) return value;
        }
    }

    private static ulong Next(ref ulong state)
    {
        ulong z = state += 0x9E3779B97F4A7C15;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }

    [Fact]
    public void DoublesRoundTrip()
    {
        Random random = Seed.Random(30);
        var buffer = new byte[RedisNumber.MaxDoubleLength];
        for (int i = 0; i < 100_000; i++)
        {
            double value = OracleTests.RandomDouble(random);
            int length = RedisNumber.FormatDouble(value, buffer);
            bool isParsed = RedisNumber.TryParseDouble(buffer.AsSpan(0, length), out double back);
            Assert.True(isParsed && back == value, $"{Seed.Note} {value:R}");
        }
    }

    [Theory]
    [InlineData("0x1p3", 8.0)]
    [InlineData("-0x.8", -0.5)]
    [InlineData("+0X1.8P-1", 0.75)]
    [InlineData("0xA", 10.0)]
    [InlineData("0x0p5", 0.0)]
    [InlineData("0x1.fffffffffffff8p0", 2.0)]
    [InlineData("0x1.fffffffffffff7p0", 1.9999999999999998)]
    [InlineData("0x1.00000000000008p0", 1.0)]
    [InlineData("0x1.00000000000018p0", 1.0000000000000004)]
    [InlineData("0x1.000000000000080000000000000000000000000001p0", 1.0000000000000002)]
    [InlineData("0x1p-1074", 5e-324)]
    [InlineData("0x1.8p-1074", 1e-323)]
    [InlineData("0x1.1p-1075", 5e-324)]
    [InlineData("0x1.fffffffffffff7p1023", 1.7976931348623157e+308)]
    [InlineData("0x123456789abcdef0123456789abcdef0123456789p-40", 1.512366075204171e+36)]
    public void HexadecimalIsParsedAsInC(string text, double expected)
    {
        Assert.True(RedisNumber.TryParseDouble(Encoding.ASCII.GetBytes(text), out double value));
        Assert.Equal(expected, value);
    }

    [Theory]
    [InlineData("0x")]
    [InlineData("0x.")]
    [InlineData("0x1p")]
    [InlineData("0x1p+")]
    [InlineData("0x1g")]
    [InlineData("0x1 ")]
    [InlineData("0x1p-1075")]
    [InlineData("0x1.fffffffffffff8p1023")]
    [InlineData("0x1p999999999999")]
    public void InvalidHexadecimalIsRefused(string text) =>
        Assert.False(RedisNumber.TryParseDouble(Encoding.ASCII.GetBytes(text), out _));

    [Fact]
    public void IntegersRoundTrip()
    {
        Random random = Seed.Random(31);
        var buffer = new byte[RedisNumber.MaxInt64Length];
        for (int i = 0; i < 100_000; i++)
        {
            long value = random.NextInt64(long.MinValue, long.MaxValue) >> random.Next(64);
            int length = RedisNumber.WriteInt64(value, buffer);
            bool isParsed = RedisNumber.TryParseInt64(buffer.AsSpan(0, length), out long back);
            Assert.True(isParsed && back == value, $"{Seed.Note} {value}");
        }
    }

    [Fact]
    public void LongDoublesAtTheLimitsOfTheirRangeHaveTheTextOfRedis()
    {
        var buffer = new byte[LongDouble.MaxLength];
        Assert.True(LongDouble.TryParse("-inf"u8, out LongDouble infinite));
        Assert.True(infinite.IsInfinity);
        Assert.True((infinite + LongDouble.FromDouble(1)).IsInfinity);
        Assert.Equal("-inf", Encoding.ASCII.GetString(buffer, 0, infinite.Format(buffer)));
        Assert.True(LongDouble.TryParse("1e4932"u8, out LongDouble large));
        Assert.True((large + large).IsInfinity);
        Assert.Equal("0", Encoding.ASCII.GetString(buffer, 0, LongDouble.FromDouble(-0.0).Format(buffer)));
        int length = LongDouble.FromDouble(13.361389338970184).Format(buffer);
        Assert.Equal("13.36138933897018433", Encoding.ASCII.GetString(buffer, 0, length));
    }
}
