namespace RedisClone.Server.Tests.Commands;

/// <summary>Sets, their algebra, and SORT.</summary>
public sealed class SetCommandTests
{
    private readonly CommandHost _host = new();

    [Theory]
    [InlineData("SADD s 1 2 5", "1")]
    [InlineData("SREM s 1 9", "1")]
    [InlineData("SMISMEMBER s 1 9", "[1 0]")]
    [InlineData("SMOVE s t 1", "1")]
    [InlineData("SMOVE s l 1", "WRONGTYPE Operation against a key holding the wrong kind of value")]
    [InlineData("SPOP s -1", "ERR value is out of range, must be positive")]
    [InlineData("SINTER s t", "[2 3]")]
    [InlineData("SDIFF s t", "[1]")]
    [InlineData("SUNIONSTORE s s t", "4")]
    [InlineData("SINTERSTORE s s nothing", "0")]
    [InlineData("SINTERCARD 2 s t LIMIT 1", "1")]
    [InlineData("SUNIONCARD 2 s t", "4")]
    [InlineData("SDIFFCARD 2 s t", "1")]
    [InlineData("SINTERCARD 9223372036854775807 s", "ERR Number of keys can't be greater than number of args")]
    [InlineData("SRANDMEMBER s -9223372036854775807", "ERR value is out of range")]
    [InlineData("SRANDMEMBER s -4194305", "ERR value is out of range")]
    [InlineData("SRANDMEMBER nothing -4194305", "[]")]
    [InlineData("SORT l", "[-1 2 10]")]
    [InlineData("SORT l DESC LIMIT 0 2", "[10 2]")]
    [InlineData("SORT l ALPHA", "[-1 10 2]")]
    [InlineData("SORT l BY w_* GET # GET o_*->name", "[10 nil 2 two -1 nil]")]
    [InlineData("SORT l BY nosort GET #", "[10 2 -1]")]
    [InlineData("SORT l LIMIT 9223372036854775807 9223372036854775807", "[]")]
    [InlineData("SORT l STORE s", "3")]
    [InlineData("SORT_RO l STORE s", "ERR syntax error")]
    public void ACommandHasTheExpectedReply(string command, string expected)
    {
        Prepare();
        Assert.Equal(expected, _host.Run(command));
    }

    [Fact]
    public void APopIsJournaledAsTheRemovalOfItsMembers()
    {
        Prepare();
        string taken = _host.EffectsOf("SPOP s 2")[0];
        Assert.StartsWith("SREM s ", taken, StringComparison.Ordinal);
        Assert.Equal(4, taken.Split(' ').Length);
        Assert.Equal(["DEL s"], _host.EffectsOf("SPOP s 5"));
    }

    [Fact]
    public void AStoredSortIsJournaledAsItsResult()
    {
        Prepare();
        Assert.Equal(["MULTI", "DEL s", "RPUSH s -1 2 10", "EXEC"], _host.EffectsOf("SORT l STORE s"));
        Assert.Empty(_host.EffectsOf("SORT nothing STORE nowhere"));
    }

    /// <summary>
    /// With few other sets, the members of the first set are looked up in each. With many other sets, their members are removed
    /// from the result. Both algorithms give the same result.
    /// </summary>
    [Theory]
    [InlineData(0)]
    [InlineData(50)]
    public void DifferencesOfFewAndOfManySetsAgree(int absent)
    {
        string[] all = [.. Enumerable.Range(0, 100).Select(i => $"{i}")], even = [.. all.Where((_, i) => i % 2 == 0)];
        _host.Call(["SADD", "all", .. all]);
        _host.Call(["SADD", "odd", .. all.Except(even)]);
        _host.Call(["ZADD", "ranked", .. all.SelectMany(i => new[] { i, i })]);
        string[] others = ["odd", .. Enumerable.Range(0, absent).Select(i => $"none{i}")];
        string keys = $"{1 + others.Length}";
        Assert.Equal(even.Order(), _host.Call(["SDIFF", "all", .. others]).Trim('[', ']').Split(' ').Order());
        Assert.Equal("50", _host.Call(["SDIFFCARD", keys, "all", .. others]));
        Assert.Equal("7", _host.Call(["SDIFFCARD", keys, "all", .. others, "LIMIT", "7"]));
        Assert.Equal("50", _host.Call(["SDIFFSTORE", "all", "all", .. others]));
        Assert.Equal(even.Order(), _host.Run("SMEMBERS all").Trim('[', ']').Split(' ').Order());
        Assert.Equal("[]", _host.Call(["SDIFF", "all", "all", .. others]));
        Assert.Equal($"[{string.Join(' ', even)}]", _host.Call(["ZDIFF", keys, "ranked", .. others]));
        Assert.Equal("50", _host.Call(["ZDIFFSTORE", "ranked", keys, "ranked", .. others]));
        Assert.Equal($"[{string.Join(' ', even)}]", _host.Run("ZRANGE ranked 0 -1"));
    }

    private void Prepare()
    {
        _host.Run("SADD s 1 2 3");
        _host.Run("SADD t 2 3 4");
        _host.Run("RPUSH l 10 2 -1");
        _host.Run("MSET w_10 1 w_2 2 w_-1 3");
        _host.Run("HSET o_2 name two");
    }
}
