using RedisClone.Engine.Commands;

namespace RedisClone.Engine.Clients;

/// <summary>The commands that CLIENT PAUSE delays.</summary>
internal enum PauseMode
{
    None,
    Write,
    All,
}

/// <summary>
/// CLIENT PAUSE, and the pause of writes during a failover or a shutdown. A connection whose next command is delayed waits here without a thread
/// and then checks the command again. During a pause no key expires and none is evicted.
/// </summary>
internal sealed class ClientPause : IDisposable
{
    /// <summary>Milliseconds.</summary>
    private const long LongestWait = 1000;

    private readonly Lock _gate = new();
    private readonly List<IClientConnection> _waiting = [];
    private readonly Timer _timer;
    private volatile PauseMode _mode;   // the stronger of the two pauses; each command reads it, the begin and end of a pause write it
    private PauseMode _asked;           // by CLIENT PAUSE
    private int _holders;               // failovers and shutdowns that pause writes
    private volatile bool _holdsTransfers;
    private long _until;

    public ClientPause() => _timer = new Timer(static self => ((ClientPause)self!).EndIfOver(), this, Timeout.Infinite, Timeout.Infinite);

    /// <summary>The only check on the hot path.</summary>
    public bool IsOn => _mode != PauseMode.None;

    public PauseMode Mode => _mode;

    public int WaitingClients
    {
        get
        {
            lock (_gate) return _waiting.Count;
        }
    }

    /// <summary>Begins or extends a pause. A pause in force is never shortened or weakened.</summary>
    public void Begin(long until, PauseMode mode)
    {
        lock (_gate)
        {
            _until = Math.Max(until, _asked != PauseMode.None ? _until : 0);
            if (_asked != PauseMode.All) _asked = mode;
            Combine();
            Arm();
        }
    }

    /// <summary>Ends the pause of CLIENT PAUSE. Writes stay paused while a failover or a shutdown holds them.</summary>
    public void End()
    {
        lock (_gate)
        {
            _asked = PauseMode.None;
            _timer.Change(Timeout.Infinite, Timeout.Infinite);
            Combine();
        }
    }

    /// <summary>Whether writes are paused until <see cref="ReleaseWrites"/>, so that replicas reach the end of the stream.</summary>
    public bool HoldsWrites => Volatile.Read(ref _holders) > 0;

    /// <summary>Pauses writes until <see cref="ReleaseWrites"/>.</summary>
    /// <param name="withTransfers">Whether a MIGRATE that has begun waits too, instead of removing its keys here. A shutdown needs it.</param>
    public void HoldWrites(bool withTransfers = false)
    {
        lock (_gate)
        {
            if (withTransfers) _holdsTransfers = true;
            _holders++;
            Combine();
        }
    }

    /// <summary>Whether a shutdown pauses writes. It waits for busy scripts, perhaps without an end.</summary>
    public bool IsForShutdown => _holdsTransfers;

    public void ReleaseWrites(bool withTransfers = false)
    {
        lock (_gate)
        {
            if (withTransfers) _holdsTransfers = false;
            _holders--;
            Combine(isWeaker: withTransfers);
        }
    }

    public bool HoldsBack(CommandFlags flags) =>
        _mode == PauseMode.All || _mode == PauseMode.Write && (flags & (CommandFlags.Write | CommandFlags.MayReplicate)) != 0;

    /// <summary>
    /// Whether a command with these flags waits now. Replicas are served, an aborted transaction only ends, and a MIGRATE ends what it has begun.
    /// </summary>
    public bool HoldsBack(Session session, CommandFlags flags) =>
        HoldsBack(flags) && !session.IsReplica && !session.IsPrimary && session.Transaction is not { Aborted: true }
        && (session.Migration is null || _holdsTransfers);

    /// <summary>Returns true if the connection will be resumed after the pause, or false if the pause is already over.</summary>
    internal bool Await(IClientConnection connection, CommandFlags flags)
    {
        lock (_gate)
        {
            if (!HoldsBack(flags)) return false;
            _waiting.Add(connection);
            return true;
        }
    }

    /// <summary>Resumes a waiting connection whose client has gone, so that it notices.</summary>
    internal void Forget(IClientConnection connection)
    {
        lock (_gate)
        {
            if (_waiting.Remove(connection)) connection.Resume();
        }
    }

    /// <summary>Lets the waiting connections check their commands again.</summary>
    internal void Reconsider()
    {
        lock (_gate)
        {
            foreach (IClientConnection connection in _waiting) connection.Resume();
            _waiting.Clear();
        }
    }

    public void Dispose() => _timer.Dispose();

    private void EndIfOver()
    {
        lock (_gate)
        {
            if (ServerCore.UnixMilliseconds() >= _until) End();
            else Arm();
        }
    }

    /// <summary>Combines the two pauses. If the result is weaker, the waiting connections check their commands again.</summary>
    private void Combine(bool isWeaker = false)
    {
        PauseMode mode = _holders > 0 && _asked == PauseMode.None ? PauseMode.Write : _asked;
        isWeaker |= mode < _mode;
        _mode = mode;
        if (isWeaker) Reconsider();
    }

    /// <summary>Looks at the clock again each second, because it may be set.</summary>
    private void Arm() => _timer.Change(Math.Clamp(_until - ServerCore.UnixMilliseconds(), 0, LongestWait), Timeout.Infinite);
}
