using RedisClone.Engine.Shards;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Shards;

public sealed class ActiveExpiryTests
{
    private readonly CommandHost _host = new(static config => config.Shards = 1);
    private readonly Shard _shard;
    private readonly ActiveExpiry _expiry;

    public ActiveExpiryTests() => (_shard, _expiry) = (_host.Core.Shards[0], new ActiveExpiry(_host.Core));

    /// <summary>An index moves keys while it shrinks, some of them to buckets that the scan has passed.</summary>
    [Fact]
    public void ManyKeysThatExpireTogetherAreRemovedInFewTurns()
    {
        for (int i = 0; i < 100_000; i++) _host.Call("SET", $"key:{i}", "v", "PXAT", $"{_host.Now + 100}");
        _host.Now += 1000;
        _shard.Store.Now = _host.Now;
        int turns = 0;
        for (; _shard.Store.Database(0).ExpiringCount > 0 && turns < 1000; turns++) _expiry.Run(_shard, _host.Now, TimeSpan.FromMinutes(1));
        Assert.InRange(turns, 1, 10);
    }

    /// <summary>A turn whose time is up asks for another one only if keys had expired.</summary>
    [Fact]
    public void OnlyExpiredKeysNeedFurtherTurns()
    {
        for (int i = 0; i < 10_000; i++) _host.Call("SET", $"key:{i}", "v", "PXAT", $"{_host.Now + 100 + (i < 5_000 ? 0 : 1_000_000)}");
        Assert.False(_expiry.Run(_shard, _host.Now, TimeSpan.Zero));
        _host.Now += 1000;
        Assert.True(_expiry.Run(_shard, _host.Now, TimeSpan.Zero));
        for (int i = 0; i < 5_000; i++) _host.Call("DEL", $"key:{i}");
        Assert.False(_expiry.Run(_shard, _host.Now, TimeSpan.Zero));
        Assert.Equal(5_000, _shard.Store.Database(0).ExpiringCount);
    }
}
