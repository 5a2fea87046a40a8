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
}
