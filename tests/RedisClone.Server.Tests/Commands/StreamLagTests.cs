namespace RedisClone.Server.Tests.Commands;

/// <summary>
/// The entries read and the lag of groups whose count of entries read is larger than the number of entries added. The expected
/// replies are those of Redis 8.
/// </summary>
public sealed class StreamLagTests
{
    private readonly CommandHost _host = new();

    [Theory]
    [InlineData("XGROUP CREATE s g $ ENTRIESREAD 100", "3", "0")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 100", "3", "3")]
    [InlineData("XGROUP CREATE s g 2-0 ENTRIESREAD 100", "3", "0")]
    [InlineData("XGROUP CREATE s g 2-0 ENTRIESREAD 2", "2", "1")]
    [InlineData("XGROUP CREATE s g 2-0", "nil", "nil")]
    [InlineData("XGROUP CREATE s g 0;XGROUP SETID s g 3-0 ENTRIESREAD 1000", "3", "0")]
    [InlineData("XGROUP CREATE s g 0;XGROUP SETID s g 0 ENTRIESREAD 1000", "3", "3")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 2;XREADGROUP GROUP g c COUNT 1 STREAMS s >", "1", "2")]
    [InlineData("XGROUP CREATE s g 0;XREADGROUP GROUP g c STREAMS s >;XTRIM s MAXLEN 1;XSETID s 3-0 ENTRIESADDED 1", "1", "0")]
    [InlineData("XGROUP CREATE s g 0 ENTRIESREAD 3;XTRIM s MAXLEN 0", "3", "0")]
    [InlineData("XGROUP CREATE s g 0;XDEL s 2-0", "nil", "nil")]
    [InlineData("XGROUP CREATE s g 0;XDEL s 1-0", "nil", "2")]
    public void NoGroupHasReadMoreEntriesThanWereAdded(string commands, string read, string lag)
    {
        for (int i = 1; i <= 3; i++) _host.Run($"XADD s {i}-0 f v");
        foreach (string command in commands.Split(';'))
            Assert.DoesNotContain("ERR", _host.Run(command), StringComparison.Ordinal);
        Assert.EndsWith($"entries-read {read} lag {lag}]]", _host.Run("XINFO GROUPS s"), StringComparison.Ordinal);
    }
}
