namespace RedisClone.Server.Tests.Commands;

/// <summary>
/// The entries that groups have read, and the entries that they have not. The answers are those of redis-server 7.4.1, where a
/// counter can be wrong after XDEL, XTRIM or a counter that a client set.
/// </summary>
public sealed class StreamLagTests
{
    private readonly CommandHost _host = new();

    [Theory]
    [InlineData("XGROUP CREATE s g 0", "nil", "3")]
    [InlineData("XGROUP CREATE s g 1-0", "nil", "2")]
    [InlineData("XGROUP CREATE s g 2-0", "nil", "nil")]
    [InlineData("XGROUP CREATE s g 5-0", "nil", "nil")]
    [InlineData("XGROUP CREATE s g $ ENTRIESREAD 100", "100", "-97")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 100", "100", "-97")]
    [InlineData("XGROUP CREATE s g 2-0 ENTRIESREAD 100", "100", "-97")]
    [InlineData("XGROUP CREATE s g 2-0 ENTRIESREAD 2", "2", "1")]
    [InlineData("XGROUP CREATE s g 0;XGROUP SETID s g 3-0 ENTRIESREAD 1000", "1000", "-997")]
    [InlineData("XGROUP CREATE s g 0;XGROUP SETID s g 0 ENTRIESREAD 1000", "1000", "-997")]
    [InlineData("XGROUP CREATE s g 0;XREADGROUP GROUP g c COUNT 2 STREAMS s >;XGROUP SETID s g 2-0", "nil", "nil")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 2;XREADGROUP GROUP g c COUNT 1 STREAMS s >", "3", "0")]
    [InlineData("XGROUP CREATE s g 0;XREADGROUP GROUP g c STREAMS s >;XTRIM s MAXLEN 1;XSETID s 3-0 ENTRIESADDED 1", "3", "-2")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 3;XTRIM s MAXLEN 0", "3", "0")]
    [InlineData("XGROUP CREATE s g 0;XTRIM s MAXLEN 0", "nil", "0")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 0;XTRIM s MAXLEN 1", "0", "3")]
    [InlineData("XGROUP CREATE s g 0;XDEL s 2-0", "nil", "nil")]
    [InlineData("XGROUP CREATE s g 0;XDEL s 1-0", "nil", "2")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 0;XDEL s 1-0", "0", "3")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 0;XDEL s 2-0;XREADGROUP GROUP g c COUNT 1 STREAMS s >", "nil", "nil")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 0;XDEL s 2-0;XREADGROUP GROUP g c STREAMS s >", "3", "0")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 0;XDEL s 2-0;XREADGROUP GROUP g c NOACK STREAMS s >", "3", "0")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 0;XREADGROUP GROUP g c COUNT 1 STREAMS s >;XDEL s 2-0;COPY s t;DEL s;RENAME t s;" +
        "XADD s 4-0 f v;XREADGROUP GROUP g c STREAMS s >", "3", "1")]
    [InlineData("XGROUP CREATE s g 0;XGROUP SETID s g 3-0 ENTRIESREAD 9223372036854775807;XADD s 4-0 f v",
        "9223372036854775807", "-9223372036854775803")]
    public void CountersAreThoseOfRedis(string commands, string read, string lag)
    {
        for (int i = 1; i <= 3; i++) _host.Run($"XADD s {i}-0 f v");
        foreach (string command in commands.Split(';'))
            Assert.DoesNotContain("ERR", _host.Run(command), StringComparison.Ordinal);
        Assert.EndsWith($"entries-read {read} lag {lag}]]", _host.Run("XINFO GROUPS s"), StringComparison.Ordinal);
    }

    /// <summary>A counter does not wrap, because the journal cannot hold a negative one.</summary>
    [Fact]
    public void CountersEndAtTheGreatestNumber()
    {
        _host.Run("XADD s 1-0 f v");
        _host.Run("XSETID s 1-0 ENTRIESADDED 9223372036854775807");
        _host.Run("XGROUP CREATE s g 0 ENTRIESREAD 9223372036854775807");
        _host.Run("XADD s 2-0 f v");
        _host.Run("XREADGROUP GROUP g c STREAMS s >");
        Assert.Contains("entries-added 9223372036854775807", _host.Run("XINFO STREAM s"), StringComparison.Ordinal);
        Assert.EndsWith("entries-read 9223372036854775807 lag 0]]", _host.Run("XINFO GROUPS s"), StringComparison.Ordinal);
    }
}
