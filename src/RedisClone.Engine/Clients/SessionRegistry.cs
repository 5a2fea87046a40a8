using System.Collections.Concurrent;
using RedisClone.Scheduling;

namespace RedisClone.Engine.Clients;

/// <summary>All connected clients by id.</summary>
internal sealed class SessionRegistry
{
    private readonly ConcurrentDictionary<long, Session> _byId = new();
    private long _lastId;
    private int _count;

    public int Count => Volatile.Read(ref _count);

    public long NextId() => Interlocked.Increment(ref _lastId);

    public Session? Find(long id) => _byId.GetValueOrDefault(id);

    /// <summary>The sessions in the order of their connections.</summary>
    public IEnumerable<Session> All => _byId.Values.OrderBy(s => s.Id);

    /// <summary>The sessions without a copy of their list. A session that comes or goes meanwhile may be missing.</summary>
    public IEnumerable<Session> Unordered => _byId.Select(static entry => entry.Value);

    /// <summary>
    /// Waits until everything that clients have sent so far was received, on every event loop, so that a list of clients is up
    /// to date. It must not run on an event loop's thread.
    /// </summary>
    internal void AwaitArrivals()
    {
        long deadline = Environment.TickCount64 + (long)Limits.ArrivalPatience.TotalMilliseconds;
        bool hasMoved;
        do
        {
            var served = new List<(IClientConnection Connection, IEventLoop Loop)>();
            foreach (Session session in Unordered)
                if (session.Connection is { Loop: { } loop } connection) served.Add((connection, loop));
            var left = TimeSpan.FromMilliseconds(Math.Max(0, deadline - Environment.TickCount64));
            Task.WaitAll([.. served.Select(static at => at.Loop).Distinct().Select(static loop => loop.ReceiveAllAsync())], left);
            // A connection that has moved may have missed the rounds of both event loops.
            hasMoved = served.Any(static at => at.Connection.Loop != at.Loop);
        }
        while (hasMoved && Environment.TickCount64 < deadline);
    }

    internal void Add(Session session)
    {
        if (_byId.TryAdd(session.Id, session)) Interlocked.Increment(ref _count);
    }

    internal void Remove(Session session)
    {
        if (_byId.TryRemove(session.Id, out _)) Interlocked.Decrement(ref _count);
    }
}
