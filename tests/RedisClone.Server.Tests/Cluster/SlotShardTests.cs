using RedisClone.Engine.Commands;
using RedisClone.Engine.Execution;
using RedisClone.Engine.Shards;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Cluster;

/// <summary>In cluster mode, keys of one slot have one shard.</summary>
public sealed class SlotShardTests
{
    [Fact]
    public void KeysOfOneTagNeedOneShard()
    {
        Assert.Equal(1, ShardsOf(isCluster: true));
        Assert.InRange(ShardsOf(isCluster: false), 2, 16);
    }

    private static int ShardsOf(bool isCluster)
    {
        var host = new CommandHost(config => (config.ClusterEnabled, config.Shards) = (isCluster, 16));
        var request = new CommandHost.Prepared(["MSET", .. Enumerable.Range(0, 40).SelectMany(static i => new[] { $"{{tag}}{i}", "value" })]);
        CommandRow row = host.Core.Commands.Resolve(request.Request)!;
        ShardSet shards = Router.ShardsOf(host.Core, null!, row, request.Request);
        return shards.Count;
    }
}
