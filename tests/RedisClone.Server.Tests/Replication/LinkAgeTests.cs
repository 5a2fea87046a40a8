using RedisClone.Configuration;
using RedisClone.Engine.Replication.Following;

namespace RedisClone.Server.Tests.Replication;

/// <summary>Since when a replica is without a link. It decides whether a replica may replace its primary.</summary>
public sealed class LinkAgeTests : IDisposable
{
    private readonly FollowingHost _replica = new();

    private ReplicationRole Role => _replica.Host.Core.Role;

    public LinkAgeTests()
    {
        _replica.Follow("SET k 1");
        _replica.AwaitStream();
        FollowingHost.Until(() => Role.IsLinkUp);
    }

    /// <summary>A primary fails, its successor too, and a replica had no time to follow the successor: its data is as old as the first failure.</summary>
    [Fact]
    public void AnotherPrimaryDoesNotChangeTheAge()
    {
        Assert.Equal(0, Role.Follower!.DownSince);
        FollowAnother();
        long since = Role.Follower!.DownSince;
        Assert.True(since > 0);
        FollowAnother();
        Assert.Equal(since, Role.Follower!.DownSince);
    }

    /// <summary>The data of another shard is none for the new primary's.</summary>
    [Fact]
    public void ThePrimaryOfAnotherShardEndsTheAge()
    {
        Role.ForgetAge();
        FollowAnother();
        Assert.Equal(0, Role.Follower!.DownSince);
    }

    private void FollowAnother()
    {
        Role.Connector = new Unreachable();
        Role.Follow(new ReplicaOf("127.0.0.1", 2));
    }

    public void Dispose() => _replica.Dispose();

    private sealed class Unreachable : IPrimaryConnector
    {
        public async ValueTask<IPrimaryConnection> ConnectAsync(string host, int port, bool encrypts, CancellationToken end)
        {
            await Task.Delay(Timeout.Infinite, end);
            throw new IOException();
        }
    }
}
