namespace RedisClone.Server.Tests.Commands;

/// <summary>Streams: identifiers and their limits, ranges, trims, and effects that do not depend on the clock.</summary>
public sealed class StreamCommandTests
{
    private readonly CommandHost _host = new();

    [Theory]
    [InlineData("XADD s 3-1 a 1", "3-1")]
    [InlineData("XADD s * a 1", "1700000000000-0")]
    [InlineData("XADD s 3 a 1", "3-0")]
    [InlineData("XADD s 2-* a 1", "2-3")]
    [InlineData("XADD s 7-* a 1", "7-0")]
    [InlineData("XADD new 0-* a 1", "0-1")]
    [InlineData("XADD s 2-2 a 1", "ERR The ID specified in XADD is equal or smaller than the target stream top item")]
    [InlineData("XADD s 0-0 a 1", "ERR The ID specified in XADD must be greater than 0-0")]
    [InlineData("XADD s 18446744073709551616-0 a 1", "ERR Invalid stream ID specified as stream command argument")]
    [InlineData("XADD s 5 a", "ERR wrong number of arguments for 'xadd' command")]
    [InlineData("XADD new NOMKSTREAM * a 1", "nil")]
    [InlineData("XADD s MAXLEN 1 MINID 1 * a 1", "ERR syntax error, MAXLEN and MINID options at the same time are not compatible")]
    [InlineData("XADD s MAXLEN 1 LIMIT 1 * a 1", "ERR syntax error, LIMIT cannot be used without the special ~ option")]
    [InlineData("XTRIM s MAXLEN -1", "ERR The MAXLEN argument must be >= 0.")]
    [InlineData("XTRIM s MAXLEN 1", "2")]
    [InlineData("XTRIM s MINID 1-2", "1")]
    [InlineData("XTRIM s MAXLEN ~ 1", "0")]
    [InlineData("XRANGE s - + COUNT 1", "[[1-1 [a 1]]]")]
    [InlineData("XRANGE s (1-1 (2-2", "[[1-2 [b x]]]")]
    [InlineData("XRANGE s 1 1", "[[1-1 [a 1]] [1-2 [b x]]]")]
    [InlineData("XRANGE s (18446744073709551615-18446744073709551615 +", "ERR invalid start ID for the interval")]
    [InlineData("XRANGE s - (0-0", "ERR invalid end ID for the interval")]
    [InlineData("XREVRANGE s + - COUNT 1", "[[2-2 [a 2 c 3]]]")]
    [InlineData("XREVRANGE s + - COUNT 0", "nil")]
    [InlineData("XDEL s 1-1 9-9 2-2", "2")]
    [InlineData("XDEL s 1-1 x", "ERR Invalid stream ID specified as stream command argument")]
    [InlineData("XREAD STREAMS s 1-2", "[[s [[2-2 [a 2 c 3]]]]]")]
    [InlineData("XREAD STREAMS s no + 0", "[[s [[2-2 [a 2 c 3]]]]]")]
    [InlineData("XREAD COUNT 1 MAXCOUNT 2 STREAMS s s s 0 0 0", "[[s [[1-1 [a 1]]]] [s [[1-1 [a 1]]]]]")]
    [InlineData("XREAD MAXSIZE 1 STREAMS s s 0 0", "[[s [[1-1 [a 1]]]]]")]
    [InlineData("XREAD COUNT 2 MAXCOUNT 1 STREAMS s 0", "ERR MAXCOUNT must be greater than or equal to COUNT")]
    [InlineData("XREAD STREAMS s s 0", "ERR Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be specified.")]
    [InlineData("XREAD CLAIM 5 STREAMS s 0", "ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.")]
    [InlineData("XREAD BLOCK 0 STREAMS s $", "nil")]
    [InlineData("XSETID s 1-1", "ERR The ID specified in XSETID is smaller than the target stream top item")]
    [InlineData("XSETID s 9-9 ENTRIESADDED 2", "ERR The entries_added specified in XSETID is smaller than the target stream length")]
    [InlineData("XSETID s 9-9 ENTRIESADDED 10 MAXDELETEDID 8-0", "OK")]
    [InlineData("OBJECT ENCODING s", "stream")]
    [InlineData("TYPE s", "stream")]
    public void ACommandHasTheExpectedReply(string command, string expected)
    {
        Fill();
        Assert.Equal(expected, _host.Run(command));
    }

