using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Replication.Following;

/// <summary>
/// The role of the server: a primary, or a replica of another server. The role changes while every shard is held, so that a
/// command runs in one role from its beginning to its end.
/// </summary>
internal sealed class ReplicationRole(ServerCore server)
{
    private volatile Follower? _follower;
    private volatile bool _hasPart;
    private volatile bool _isOfOtherShard;

    /// <summary>Opens connections to primaries; null in a host that has no network. The host sets it.</summary>
    public IPrimaryConnector? Connector { get; set; }

    /// <summary>Called after a change of the role, while every shard is held. The host sets it.</summary>
    public Action Changed { get; set; } = static () => { };

    public ReplicaOf? Primary => server.Config.ReplicaOf;

    public bool IsReplica => server.Config.ReplicaOf is not null;

    /// <summary>Whether the writes of clients are refused.</summary>
    public bool IsReadOnly => IsReplica && server.Config.ReplicaReadOnly;

    /// <summary>Whether the stream of the primary is applied now. It is not while the link is down or all data is copied.</summary>
    public bool IsLinkUp => _follower is { State: LinkState.Connected };

    /// <summary>
    /// Whether clients are refused because the data may be out of date, or because it contains a part of a transaction.
    /// </summary>
    public bool RefusesStaleData => IsReplica && (_hasPart || !server.Config.ReplicaServeStaleData && !IsLinkUp);

    /// <summary>What this server removes itself if it is a writable replica.</summary>
    public LocalExpiries LocalExpiries { get; } = new(server);

    /// <summary>Whether a copy of the primary's data is loaded while the old data is served.</summary>
    public bool LoadsBeside => _follower is { LoadsBeside: true };

    /// <summary>The link to the primary, or null.</summary>
    public Follower? Follower => _follower;

    /// <summary>The database that the stream of the primary is in. It changes while every shard is held.</summary>
    public int StreamDatabase { get; set; }

    /// <summary>The history, and the next byte of its stream, to request from a primary; "?" and -1 for a copy of all data.</summary>
    public (string History, long From) Position =>
        server.Replicas.Stream.IsOpen ? (server.History.Id, server.Replicas.Stream.Offset + 1) : ("?", -1);

    public bool IsCurrent(Follower follower) => _follower == follower;

    /// <summary>The position of the data in its stream; null if there is no stream. The caller holds every shard.</summary>
    public StreamPosition? Reached
    {
        get
        {
            if (!server.Replicas.Stream.IsOpen) return null;
            (long offset, int database) = server.Replicas.Stream.End;
            return new StreamPosition(server.History.Id, offset, IsReplica ? StreamDatabase : database);
        }
    }

    /// <summary>
    /// Begins where the loaded data ends in its stream. A replica continues there; replicas of a primary continue from there, under
    /// a new name of the history.
    /// </summary>
    public void Resume(StreamPosition position)
    {
        if (IsReplica) server.History.Adopt(position.History);
        else server.History.BranchFrom(position.History, position.Offset);
        StreamDatabase = position.Database;
        server.Replicas.Resume(position.Offset, leads: !IsReplica);
    }

    /// <summary>Begins to follow the primary of the configuration, once the data is loaded.</summary>
    public void Begin()
    {
        if (IsReplica) server.Replicas.Stream.Obey();
        if (server.Config.ReplicaOf is { } primary && Connector is not null) Replace(primary);
    }

    /// <summary>Becomes a replica of a primary. The caller holds every shard.</summary>
    public void Follow(ReplicaOf primary)
    {
        try
        {
            BecomeReplica(primary);
        }
        catch (OutOfMemoryException failure)
        {
            // A server in the middle of two roles could neither follow nor lead.
            Fatal.End("the role of the server could not be changed", failure);
        }
    }

