using RedisClone.Configuration;
using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Cluster.Failover;

/// <summary>
/// Makes the role in replication that of the cluster. The role changes while every shard is held, and shards are taken before the lock
/// of the cluster, so a worker does it.
/// </summary>
internal sealed class RoleKeeper
{
    private readonly ServerCore _server;
    private readonly ClusterMember _cluster;
    private readonly HeldTask _change;

    public RoleKeeper(ServerCore server, ClusterMember cluster)
    {
        (_server, _cluster) = (server, cluster);
        _change = new HeldTask(server, Change, "The role in the cluster could not be changed");
    }

    /// <summary>Begins the change if the roles differ. The caller holds the lock of the cluster.</summary>
    public void Look()
    {
        if (_cluster.HasBegun && (_cluster.Takeover.IsPending || Wanted() != _server.Role.Primary)) _change.Begin();
    }

    /// <summary>The server to follow, or null for a primary. A primary without an address is followed where it was.</summary>
    private ReplicaOf? Wanted()
    {
        if (_cluster.State.Myself is not { IsReplica: true, Primary: { } primary }) return _cluster.State.Myself.IsReplica ? _server.Role.Primary : null;
        return _cluster.AddressOf(primary) ?? _server.Role.Primary;
    }

    private void Change()
    {
        lock (_cluster.Gate)
        {
            if (_cluster.Takeover.IsPending) _cluster.Takeover.Finish();
            ReplicaOf? wanted = Wanted();
            if (wanted == _server.Role.Primary) return;
            if (wanted is null) _server.Role.Lead();
            else _server.Role.Follow(wanted);
        }
    }
}
