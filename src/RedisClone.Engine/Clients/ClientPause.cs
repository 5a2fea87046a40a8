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
/// CLIENT PAUSE. A connection whose next command is delayed waits here without a thread and then checks the command again.
/// During a pause no key expires and none is evicted.
/// </summary>
internal sealed class ClientPause : IDisposable
{
    private readonly Lock _gate = new();
    private readonly List<IClientConnection> _waiting = [];
    private readonly Timer _timer;
    private volatile PauseMode _mode;
    private long _until;

    public ClientPause() => _timer = new Timer(static self => ((ClientPause)self!).EndIfOver(), this, Timeout.Infinite, Timeout.Infinite);

    /// <summary>The only check on the hot path.</summary>
    public bool IsOn => _mode != PauseMode.None;

    public PauseMode Mode => _mode;

    /// <summary>The end of the pause in Unix milliseconds, or 0 if no pause is on.</summary>
    public long Until => IsOn ? Volatile.Read(ref _until) : 0;

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
            _until = Math.Max(until, IsOn ? _until : 0);
            if (_mode != PauseMode.All) _mode = mode;
            Arm();
        }
    }

    public void End()
    {
        lock (_gate)
        {
            _mode = PauseMode.None;
            _timer.Change(Timeout.Infinite, Timeout.Infinite);
            foreach (IClientConnection connection in _waiting) connection.Resume();
            _waiting.Clear();
        }
    }

    public bool HoldsBack(CommandFlags flags) =>
        _mode == PauseMode.All || _mode == PauseMode.Write && (flags & (CommandFlags.Write | CommandFlags.MayReplicate)) != 0;

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

    public void Dispose() => _timer.Dispose();

    private void EndIfOver()
    {
        lock (_gate)
        {
            if (ServerCore.UnixMilliseconds() >= _until) End();
            else Arm();
        }
    }

    private void Arm() =>
        _timer.Change(Math.Clamp(_until - ServerCore.UnixMilliseconds(), 0, uint.MaxValue - 2), Timeout.Infinite);
}
