using RedisClone.Configuration;
using RedisClone.Engine;

namespace RedisClone.Server.Tests.Replication;

/// <summary>A server that hands its role over to its replica.</summary>
public sealed class TakeoverTests : IDisposable
{
    private readonly FollowingHost _host = new();

    private const string IsPrimary = "-ERR PSYNC FAILOVER can't be sent to a master.\r\n";

    /// <summary>A target that is a primary already may refuse the stream. A former primary that led again would be a second primary.</summary>
    [Fact]
    public void AFormerPrimaryDoesNotLeadBesideTheTarget()
    {
        ScriptedPeer peer = HandOver(_ => IsPrimary + "-NOMASTERLINK no memory\r\n");
        FollowingHost.Until(() => peer.Requests >= 3);
        Assert.False(Core.Failover.IsOn);
        Assert.True(Core.Role.IsReplica);
    }

    /// <summary>If an answer was lost, the target may be a primary. An error that any server may send does not say that it is none.</summary>
    [Theory]
    [InlineData("-BUSY Redis is busy running a script.\r\n")]
    [InlineData("-NOPERM User default has no permissions\r\n")]
    public void AnErrorAfterALostAnswerIsNoRefusal(string error)
    {
        ScriptedPeer peer = HandOver(request => request == 1 ? null : request == 2 ? error : IsPrimary + IsPrimary);
        FollowingHost.Until(() => peer.Requests >= 4 && !Core.Failover.IsOn);
        Assert.True(Core.Role.IsReplica);
    }

    /// <summary>The first error ends the failover: the target has not taken over.</summary>
    [Theory]
    [InlineData("-BUSY Redis is busy running a script.\r\n", false)]
    [InlineData("-NOMASTERLINK no memory\r\n", true)]
    public void ARefusalEndsTheFailover(string error, bool isLost)
    {
        HandOver(request => isLost && request == 1 ? null : error);
        FollowingHost.Until(() => !Core.Failover.IsOn);
        Assert.False(Core.Role.IsReplica);
    }

    private ServerCore Core => _host.Host.Core;

    private ScriptedPeer HandOver(Func<int, string?> answer)
    {
        var peer = new ScriptedPeer("PSYNC", request => answer(request) is { } text ? System.Text.Encoding.ASCII.GetBytes(text) : null);
        Core.Role.Connector = peer;
        Core.Failover.Begin(new ReplicaOf("127.0.0.1", 1), deadline: 1, isForced: true);
        Core.Failover.Tend(ServerCore.UnixMilliseconds());
        return peer;
    }

    public void Dispose() => _host.Dispose();
}