    [Theory]
    [InlineData("XADD s * a 1", "XADD s 1700000000000-0 a 1")]
    [InlineData("XADD s NOMKSTREAM MAXLEN ~ 1 LIMIT 5 9-* a 1", "XADD s MAXLEN = 4 9-0 a 1")]
    [InlineData("XADD s MAXLEN 2 9-9 a 1", "XADD s MAXLEN 2 9-9 a 1")]
    [InlineData("XTRIM s MINID 2", "XTRIM s MINID 2")]
    [InlineData("XTRIM s MAXLEN ~ 1", null)]
    [InlineData("XDEL s 9-9", null)]
    public void EffectsDoNotDependOnTheClock(string command, string? effect)
    {
        Fill();
        Assert.Equal(effect is null ? [] : [effect], _host.EffectsOf(command));
    }

    [Fact]
    public void IdentifiersGrowWhenTheClockGoesBack()
    {
        Assert.Equal("1700000000000-0", _host.Run("XADD s * a 1"));
        _host.Now -= 1000;
        Assert.Equal("1700000000000-1", _host.Run("XADD s * a 1"));
        Assert.Equal("18446744073709551615-18446744073709551615", _host.Run("XADD s 18446744073709551615-18446744073709551615 a 1"));
        Assert.Equal("ERR The stream has exhausted the last possible ID, unable to add more items", _host.Run("XADD s * a 1"));
        Assert.Equal("[[s [[18446744073709551615-18446744073709551615 [a 1]]]]]", _host.Run("XREAD STREAMS s 18446744073709551615-18446744073709551614"));
        Assert.Equal("nil", _host.Run("XREAD STREAMS s 18446744073709551615-18446744073709551615"));
    }

    [Fact]
    public void AnApproximateTrimRemovesOnlyWholeBlocks()
    {
        for (int i = 1; i <= 250; i++) _host.Run($"XADD many {i} a {i}");
        Assert.Equal("100", _host.Run("XTRIM many MAXLEN ~ 120"));
        Assert.Equal("0", _host.Run("XTRIM many MAXLEN ~ 120 LIMIT 10"));
        Assert.Equal("[[101-0 [a 101]]]", _host.Run("XRANGE many - + COUNT 1"));
        Assert.Equal("XTRIM many MINID = 201-0", _host.EffectsOf("XTRIM many MINID ~ 230").Single());
        Assert.Equal("50", _host.Run("XLEN many"));
    }

    [Fact]
    public void RepeatedEntriesOfAProducerAreAddedOnce()
    {
        Assert.Equal("1700000000000-0", _host.Run("XADD s IDMP p m * a 1"));
        Assert.Equal("1700000000000-0", _host.Run("XADD s IDMP p m * a 2"));
        Assert.Equal("1700000000000-1", _host.Run("XADD s IDMP other m * a 3"));
        Assert.Equal("1700000000000-2", _host.Run("XADD s IDMPAUTO p * a 1 b 2"));
        Assert.Equal("1700000000000-2", _host.Run("XADD s IDMPAUTO p * b 2 a 1"));
        Assert.Equal("3", _host.Run("XLEN s"));
        Assert.Equal("ERR IDMP/IDMPAUTO can be used only with auto-generated IDs", _host.Run("XADD s IDMP p m 1-1 a 1"));
        Assert.Equal("ERR IDMP/IDMPAUTO specified multiple times", _host.Run("XADD s IDMPAUTO p IDMP p m * a 1"));
        Assert.Equal("ERR IDMPAUTO requires a non-empty producer ID", _host.Call("XADD", "s", "IDMPAUTO", "", "*", "a", "1"));
        Assert.Equal(["MULTI", "XADD s 1700000000000-3 a 1", "XIDMPRECORD s p n 1700000000000-3", "EXEC"], _host.EffectsOf("XADD s IDMP p n * a 1"));
        Assert.Equal("ERR IDMP-DURATION must be between 1 and 86400 seconds", _host.Run("XCFGSET s IDMP-DURATION 0"));
        Assert.Equal(["XCFGSET s IDMP-DURATION 5 IDMP-MAXSIZE 100"], _host.EffectsOf("XCFGSET s IDMP-DURATION 5"));
        Assert.Equal("1700000000000-4", _host.Run("XADD s IDMP p m * a 1"));
        _host.Now += 5_000;
        Assert.Equal("1700000005000-0", _host.Run("XADD s IDMP p m * a 1"));
        string payload = _host.Call("DUMP", "s");
        Assert.Equal("OK", _host.Call("RESTORE", "copy", "0", payload));
        Assert.Equal("1700000005000-0", _host.Run("XADD copy IDMP p m * a 1"));
        Assert.Contains("idmp-duration 5 idmp-maxsize 100 pids-tracked 1 iids-tracked 1", _host.Run("XINFO STREAM copy"), StringComparison.Ordinal);
    }

    private void Fill()
    {
        _host.Run("XADD s 1-1 a 1");
        _host.Run("XADD s 1-2 b x");
        _host.Run("XADD s 2-2 a 2 c 3");
    }
}
