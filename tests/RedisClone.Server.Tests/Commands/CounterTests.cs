namespace RedisClone.Server.Tests.Commands;

/// <summary>INCR, the related commands, and INCREX with its bounds.</summary>
public sealed class CounterTests
{
    private readonly CommandHost _host = new();

    [Theory]
    [InlineData("", "INCR k", "1")]
    [InlineData("5", "INCR k", "6")]
    [InlineData("5", "DECR k", "4")]
    [InlineData("9223372036854775807", "INCR k", "ERR increment or decrement would overflow")]
    [InlineData("-9223372036854775808", "DECR k", "ERR increment or decrement would overflow")]
    [InlineData("-1", "DECRBY k -9223372036854775808", "ERR decrement would overflow")]
    [InlineData("-1", "INCRBY k -9223372036854775807", "-9223372036854775808")]
    [InlineData("1", "INCRBY k x", "ERR value is not an integer or out of range")]
    [InlineData("007", "INCR k", "ERR value is not an integer or out of range")]
    [InlineData("1.5", "INCR k", "ERR value is not an integer or out of range")]
    [InlineData("", "INCRBYFLOAT k 1.50", "1.5")]
    [InlineData("0.1", "INCRBYFLOAT k 0.2", "0.3")]
    [InlineData("10", "INCRBYFLOAT k -3.5", "6.5")]
    [InlineData("3.0", "INCRBYFLOAT k 2.0e2", "203")]
    [InlineData("a", "INCRBYFLOAT k 1", "ERR value is not a valid float")]
    [InlineData("1", "INCRBYFLOAT k nan", "ERR value is not a valid float")]
    [InlineData("1", "INCRBYFLOAT k +inf", "ERR increment would produce NaN or Infinity")]
    public void AnIncrementIsAdded(string before, string command, string expected)
    {
        if (before.Length > 0) _host.Call("SET", "k", before);
        Assert.Equal(expected, _host.Run(command));
    }

    [Theory]
    [InlineData("", "", "[1 1]", "1")]
    [InlineData("100", "BYINT -10", "[90 -10]", "90")]
    [InlineData("50", "BYINT 100 UBOUND 80 SATURATE", "[80 30]", "80")]
    [InlineData("50", "BYINT 100 UBOUND 80", "[50 0]", "50")]
    [InlineData("10", "BYINT -100 LBOUND 0 SATURATE", "[0 -10]", "0")]
    [InlineData("50", "BYINT 5 UBOUND 30 SATURATE", "[30 -20]", "30")]
    [InlineData("50", "BYINT -25 UBOUND 30", "[25 -25]", "25")]
    [InlineData("9223372036854775800", "BYINT 9223372036854775800 SATURATE", "[9223372036854775807 7]", "9223372036854775807")]
    [InlineData("9223372036854775800", "BYINT 9223372036854775800", "[9223372036854775800 0]", "9223372036854775800")]
    [InlineData("9223372036854775800", "BYINT 1 SATURATE UBOUND -9223372036854775808", "ERR applied increment would overflow", "9223372036854775800")]
    [InlineData("", "BYINT 5 LBOUND 10", "[0 0]", "nil")]
    [InlineData("", "LBOUND 5 SATURATE", "[5 5]", "5")]
    [InlineData("1.5", "BYFLOAT 0.25", "[1.75 0.25]", "1.75")]
    [InlineData("10", "BYFLOAT 100 UBOUND 42.5 SATURATE", "[42.5 32.5]", "42.5")]
    [InlineData("50.5", "BYFLOAT 5.5 UBOUND 30", "[50.5 0]", "50.5")]
    [InlineData("10", "BYFLOAT 1 UBOUND inf", "[11 1]", "11")]
    [InlineData("10", "BYFLOAT 1 LBOUND inf UBOUND inf", "[10 0]", "10")]
    [InlineData("10", "BYFLOAT 1 LBOUND inf UBOUND inf SATURATE", "ERR applied increment would be Infinity", "10")]
    [InlineData("10", "BYFLOAT 1 LBOUND inf", "ERR LBOUND can't be greater than UBOUND", "10")]
    [InlineData("10", "BYINT 1 LBOUND 5 UBOUND 4", "ERR LBOUND can't be greater than UBOUND", "10")]
    [InlineData("10", "BYFLOAT -inf", "ERR BYFLOAT increment cannot be Infinity", "10")]
    [InlineData("inf", "BYFLOAT 1", "ERR value cannot be Infinity", "inf")]
    [InlineData("1.5", "BYINT 1", "ERR value is not an integer or out of range", "1.5")]
    [InlineData("x", "BYFLOAT 1", "ERR value is not a valid float", "x")]
    [InlineData("1", "BYINT 1.5", "ERR Increment is not an integer or out of range", "1")]
    [InlineData("1", "BYFLOAT x", "ERR Increment is not a valid float", "1")]
    [InlineData("1", "UBOUND 1.5", "ERR UBOUND is not an integer or out of range", "1")]
    [InlineData("1", "BYFLOAT 1 LBOUND x", "ERR LBOUND is not a valid float", "1")]
    [InlineData("1", "ENX", "ERR ENX flag requires an expiration", "1")]
    [InlineData("1", "ENX PERSIST", "ERR syntax error", "1")]
    [InlineData("1", "BYINT 1 BYFLOAT 1", "ERR syntax error", "1")]
    [InlineData("1", "EX 10 EX 20", "ERR syntax error", "1")]
    [InlineData("1", "EX 10 PERSIST", "ERR syntax error", "1")]
    [InlineData("1", "PERSIST PERSIST", "ERR syntax error", "1")]
    [InlineData("1", "SATURATE SATURATE", "ERR syntax error", "1")]
    [InlineData("1", "LBOUND", "ERR syntax error", "1")]
    [InlineData("1", "KEEPTTL", "ERR syntax error", "1")]
    [InlineData("1", "EXAT 1", "[2 1]", "nil")]
    public void AnIncrementStaysWithinItsBounds(string before, string options, string expected, string after)
    {
        if (before.Length > 0) _host.Call("SET", "k", before);
        Assert.Equal(expected, _host.Run($"INCREX k {options}".TrimEnd()));
        Assert.Equal(after, _host.Run("GET k"));
    }

    [Fact]
    public void FractionsAreDoubleRepliesInResp3()
    {
        _host.RespVersion = 3;
        Assert.Equal("[,1.5 ,1.5]", _host.Run("INCREX k BYFLOAT 1.5"));
        Assert.Equal("2.5", _host.Run("INCRBYFLOAT k 1"));
    }

    [Fact]
    public void EnxSetsAnExpiryOnlyOnce()
    {
        _host.Run("INCREX k EX 100 ENX");
        _host.Run("INCREX k EX 10 ENX");
        Assert.Equal((_host.Now + 100_000).ToString(), _host.Run("PEXPIRETIME k"));
        Assert.Equal("[3 1]", _host.Run("INCREX k EXAT 1 ENX"));
        Assert.Equal("3", _host.Run("GET k"));
        _host.Run("INCREX k EX 10");
        Assert.Equal((_host.Now + 10_000).ToString(), _host.Run("PEXPIRETIME k"));
    }
}
