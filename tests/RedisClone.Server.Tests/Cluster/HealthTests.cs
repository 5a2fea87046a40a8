using RedisClone.Engine.Cluster;
using RedisClone.Engine.Cluster.Health;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Cluster;

/// <summary>When a node that was started accepts writes.</summary>
public sealed class HealthTests : IDisposable
{
    private readonly CommandHost _host = new(static config => config.ClusterEnabled = true);

    public void Dispose() => _host.Core.Cluster!.Dispose();

    /// <summary>A replica may have taken over while the node loaded its data. The node must hear of it first.</summary>
    [Fact]
    public void APrimaryWaitsAfterItsLoad()
    {
        ClusterMember cluster = _host.Core.Cluster!;
        Assert.Null(cluster.Prepare());
        Assert.Equal("OK", _host.Run("CLUSTER ADDSLOTSRANGE 0 16383"));
        var health = new ClusterHealth(_host.Core, cluster);
        health.Update(1_000);
        health.Update(60_000);
        Assert.False(cluster.State.IsOk);
        cluster.Begin();
        health.Update(61_000);
        health.Update(62_900);
        Assert.False(cluster.State.IsOk);
        health.Update(63_100);
        Assert.True(cluster.State.IsOk);
    }
}
