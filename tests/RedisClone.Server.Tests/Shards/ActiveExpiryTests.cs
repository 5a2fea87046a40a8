using RedisClone.Engine.Shards;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Shards;

public sealed class ActiveExpiryTests
{
    /// <summary>An index moves keys while it shrinks, some of them to buckets that the scan has passed.</summary>
    [Fact]
    public void ManyKeysThatExpireTogetherAreRemovedInFewTurns()
    {
        var host = new CommandHost(static config => config.Shards = 1);
        Shard shard = host.Core.Shards[0];
        var expiry = new ActiveExpiry(host.Core);
        for (int i = 0; i < 100_000; i++) host.Call("SET", $"key:{i}", "v", "PXAT", $"{host.Now + 100}");
        host.Now += 1000;
        shard.Store.Now = host.Now;
        int turns = 0;
        for (; shard.Store.Database(0).ExpiringCount > 0 && turns < 1000; turns++) expiry.Run(shard, host.Now, TimeSpan.FromMinutes(1));
        Assert.InRange(turns, 1, 10);
    }

    /// <summary>A turn whose time is up asks for another one only if keys had expired.</summary>
    [Fact]
    public void OnlyExpiredKeysNeedFurtherTurns()
    {
        var host = new CommandHost(static config => config.Shards = 1);
        Shard shard = host.Core.Shards[0];
        var expiry = new ActiveExpiry(host.Core);
        for (int i = 0; i < 10_000; i++) host.Call("SET", $"key:{i}", "v", "PXAT", $"{host.Now + 100 + (i < 5_000 ? 0 : 1_000_000)}");
        Assert.False(expiry.Run(shard, host.Now, TimeSpan.Zero));
        host.Now += 1000;
        Assert.True(expiry.Run(shard, host.Now, TimeSpan.Zero));
        for (int i = 0; i < 5_000; i++) host.Call("DEL", $"key:{i}");
        Assert.False(expiry.Run(shard, host.Now, TimeSpan.Zero));
        Assert.Equal(5_000, shard.Store.Database(0).ExpiringCount);
    }
}
