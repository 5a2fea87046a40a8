using System.Text;

namespace RedisClone.Protocol.Tests;

/// <summary>
/// Arithmetic with 64 significant bits, compared with known results of long double in C. OracleTests compares random numbers with
/// redis-server.
/// </summary>
public sealed class LongDoubleTests
{
    [Theory]
    [InlineData("0.1", "0.2", "0.3")]
    [InlineData("1", "-1.1", "-0.1")]
    [InlineData("3.0e3", "200", "3200")]
    [InlineData("10.50", "0.1", "10.6")]
    [InlineData("0", "-0", "0")]
    [InlineData("0.02439024390243902439", "-0.02439024390243902439", "0")]
    [InlineData("17179869184", "1.5", "17179869185.5")]
    [InlineData("9223372036854775807", "1", "9223372036854775808")]
    [InlineData("18446744073709551615", "0.25", "18446744073709551615")]
    [InlineData("18446744073709551615", "1.5", "18446744073709551616")]
    [InlineData("1e30", "1", "1000000000000000000024696061952")]
    [InlineData("1e-17", "0", "0.00000000000000001")]
    [InlineData("4e-18", "0", "0")]
    [InlineData("-4e-18", "0", "0")]
    [InlineData("0x10", "0x.8p1", "17")]
    [InlineData("0X1.8P+1", "1", "4")]
    [InlineData(".5", "5.", "5.5")]
    [InlineData("+1", "1E0", "2")]
    [InlineData("123456789012345678901234567890", "0", "123456789012345678899921813504")]
    [InlineData("0.99999999999999999999999", "0", "1")]
    public void Adds(string left, string right, string expected) => Assert.Equal(expected, Text(Parse(left) + Parse(right)));

    [Theory]
    [InlineData("")]
    [InlineData("-")]
    [InlineData(".")]
    [InlineData(" 1")]
    [InlineData("1 ")]
    [InlineData("1\0")]
    [InlineData("1e")]
    [InlineData("1e+")]
    [InlineData("e5")]
    [InlineData("nan")]
    [InlineData("1e4933")]
    [InlineData("1e999999999999")]
    [InlineData("1e-4970")]
    [InlineData("1e-99999999999")]
    [InlineData("--1")]
    [InlineData("1.2.3")]
    [InlineData("0xg")]
    [InlineData("1x")]
    public void RefusesInvalidNumbers(string text) => Assert.False(LongDouble.TryParse(Encoding.ASCII.GetBytes(text), out _));

    [Fact]
    public void InfinityIsDetected()
    {
        LongDouble infinity = Parse("inf"), negative = Parse("-Infinity");
        Assert.True((infinity + LongDouble.FromInt64(1)).IsInfinity);
        Assert.True((infinity - infinity).IsInfinity);
        Assert.True((LongDouble.MaxValue + LongDouble.MaxValue).IsInfinity);
        Assert.True(infinity > LongDouble.MaxValue);
        Assert.True(negative < -LongDouble.MaxValue);
        Assert.True(Parse("-2") < Parse("-1"));
        Assert.True(Parse("-0") >= Parse("0"));
        Assert.True(LongDouble.FromInt64(long.MinValue) <= Parse("-9223372036854775808"));
        Assert.Equal("inf", Text(infinity));
        Assert.Equal("-inf", Text(negative));
        Assert.Equal(4933, Text(LongDouble.MaxValue).Length);
        Assert.Equal(LongDouble.MaxValue, Parse(Text(LongDouble.MaxValue)));
    }

    private static string Text(LongDouble value)
    {
        var text = new byte[LongDouble.MaxLength];
        return Encoding.ASCII.GetString(text, 0, value.Format(text));
    }

    private static LongDouble Parse(string text)
    {
        Assert.True(LongDouble.TryParse(Encoding.ASCII.GetBytes(text), out LongDouble value), text);
        return value;
    }
}
