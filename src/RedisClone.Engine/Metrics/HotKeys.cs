namespace RedisClone.Engine.Metrics;

/// <summary>
/// Hot key detection. At most one session is active; its result stays until it is dropped. If no session is active, the cost is
/// one field read.
/// </summary>
internal sealed class HotKeys
{
    private readonly Lock _gate = new();
    private volatile HotKeySession? _active;
    private HotKeySession? _last;

    /// <summary>The active session, or null.</summary>
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

    /// <summary>Stops the active session. Returns false if none is active.</summary>
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

    /// <summary>Drops the last result. Returns false while a session is active.</summary>
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

    /// <summary>The active session, or else the last one.</summary>
    public HotKeySession? Last(long now)
    {
        lock (_gate)
        {
            EndIfOver(now);
            return _last;
        }
    }

    /// <summary>Ends a session whose duration is over. Background work calls it periodically.</summary>
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
