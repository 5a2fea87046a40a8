namespace RedisClone.Server.Tests.Commands;

/// <summary>The keys that COMMAND reports for a request whose arguments decide them.</summary>
public sealed class CommandKeysTests
{
    private readonly CommandHost _host = new();

    [Theory]
    [InlineData("SET k v", "[[k [OW update]]]")]
    [InlineData("SET k v XX get", "[[k [RW access update]]]")]
    [InlineData("DELEX k", "[[k [RM delete]]]")]
    [InlineData("DELEX k IFEQ v", "[[k [RW access delete]]]")]
    [InlineData("BITFIELD k GET u8 0 OVERFLOW SAT GET u4 0", "[[k [RO access]]]")]
    [InlineData("BITFIELD k GET u8 0 INCRBY u8 0 1", "[[k [RW access update]]]")]
    [InlineData("BITFIELD k NOSUCH", "[[k [RW access update]]]")]
    public void FlagsOfKeysFollowTheArguments(string request, string expected) =>
        Assert.Equal(expected, _host.Run("COMMAND GETKEYSANDFLAGS " + request));
}
