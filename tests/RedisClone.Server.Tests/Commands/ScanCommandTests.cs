using RedisClone.Server.Shards;

namespace RedisClone.Server.Tests.Commands;

/// <summary>SCAN over the shards of a database.</summary>
public sealed class ScanCommandTests
{
    [Fact]
    public void AWalkOverAsManyShardsAsThereCanBeEnds()
    {
        var host = new CommandHost(config => config.Shards = ShardSet.MaxShards);
        Assert.Equal("[0 []]", host.Run("SCAN 0"));
        host.Run("SET key 1");
        Assert.Equal("[0 [key]]", host.Run("SCAN 0"));
    }

    /// <summary>Replicas get them one by one, as when each had been met by a command of its own.</summary>
    [Theory]
    [InlineData("SCAN 0 COUNT 1000", false)]
    [InlineData("RANDOMKEY", false)]
    [InlineData("EVAL redis.call('SCAN',0,'COUNT','1000') 0", true)]
    public void KeysThatAWalkFindsExpiredAreEffectsOfTheirOwn(string walk, bool isWhole)
    {
        var host = new CommandHost();
        for (int i = 0; i < 20; i++) host.Run($"SET key:{i} value PX 10");
        host.Now += 1000;
        string[] effects = host.EffectsOf(walk);
        Assert.Equal(isWhole ? 22 : 20, effects.Length);
        if (isWhole) effects = effects[1..^1];
        Assert.All(effects, effect => Assert.StartsWith("DEL key:", effect, StringComparison.Ordinal));
    }
}
