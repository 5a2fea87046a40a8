using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Cluster.Failover;

/// <summary>
/// CLUSTER FAILOVER: the primary pauses its writes, the replica waits until it has the whole stream, and then asks for votes. Nothing is
/// lost. The caller holds the lock of the cluster.
/// </summary>
internal sealed class ManualFailover(ServerCore server, ClusterMember cluster)
{
    private const int MigrationPoll = 10;   // milliseconds

    private const long Timeout = 5000;

    /// <summary>
    /// The replica takes over this long before the end, so that the primary hears of it before it accepts writes again.
    /// </summary>
    private const long Margin = 500;

    private long _endsAt;               // 0 while there is none
    private int _attempt;               // at the primary: counts the failovers
    private ClusterNode? _successor;    // at the primary: the replica that takes over
    private long _primaryOffset = -1;   // at the replica: the end of the stream of the primary
    private volatile bool _holdsWrites, _isQuiet;

    /// <summary>At the replica: whether it may ask for votes although its primary works.</summary>
    public bool MayStart { get; private set; }

    /// <summary>At the replica: whether the writes of the primary are still held back.</summary>
    public bool MayTakeOver(long now) => MayStart && now < _endsAt - Margin;

    /// <summary>At the primary: whether no write runs. A write that was admitted before waits.</summary>
    public bool HoldsWrites => _holdsWrites;

    /// <summary>At the primary: whether the last write has ended, so that the offset in messages is final.</summary>
    public bool IsQuiet => _isQuiet;

    /// <summary>Whether a replica waits for the final offset.</summary>
    public bool Waits(ClusterNode node) => _successor == node;

    /// <summary>At the replica: begins, by the request of a client.</summary>
    public void Begin(long now, bool isForced)
    {
        Reset();
        _endsAt = now + Timeout;
        MayStart = isForced;
        cluster.Election.Restart();
        if (isForced) cluster.State.Later(Pending.Election);
        else cluster.Bus.Send(cluster.State.Myself.Primary?.Link, MessageType.ManualFailoverStart, cluster.Bus.Messages.Plain(MessageType.ManualFailoverStart));
    }

    /// <summary>At the primary: begins, by the request of a replica.</summary>
    public void BeginFor(ClusterNode replica, BusLink link, long now)
    {
        Reset();
        server.Log.LogWarning("Manual failover requested by replica {Node}.", replica.Label);
        _endsAt = now + Timeout;
        int attempt = ++_attempt;
        _successor = replica;
        cluster.Migrations.Cancel(id: null, "Cancelled because a failover began");
        _holdsWrites = true;
        server.Pause.HoldWrites();
        ThreadPool.UnsafeQueueUserWorkItem(
            static state => state.Self.AwaitQuiet(state.Attempt, state.Link), (Self: this, Attempt: attempt, Link: link), preferLocal: false);
    }

    /// <summary>At the replica: notes the final offset of the primary.</summary>
    public void NotePausedAt(long offset)
    {
        if (_endsAt == 0 || _primaryOffset >= 0) return;
        _primaryOffset = offset;
        cluster.State.Later(Pending.ManualFailover);
        server.Log.LogInformation("Received replication offset for paused master manual failover: {Offset}", offset);
    }

    /// <summary>At the replica: starts the election once this replica has the whole stream.</summary>
    public void Advance()
    {
        if (_endsAt == 0 || MayStart || _primaryOffset < 0 || _primaryOffset != server.Replicas.Stream.Offset) return;
        MayStart = true;
        server.Log.LogInformation("All master replication stream processed, manual failover can start.");
        cluster.State.Later(Pending.Election);
    }

    public void Tend(long now)
    {
        if (_endsAt == 0 || now < _endsAt) return;
        server.Log.LogWarning("Manual failover timed out.");
        Reset();
    }

    public void Reset()
    {
        if (_holdsWrites) server.Pause.ReleaseWrites();
        (_endsAt, _successor, _primaryOffset, MayStart) = (0, null, -1, false);
        cluster.Takeover.DropManual();
        _holdsWrites = _isQuiet = false;
    }

    /// <summary>
    /// Waits until all shards were held once: every later write sees that writes are held back. A MIGRATE that has begun removes its keys
    /// first, otherwise both servers would keep them.
    /// </summary>
    private void AwaitQuiet(int attempt, BusLink link)
    {
        try
        {
            new HeldAction(server.Shards, static () => { }).RunAndWait();
            while (_holdsWrites && attempt == Volatile.Read(ref _attempt) && server.MigrationLinks.Running > 0) Thread.Sleep(MigrationPoll);
            lock (cluster.Gate)
            {
                if (!_holdsWrites || attempt != _attempt) return;
                _isQuiet = true;
                cluster.Bus.SendPing(link, MessageType.Ping);
            }
        }
        catch (Exception bug)
        {
            server.Failures.WorkFailed("A manual failover failed unexpectedly", bug);
        }
    }
}
