namespace RedisClone.Server.Tests.Replication;

/// <summary>A replica applies what a primary has reason to send: it does not let its primary manage the server.</summary>
public sealed class LyingPrimaryTests : IDisposable
{
    private readonly FollowingHost _replica = new();

    [Theory]
    [InlineData("SHUTDOWN NOSAVE")]
    [InlineData("CONFIG SET maxmemory 1")]
    [InlineData("ACL SETUSER default off")]
    [InlineData("REPLICAOF NO ONE")]
    [InlineData("FAILOVER")]
    [InlineData("DEBUG SET-ACTIVE-EXPIRE 0")]
    [InlineData("CLIENT KILL TYPE normal")]
    [InlineData("CLIENT PAUSE 10000")]
    [InlineData("SUBSCRIBE a")]
    [InlineData("MONITOR")]
    [InlineData("PSYNC ? -1")]
    [InlineData("RESET")]
    public void WhatManagesTheServerIsNotApplied(string command)
    {
        ScriptedPeer peer = _replica.Follow("SET first 1", command, "SET second 1");
        // The replica begins again, with a copy of all data.
        FollowingHost.Until(() => peer.Requests >= 2 && _replica.Has("first"));
        Assert.False(_replica.Has("second"));
        Assert.True(_replica.Host.Core.Role.IsReplica);
        Assert.NotEqual(1, _replica.Host.Core.Config.MaxMemoryBytes);
    }

    [Theory]
    [InlineData("PING")]
    [InlineData("SELECT 0")]
    [InlineData("PUBLISH a b")]
    [InlineData("SPUBLISH a b")]
    [InlineData("SCRIPT LOAD return(1)")]
    [InlineData("SCRIPT FLUSH")]
    [InlineData("FUNCTION FLUSH")]
    [InlineData("EVAL return(1) 0")]
    [InlineData("PFCOUNT a")]
    [InlineData("FLUSHALL")]
    [InlineData("SWAPDB 1 2")]
    [InlineData("REPLCONF GETACK *")]
    [InlineData("MULTI;SELECT 1;SET a 1;SELECT 0;EXEC")]
    public void WhatAPrimarySendsIsApplied(string commands)
    {
        ScriptedPeer peer = _replica.Follow(["SET first 1", .. commands.Split(';'), "SET second 1"]);
        FollowingHost.Until(() => _replica.Has("second"));
        Assert.Equal(1, peer.Requests);
    }

    public void Dispose() => _replica.Dispose();
}
