using RedisClone.Configuration;
using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Replication;

/// <summary>The states of a failover that FAILOVER began.</summary>
internal enum FailoverState
{
    None,

    /// <summary>Writes are paused until a replica has the whole stream.</summary>
    WaitsForSync,

    /// <summary>This server is a replica already and asks its new primary to take over.</summary>
    InProgress,
}

/// <summary>
/// FAILOVER: hands the role of the primary over to a replica. Writes are paused until the replica has acknowledged the whole
/// stream. Then this server becomes a replica of it while every shard is held, so that no write falls between.
/// </summary>
internal sealed class Failover
{
    private readonly ServerCore _server;
    private readonly HeldTask _move;
    private volatile FailoverState _state;
    private ReplicaOf? _target;
    private long _deadline;             // in Unix milliseconds; 0 for none
    private bool _isForced;
    private bool _hasAsked;

    public Failover(ServerCore server)
    {
        _server = server;
        _move = new HeldTask(server, Move, "FAILOVER failed unexpectedly");
    }

    public FailoverState State => _state;

    public bool IsOn => _state != FailoverState.None;

    /// <summary>Whether the primary that this server follows is asked to take over.</summary>
    public bool IsInProgress => _state == FailoverState.InProgress;

    /// <summary>Pauses writes and waits for a replica.</summary>
    /// <param name="target">The replica; null for the first that has the whole stream.</param>
    /// <param name="deadline">The end of the wait in Unix milliseconds; 0 for none.</param>
    /// <param name="isForced">Whether the target takes over at the deadline even if it lacks a part of the stream.</param>
    public void Begin(ReplicaOf? target, long deadline, bool isForced)
    {
        if (target is null) _server.Log.LogInformation("FAILOVER requested to any replica.");
        else _server.Log.LogInformation("FAILOVER requested to {Host}:{Port}.", target.Host, target.Port);
        (_target, _deadline, _isForced, _state) = (target, deadline, isForced, FailoverState.WaitsForSync);
        _server.Pause.HoldWrites();
    }

    /// <summary>
    /// Ends the failover without a new primary. The caller holds every shard, because this server may be a replica already.
    /// </summary>
    public void Abort(string why)
    {
        FailoverState state = _state;
        if (state == FailoverState.None) return;
        if (_target is { } target) _server.Log.LogInformation("FAILOVER to {Host}:{Port} aborted: {Why}", target.Host, target.Port, why);
        else _server.Log.LogInformation("FAILOVER to any replica aborted: {Why}", why);
        if (state == FailoverState.InProgress) _server.Role.Lead();
        End();
    }

    /// <summary>Notes a request to the target. True for the first: the target is still a replica then.</summary>
    public bool NoteRequest()
    {
        bool isFirst = !_hasAsked;
        _hasAsked = true;
        return isFirst;
    }

    /// <summary>Notes that the target has taken over. The caller holds every shard.</summary>
    public void Accepted()
    {
        if (_state != FailoverState.InProgress) return;
        End();
        _server.RoleFile.Keep();
    }

    /// <summary>Hands the role over once a replica has the whole stream; called at acknowledgements and in every round.</summary>
    public void Tend(long now)
    {
        if (_state != FailoverState.WaitsForSync) return;
        bool isLate = _deadline > 0 && now >= _deadline;
        if (isLate || Synced() is not null) _move.Begin();
    }

    public Replica? Find(string host, int port) => _server.Replicas.All.FirstOrDefault(replica => replica.IsAt(host, port));

    private Replica? Synced()
    {
        long offset = _server.Replicas.Stream.Offset;
        bool HasAll(Replica replica) => replica.State == ReplicaState.Follows && replica.Acknowledged == offset;
        if (_target is { } target) return Find(target.Host, target.Port) is { } wanted && HasAll(wanted) ? wanted : null;
        return _server.Replicas.All.FirstOrDefault(HasAll);
    }

    private void Move()
    {
        if (_state != FailoverState.WaitsForSync) return;
        bool isLate = _deadline > 0 && ServerCore.UnixMilliseconds() >= _deadline;
        if (isLate && !_isForced)
        {
            Abort("Replica never caught up before timeout");
            return;
        }
        if (isLate)
        {
            _server.Log.LogInformation("FAILOVER to {Host}:{Port} time out exceeded, failing over.", _target!.Host, _target.Port);
            _server.Replicas.Stream.Obey();
        }
        else
        {
            // A transfer that has begun removes its keys here first. Otherwise both servers would keep them.
            if (_server.MigrationLinks.Running > 0) return;
            // The last test is under the lock of the stream: a published message may still be appended without a hold.
            if (Synced() is not { } replica || !_server.Replicas.Stream.TryObeyAt(replica.Acknowledged)) return;
            _target ??= new ReplicaOf(replica.Host, replica.ListeningPort);
            _server.Log.LogInformation("Failover target {Host}:{Port} is synced, failing over.", _target.Host, _target.Port);
        }
        _state = FailoverState.InProgress;
        _server.Role.Follow(_target!);
    }

    private void End()
    {
        (_target, _deadline, _isForced, _hasAsked, _state) = (null, 0, false, false, FailoverState.None);
        _server.Pause.ReleaseWrites();
    }
}
