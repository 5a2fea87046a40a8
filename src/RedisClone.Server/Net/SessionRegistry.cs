using System.Collections.Concurrent;

namespace RedisClone.Server.Net;

/// <summary>All connected clients by id.</summary>
public sealed class SessionRegistry
{
    private readonly ConcurrentDictionary<long, Session> _byId = new();
    private long _lastId;
    private long _accepted;
    private long _rejected;

    public int Count => _byId.Count;

    public long Accepted => Volatile.Read(ref _accepted);

    public long Rejected => Volatile.Read(ref _rejected);

    public long NextId() => Interlocked.Increment(ref _lastId);

    public Session? Find(long id) => _byId.GetValueOrDefault(id);

    /// <summary>In the order of connecting.</summary>
    public IEnumerable<Session> All => _byId.Values.OrderBy(s => s.Id);

    internal void Add(Session session)
    {
        Interlocked.Increment(ref _accepted);
        _byId[session.Id] = session;
    }

    internal void Remove(Session session) => _byId.TryRemove(session.Id, out _);

    internal void CountRejected() => Interlocked.Increment(ref _rejected);
}
