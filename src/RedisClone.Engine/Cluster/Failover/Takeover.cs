namespace RedisClone.Engine.Cluster.Failover;

/// <summary>
/// The takeover of this node, a replica that has won an election: it replaces its primary as soon as all shards are held, so that no
/// write is refused in between. The caller holds the lock of the cluster.
/// </summary>
internal sealed class Takeover(ServerCore server, ClusterMember cluster)
{
    private bool _isManual;

    /// <summary>Whether the takeover waits for the shards.</summary>
    public bool IsPending { get; private set; }

    /// <param name="isManual">Whether the election was the one of a manual failover.</param>
    public void Begin(bool isManual) => (IsPending, _isManual) = (true, isManual);

    /// <summary>
    /// Replaces the primary, unless the reason of the election has gone meanwhile: the primary serves again, and this node lacks what it has
    /// confirmed since. The caller also holds every shard.
    /// </summary>
    public void Finish()
    {
        bool isDue = _isManual ? cluster.ManualFailover.MayTakeOver(ServerCore.UnixMilliseconds()) : cluster.State.Myself.Primary is { IsFailed: true };
        if (isDue)
        {
            cluster.ReplacePrimary();
            return;
        }
        Drop();
        server.Log.LogWarning("The election was won too late: {Reason}.", _isManual ? "the manual failover has timed out" : "the master works again");
    }

    public void Drop() => IsPending = false;

    /// <summary>Drops a takeover whose manual failover is over.</summary>
    public void DropManual()
    {
        if (_isManual) Drop();
    }
}
