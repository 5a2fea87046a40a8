using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Replication.Following;

namespace RedisClone.Engine.Cluster.Failover;

/// <summary>
/// The election of this node, a replica, after its primary has failed: it waits, so that the replica with the most data comes first,
/// asks the primaries for their votes, and takes over with a majority. The caller holds the lock of the cluster.
/// </summary>
internal sealed class Election(ServerCore server, ClusterMember cluster)
{
    private const long FirstDelay = 500, DelayOfRank = 1000, LeastTimeout = 2000;

    private long _startsAt;
    private bool _hasAsked;
    private int _rank, _votes;
    private ulong _epoch;

    private ClusterState State => cluster.State;

    /// <summary>Counts a vote for this node.</summary>
    public void TakeVote(ClusterNode voter, ulong epoch)
    {
        if (!voter.IsPrimary || voter.Slots.Count == 0 || epoch < _epoch) return;
        _votes++;
        State.Later(Pending.Election);
    }

    /// <summary>Forgets an election, because a manual failover begins another one.</summary>
    public void Restart() => _startsAt = 0;

    /// <summary>Takes the next step that is due.</summary>
    public void Advance(long now)
    {
        bool isManual = cluster.ManualFailover.MayStart;
        ClusterNode myself = State.Myself;
        if (!myself.IsReplica || myself.Primary is not { } primary || primary.Slots.Count == 0 || cluster.Takeover.IsPending) return;
        if (!isManual && (!primary.IsFailed || server.Config.ClusterReplicaNoFailover || IsDataTooOld(now))) return;
        long timeout = Math.Max(LeastTimeout, server.Config.ClusterNodeTimeout * 2);
        long age = now - _startsAt;
        if (age > timeout * 2)
        {
            Schedule(now, isManual);
            return;
        }
        if (!_hasAsked && !isManual) FallBack();
        if (now < _startsAt || age > timeout) return;
        if (!_hasAsked) Ask(isManual);
        else if (_votes >= State.Quorum) Win(isManual);
    }

    private void Schedule(long now, bool isManual)
    {
        int spread = _hasAsked || HasRivals() ? Random.Shared.Next((int)FirstDelay) : 0;
        _hasAsked = false;
        _votes = 0;
        _rank = isManual ? 0 : Rank();
        _startsAt = isManual ? now : now + FirstDelay + spread + _rank * DelayOfRank;
        if (isManual) State.Later(Pending.Election);
        server.Log.LogInformation("Start of election delayed for {Delay} milliseconds (rank #{Rank}, offset {Offset}).",
            _startsAt - now, _rank, server.Replicas.Stream.Offset);
        // The other replicas learn the offset of this one, and thereby their rank.
        ClusterNode primary = State.Myself.Primary!;
        cluster.Bus.BroadcastPong(node => node.IsReplica && node.Primary == primary);
    }

    /// <summary>Waits longer if another replica turns out to have more data.</summary>
    private void FallBack()
    {
        int rank = Rank();
        if (rank <= _rank) return;
        _startsAt += (rank - _rank) * DelayOfRank;
        _rank = rank;
    }

    private void Ask(bool isManual)
    {
        _hasAsked = true;
        // A late vote of an earlier election does not count.
        _votes = 0;
        _epoch = ++State.CurrentEpoch;
        server.Log.LogInformation("Starting a failover election for epoch {Epoch}.", _epoch);
        State.Later(Pending.Save | Pending.Health | Pending.Flush);
        cluster.Bus.Broadcast(MessageType.AuthRequest, cluster.Bus.Messages.Plain(MessageType.AuthRequest, isManual ? MessageLayout.ForceAck : (byte)0));
    }

    private void Win(bool isManual)
    {
        server.Log.LogInformation("Failover election won: I'm the new master. Epoch {Epoch}.", _epoch);
        if (State.Myself.ConfigEpoch < _epoch) State.Myself.ConfigEpoch = _epoch;
        _startsAt = 0;
        cluster.Takeover.Begin(isManual);
    }

    /// <summary>The number of replicas of the same primary that have more data.</summary>
    private int Rank()
    {
        long offset = server.Replicas.Stream.Offset;
        return State.Myself.Primary!.Replicas.Count(replica =>
            !replica.IsMyself && !replica.Has(NodeFlags.NoFailover) && replica.ReplicationOffset > offset);
    }

    /// <summary>
    /// Whether another replica may ask for votes at the same time: another one of the primary, or one of another primary that has failed.
    /// A voter has one vote for each epoch, so they must not begin together. A replica without rivals need not wait for that.
    /// </summary>
    private bool HasRivals() => State.All.Any(node =>
        !node.IsMyself && node.Primary is { IsFailed: true, Slots.Count: > 0 } && !node.IsFailed && !node.Has(NodeFlags.NoFailover));

    /// <summary>Whether this replica was without its primary for too long before the failure.</summary>
    private bool IsDataTooOld(long now)
    {
        long timeout = server.Config.ClusterNodeTimeout;
        if (server.Config.ClusterReplicaValidityFactor == 0) return false;
        Follower? follower = server.Role.Follower;
        long age = now - (server.Role.IsLinkUp ? follower!.LastInput : follower?.DownSince ?? 0);
        if (age > timeout) age -= timeout;
        return age > server.Config.ReplPingReplicaPeriod * 1000L + timeout * server.Config.ClusterReplicaValidityFactor;
    }
}
