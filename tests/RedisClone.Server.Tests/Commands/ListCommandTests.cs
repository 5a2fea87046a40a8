namespace RedisClone.Server.Tests.Commands;

public sealed class ListCommandTests
{
    /// <summary>The effect of a blocking move never blocks, and redis-server counts it as the same command.</summary>
    [Theory]
    [InlineData("BRPOPLPUSH a b 1", "RPOPLPUSH a b")]
    [InlineData("BLMOVE a b LEFT RIGHT 1", "LMOVE a b left right")]
    [InlineData("RPOPLPUSH a b", "RPOPLPUSH a b")]
    [InlineData("LMOVE a b RIGHT LEFT", "LMOVE a b RIGHT LEFT")]
    public void AMoveHasAnEffectThatDoesNotBlock(string command, string effect)
    {
        var host = new CommandHost();
        host.Run("RPUSH a 1 2");
        Assert.Equal([effect], host.EffectsOf(command));
    }
}