    private void BecomeReplica(ReplicaOf primary)
    {
        bool wasPrimary = !IsReplica;
        server.Config.ReplicaOf = primary;
        if (wasPrimary)
        {
            server.Effects.Detach(server.Replicas.Stream);
            server.Replicas.Stream.Obey();
            StreamDatabase = 0;
            foreach (Session session in server.Sessions.Unordered) session.Waiter?.Wake(WakeReason.RoleChanged);
        }
        // A target that has not accepted yet may still follow this server. After a crash, one of the two must be a primary.
        if (!server.Failover.IsInProgress) server.RoleFile.Keep();
        Changed();
        Replace(primary);
    }

    /// <summary>
    /// Becomes a primary. Its history shares that of its former primary, so replicas that followed either can continue here. They
    /// are disconnected, so that they learn the name of the new history. The caller holds every shard.
    /// </summary>
    public void Lead()
    {
        if (!IsReplica) return;
        try
        {
            BecomePrimary();
        }
        catch (OutOfMemoryException failure)
        {
            Fatal.End("the role of the server could not be changed", failure);
        }
    }

    private void BecomePrimary()
    {
        if (_hasPart) server.Log.LogCritical("This server becomes a primary with a part of a transaction of its former primary");
        _hasPart = false;
        server.Config.ReplicaOf = null;
        LocalExpiries.Clear();
        _follower?.Stop();
        _follower = null;
        server.History.Branch(server.Replicas.Stream.Offset);
        server.Replicas.Disconnect();
        server.Replicas.Lead();
        // The present data is that of the server from here on, also if it is empty because no copy could be loaded.
        server.Rewrites.RestoreSoon();
        server.RoleFile.Keep();
        Changed();
        server.Eviction.Look();
    }

    /// <summary>Notes that all data was copied from the primary. The caller holds every shard.</summary>
    public void Copied(Offer offer, int database)
    {
        server.History.Adopt(offer.History);
        server.Replicas.Restart(offer.Offset);
        LocalExpiries.Clear();
        _hasPart = _isOfOtherShard = false;
        StreamDatabase = database;
    }

    /// <summary>Notes that the primary continues the stream, perhaps under a new name. The caller holds every shard.</summary>
    public void Continue(string history)
    {
        if (history == server.History.Id) return;
        server.History.Rename(history, server.Replicas.Stream.Offset);
        server.Replicas.Disconnect();
    }

    /// <summary>
    /// Notes that a transaction of the primary was applied in part. Clients are refused until all data is copied again. The caller
    /// holds every shard.
    /// </summary>
    public void NotePart()
    {
        _hasPart = true;
        server.Log.LogCritical("A transaction of the primary was applied in part. Clients are refused until all data is copied again");
    }

    /// <summary>
    /// Makes a follower copy all data again, because the position in the stream is of no use. The caller holds every shard.
    /// </summary>
    public void ForgetPosition(Follower follower)
    {
        if (IsCurrent(follower)) server.Replicas.Close();
    }

    /// <summary>
    /// Notes that the data was deleted for a copy that could not be loaded. This server must not replace its primary with it. The caller
    /// holds every shard.
    /// </summary>
    public void LoseData(Follower follower)
    {
        ForgetPosition(follower);
        follower.DownSince = 0;
    }

    /// <summary>
    /// Makes the next follower begin as one whose link never was up, because the present data is not that of its primary's shard.
    /// </summary>
    public void ForgetAge() => _isOfOtherShard = true;

    public void Tend(long now) => _follower?.Tend(now);

    /// <summary>Ends the link at a shutdown. Nothing of the stream is applied after that.</summary>
    public void Stop()
    {
        _follower?.Stop();
        _follower = null;
    }

    private void Replace(ReplicaOf primary)
    {
        Follower? former = _follower;
        long downSince = former is null || _isOfOtherShard ? 0 : IsLinkUp ? former.LastInput : former.DownSince;
        former?.Stop();
        _isOfOtherShard = false;
        Follower follower = new(server, Connector!, primary) { DownSince = downSince };
        _follower = follower;
        server.Log.LogInformation("This server follows {Host}:{Port}", primary.Host, primary.Port);
        follower.Start();
    }
}
