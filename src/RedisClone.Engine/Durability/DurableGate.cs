using RedisClone.Engine.Clients;

namespace RedisClone.Engine.Durability;

/// <summary>
/// The connections without an event loop whose replies wait until the effects that they saw are durable.
/// </summary>
internal sealed class DurableGate
{
    private readonly Lock _gate = new();
    private readonly List<(long Lsn, IClientConnection Connection)> _waiting = [];
    private readonly List<IClientConnection> _released = [];
    private int _count;

    public bool Any => Volatile.Read(ref _count) != 0;

    public void Add(long lsn, IClientConnection connection)
    {
        lock (_gate)
        {
            // Release must not allocate, because it must not fail half way.
            _released.EnsureCapacity(_waiting.Count + 1);
            _waiting.Add((lsn, connection));
            Volatile.Write(ref _count, _waiting.Count);
        }
    }

    /// <summary>
    /// Resumes all connections whose replies are durable. One thread at a time calls it, on a thread where a connection may
    /// continue inline.
    /// </summary>
    public void Release(long durable)
    {
        lock (_gate)
        {
            for (int i = _waiting.Count - 1; i >= 0; i--)
            {
                if (_waiting[i].Lsn > durable) continue;
                _released.Add(_waiting[i].Connection);
                _waiting[i] = _waiting[^1];
                _waiting.RemoveAt(_waiting.Count - 1);
            }
            Volatile.Write(ref _count, _waiting.Count);
        }
        foreach (IClientConnection connection in _released) connection.ResumeHere();
        _released.Clear();
    }
}
