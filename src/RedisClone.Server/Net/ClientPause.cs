using RedisClone.Server.Commands;

namespace RedisClone.Server.Net;

/// <summary>Which commands CLIENT PAUSE holds back.</summary>
internal enum PauseMode
{
    None,
    Write,
    All,
}

/// <summary>
/// CLIENT PAUSE. A connection whose next command is held back waits here without a thread and then looks at the command again.
/// While it lasts nothing expires and nothing is evicted: the data stand still.
/// </summary>
internal sealed class ClientPause : IDisposable
{
    private readonly Lock _gate = new();
    private readonly List<Connection> _waiting = [];
    private readonly Timer _timer;
    private volatile PauseMode _mode;
    private long _until;

    public ClientPause() => _timer = new Timer(static self => ((ClientPause)self!).EndIfOver(), this, Timeout.Infinite, Timeout.Infinite);

    /// <summary>All that the hot path looks at.</summary>
    public bool IsOn => _mode != PauseMode.None;

    public PauseMode Mode => _mode;

    /// <summary>Unix milliseconds at which it ends; 0 when there is none.</summary>
    public long Until => IsOn ? Volatile.Read(ref _until) : 0;

    public int WaitingClients
    {
        get
        {
            lock (_gate) return _waiting.Count;
        }
    }

    /// <summary>A pause in force is neither shortened nor weakened.</summary>
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
            foreach (Connection connection in _waiting) connection.Resume();
            _waiting.Clear();
        }
    }

    public bool HoldsBack(CommandFlags flags) =>
        _mode == PauseMode.All || _mode == PauseMode.Write && (flags & (CommandFlags.Write | CommandFlags.MayReplicate)) != 0;

    /// <summary>True: the connection will be resumed when the pause is over. False: it is over already.</summary>
    internal bool Await(Connection connection, CommandFlags flags)
    {
        lock (_gate)
        {
            if (!HoldsBack(flags)) return false;
            _waiting.Add(connection);
            return true;
        }
    }

    /// <summary>A waiting client is gone: it goes on at once, to find out.</summary>
    internal void Forget(Connection connection)
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
