using RedisClone.Engine.Metrics;

namespace RedisClone.Engine.Clients;

/// <summary>
/// The memory that all clients hold together. While maxmemory or maxmemory-clients is set, each connection reports its memory as
/// it works. When maxmemory-clients is exceeded, the largest clients are disconnected until the rest fits.
/// </summary>
internal sealed class ClientMemory(ServerCore server)
{
    /// <summary>The smallest effective limit. Below it, no client could use the server.</summary>
    private const long LeastLimit = 128 * 1024;

    /// <summary>The time until the next attempt after an eviction that could not reach the limit.</summary>
    private const long RestMilliseconds = 100;

    private const int HeldShift = 3;

    private long _total;
    private long _held;
    private long _looked;               // the sum at the last check of whether data must be evicted
    private int _evicting;
    private long _restUntil;

    public bool IsWatched => server.Config.MaxMemoryBytes > 0 || server.Config.MaxMemoryClients != 0;

    public long Total => Volatile.Read(ref _total);

    /// <summary>
    /// Whether subscriptions, watched keys and keys of blocked clients take more than their share of the heap.
    /// </summary>
    public bool IsHeldMuch => Volatile.Read(ref _held) > server.Shards.Budget.Limit >> HeldShift;

    /// <summary>Adds a change of the bytes of keys and channels that a client watches, waits for or listens to.</summary>
    public void HeldChanged(long bytes) => Interlocked.Add(ref _held, bytes);

    /// <summary>
    /// The sum without the memory of clients that are being disconnected. Data are not evicted to make room for those.
    /// </summary>
    public long Lasting => Volatile.Read(ref _evicting) == 0 ? Total : Math.Min(Total, Limit);

    private long Limit => server.Config.MaxMemoryClientsBytes is > 0 and var limit ? Math.Max(limit, LeastLimit) : long.MaxValue;

    /// <summary>Counts a client again after it has grown or shrunk. Any thread may call it.</summary>
    public void Update(Session session)
    {
        long change = Count(session);
        if (change == 0) return;
        if (change > 0 && Total > Limit) EvictToLimit();
        long total = Total;
        if (Math.Abs(total - Volatile.Read(ref _looked)) < Limits.NoticedGrowth) return;
        Volatile.Write(ref _looked, total);
        server.Eviction.Look();
    }

    /// <summary>Removes a client that has gone from the sum.</summary>
    public void Forget(Session session) => Interlocked.Add(ref _total, -Interlocked.Exchange(ref session.CountedMemory, 0));

    /// <summary>
    /// Counts all clients again. It runs after a limit was set, and periodically, because other threads change a client's
    /// buffers.
    /// </summary>
    public void Recount()
    {
        if (!IsWatched) return;
        CountAll();
        if (Total > Limit) EvictToLimit();
    }

    /// <summary>
    /// Disconnects the clients that hold the most memory, because the heap is full, until they held the given number of bytes
    /// together. Clients that hold little stay.
    /// </summary>
    public void EvictLargest(long bytes)
    {
        foreach (Session session in LargestFirst())
        {
            long held = ClientDescription.MemoryOf(session);
            if (bytes <= 0 || held < Limits.MuchForAClient) break;
            bytes -= held;
            server.Log.LogWarning("Out of memory. Evicting client: {Client}", ClientDescription.Of(session));
            Evict(session);
        }
    }

    /// <summary>The clients that may be evicted.</summary>
    private Session[] LargestFirst() =>
        [.. server.Sessions.Unordered.Where(session => !session.NoEvict && !session.IsReplica).OrderByDescending(ClientDescription.MemoryOf)];

    private void Evict(Session session)
    {
        server.Statistics.Count(RareEvent.EvictedClient);
        session.Connection!.Kill();
    }

    private void CountAll()
    {
        foreach (Session session in server.Sessions.Unordered) Count(session);
    }

    /// <summary>Returns by how much the client has grown since it was last counted.</summary>
    private long Count(Session session)
    {
        // The output of a replica has a limit of its own. It must not cost other clients their data or their connections.
        long now = session.IsReplica ? 0 : ClientDescription.MemoryOf(session);
        long change = now - Interlocked.Exchange(ref session.CountedMemory, now);
        if (change != 0) Interlocked.Add(ref _total, change);
        return change;
    }

    private void EvictToLimit()
    {
        long now = Environment.TickCount64;
        if (now < Volatile.Read(ref _restUntil) || Interlocked.Exchange(ref _evicting, 1) != 0) return;
        try
        {
            // A client that has read its output since the last count has not reported it.
            CountAll();
            foreach (Session session in LargestFirst())
            {
                if (Total <= Limit) break;
                server.Log.LogInformation("Evicting client: {Client}", ClientDescription.Of(session));
                Evict(session);
            }
            if (Total > Limit) Volatile.Write(ref _restUntil, now + RestMilliseconds);
        }
        finally
        {
            Volatile.Write(ref _evicting, 0);
        }
    }
}
