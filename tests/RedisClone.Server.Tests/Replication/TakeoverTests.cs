using RedisClone.Configuration;
using RedisClone.Engine;

namespace RedisClone.Server.Tests.Replication;

/// <summary>A server that hands its role over to its replica.</summary>
public sealed class TakeoverTests : IDisposable
{
    private readonly FollowingHost _host = new();

    /// <summary>A target that is a primary already may refuse the stream. A former primary that led again would be a second primary.</summary>
    [Fact]
    public void AFormerPrimaryDoesNotLeadBesideTheTarget()
    {
        ServerCore core = _host.Host.Core;
        var peer = new ScriptedPeer("PSYNC", "-ERR PSYNC FAILOVER can't be sent to a master.\r\n-NOMASTERLINK no memory\r\n"u8.ToArray());
        core.Role.Connector = peer;
        core.Failover.Begin(new ReplicaOf("127.0.0.1", 1), deadline: 1, isForced: true);
        core.Failover.Tend(ServerCore.UnixMilliseconds());
        FollowingHost.Until(() => peer.Requests >= 3);
        Assert.False(core.Failover.IsOn);
        Assert.True(core.Role.IsReplica);
    }

    public void Dispose() => _host.Dispose();
}
