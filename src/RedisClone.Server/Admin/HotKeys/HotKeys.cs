namespace RedisClone.Server.Admin;

/// <summary>The watching of hot keys: at most one session at a time, whose result stays until it is dropped. Turned off, it costs a field read.</summary>
internal sealed class HotKeys
{
    private readonly Lock _gate = new();
    private volatile HotKeySession? _active;
    private HotKeySession? _last;

    /// <summary>Null while no session is active.</summary>
    public HotKeySession? Active => _active;

    public bool TryStart(HotKeyOptions options, long now)
    {
        lock (_gate)
        {
            EndIfOver(now);
            if (_active is not null) return false;
            _active = _last = new HotKeySession(options, now);
            return true;
        }
    }

    /// <summary>False when none is active.</summary>
    public bool Stop(long now)
    {
        lock (_gate)
        {
            EndIfOver(now);
            if (_active is not { } session) return false;
            session.Stop(now);
            _active = null;
            return true;
        }
    }

    /// <summary>False while one is active.</summary>
    public bool Reset(long now)
    {
        lock (_gate)
        {
            EndIfOver(now);
            if (_active is not null) return false;
            _last = null;
            return true;
        }
    }

    /// <summary>The active session or the last one.</summary>
    public HotKeySession? Last(long now)
    {
        lock (_gate)
        {
            EndIfOver(now);
            return _last;
        }
    }

    /// <summary>Called now and then: a session with a duration ends by itself.</summary>
    public void Tend(long now)
    {
        if (_active is null) return;
        lock (_gate) EndIfOver(now);
    }

    private void EndIfOver(long now)
    {
        if (_active is not { } session || !session.IsOver(now)) return;
        session.Stop(now);
        _active = null;
    }
}
