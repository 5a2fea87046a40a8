using RedisClone.Configuration;
using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Cluster.Failover;

/// <summary>
/// Makes the role in replication that of the cluster. The role changes while every shard is held, and shards are taken before the lock
/// of the cluster, so a worker does it.
/// </summary>
internal sealed class RoleKeeper(ServerCore server, ClusterMember cluster)
{
    private int _runs;                  // 1 while a worker changes the role

    /// <summary>Begins the change if the roles differ. The caller holds the lock of the cluster.</summary>
    public void Look()
    {
        if (!cluster.HasBegun || !cluster.Takeover.IsPending && Wanted() == server.Role.Primary || Interlocked.Exchange(ref _runs, 1) != 0) return;
        try
        {
            ThreadPool.UnsafeQueueUserWorkItem(static self => self.Run(), this, preferLocal: false);
        }
        catch
        {
            Volatile.Write(ref _runs, 0);
            throw;
        }
    }

    /// <summary>The server to follow, or null for a primary. A primary without an address is followed where it was.</summary>
    private ReplicaOf? Wanted()
    {
        if (cluster.State.Myself is not { IsReplica: true, Primary: { } primary }) return cluster.State.Myself.IsReplica ? server.Role.Primary : null;
        return cluster.AddressOf(primary) ?? server.Role.Primary;
    }

    private void Run()
    {
        try
        {
            new HeldAction(server.Shards, Change).RunAndWait();
        }
        catch (Exception bug)
        {
            server.Failures.WorkFailed("The role in the cluster could not be changed", bug);
        }
        finally
        {
            Volatile.Write(ref _runs, 0);
        }
    }

    private void Change()
    {
        lock (cluster.Gate)
        {
            if (cluster.Takeover.IsPending) cluster.Takeover.Finish();
            ReplicaOf? wanted = Wanted();
            if (wanted == server.Role.Primary) return;
            if (wanted is null) server.Role.Lead();
            else server.Role.Follow(wanted);
        }
    }
}
