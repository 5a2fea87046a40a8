using RedisClone.Engine.Shards;

namespace RedisClone.Server.Tests.Commands;

/// <summary>SCAN over the shards of a database.</summary>
public sealed class ScanCommandTests
{
    [Fact]
    public void AScanOverTheLargestNumberOfShardsEnds()
    {
        var host = new CommandHost(config => config.Shards = ShardSet.MaxShards);
        Assert.Equal("[0 []]", host.Run("SCAN 0"));
        host.Run("SET key 1");
        Assert.Equal("[0 [key]]", host.Run("SCAN 0"));
    }

    /// <summary>The cursors that redis-server 7.4 accepts.</summary>
    [Theory]
    [InlineData("+0", true)]
    [InlineData(" 0", true)]
    [InlineData("\t+00", true)]
    [InlineData("-0", true)]
    [InlineData("-01", true)]
    [InlineData("0\0x", true)]
    [InlineData("18446744073709551615", true)]
    [InlineData("00018446744073709551615", true)]
    [InlineData("-1", false)]
    [InlineData("0 ", false)]
    [InlineData("", false)]
    [InlineData(" ", false)]
    [InlineData("\0", false)]
    [InlineData("+ 0", false)]
    [InlineData("+-0", false)]
    [InlineData("0x0", false)]
    [InlineData("18446744073709551616", false)]
    public void ACursorIsParsedAsInRedis(string cursor, bool isOne)
    {
        var host = new CommandHost();
        Assert.Equal(isOne ? "[0 []]" : "ERR invalid cursor", host.Call("SCAN", cursor));
        Assert.Equal(isOne ? "[0 []]" : "ERR invalid cursor", host.Call("SSCAN", "none", cursor));
    }

    /// <summary>Each removal is a separate effect, as if separate commands had found the expired keys.</summary>
    [Theory]
    [InlineData("SCAN 0 COUNT 1000", false)]
    [InlineData("RANDOMKEY", false)]
    [InlineData("EVAL redis.call('SCAN',0,'COUNT','1000') 0", true)]
    public void RemovalsOfExpiredKeysAreSeparateEffects(string walk, bool isWhole)
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
