using Microsoft.Extensions.Logging;
using RedisClone.Server.Admin;

namespace RedisClone.Server.Net;

/// <summary>
/// What all clients hold together: each connection tells what it has come to, at the turns of its work, while something goes by the sum
/// (maxmemory or maxmemory-clients). When the clients' own limit is passed, the largest are disconnected until the rest fits.
/// </summary>
internal sealed class ClientMemory(ServerCore server)
{
    /// <summary>Below it nobody could talk to the server any more.</summary>
    private const long LeastLimit = 128 * 1024;

    /// <summary>Where nobody may be disconnected, it is not tried again at once.</summary>
    private const long RestMilliseconds = 100;

    private const int HeldShift = 3;

    private long _total;
    private long _held;
    private long _looked;               // the sum when it was last asked whether it leaves the data their room
    private int _evicting;
    private long _restUntil;

    public bool IsWatched => server.Config.MaxMemoryBytes > 0 || server.Config.MaxMemoryClients != 0;

    public long Total => Volatile.Read(ref _total);

    /// <summary>Subscriptions, watched keys and keys that blocked clients wait for take their part of the heap.</summary>
    public bool IsHeldMuch => Volatile.Read(ref _held) > server.Shards.Budget.Limit >> HeldShift;

    /// <summary>The names that a client listens to or watches have come to more or fewer bytes.</summary>
    public void HeldChanged(long bytes) => Interlocked.Add(ref _held, bytes);

    /// <summary>The sum without what is about to go: for that, no data have to.</summary>
    public long Lasting => Volatile.Read(ref _evicting) == 0 ? Total : Math.Min(Total, Limit);

    private long Limit => server.Config.MaxMemoryClientsBytes is > 0 and var limit ? Math.Max(limit, LeastLimit) : long.MaxValue;

    /// <summary>A client has grown or shrunk; any thread may say so.</summary>
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

    /// <summary>A client is gone.</summary>
    public void Forget(Session session) => Interlocked.Add(ref _total, -Interlocked.Exchange(ref session.CountedMemory, 0));

    /// <summary>Counts everybody again: after a limit was set, and now and then, for what others did to a client's buffers.</summary>
    public void Recount()
    {
        if (!IsWatched) return;
        CountAll();
        if (Total > Limit) EvictToLimit();
    }

    /// <summary>
    /// Disconnects the clients that hold the most memory, until they have held so many bytes: the heap is full. Clients that hold
    /// little stay.
    /// </summary>
    public void EvictLargest(long bytes)
    {
        foreach (Session session in server.Sessions.Unordered.OrderByDescending(ClientDescription.MemoryOf).ToArray())
        {
            long held = ClientDescription.MemoryOf(session);
            if (bytes <= 0 || held < Limits.MuchForAClient) break;
            if (session.NoEvict || session.IsReplica) continue;
            bytes -= held;
            server.Statistics.Count(RareEvent.EvictedClient);
            server.Log.LogWarning("Out of memory. Evicting client: {Client}", ClientDescription.Of(session));
            session.Connection!.Kill();
        }
    }

    private void CountAll()
    {
        foreach (Session session in server.Sessions.Unordered) Count(session);
    }

    /// <summary>By how much it has grown since it was counted last.</summary>
    private long Count(Session session)
    {
        // What waits for a replica must not cost others their data or their connections; it has a limit of its own.
        long now = session.IsReplica ? 0 : ClientDescription.MemoryOf(session);
        long change = now - Interlocked.Exchange(ref session.CountedMemory, now);
        if (change != 0) Interlocked.Add(ref _total, change);
        return change;
    }

    private void EvictToLimit()
    {
        long now = Environment.TickCount64;
        if (now < Volatile.Read(ref _restUntil) || Interlocked.Exchange(ref _evicting, 1) != 0) return;
        // Who has read by now what was sent has not said so.
        CountAll();
        foreach (Session session in server.Sessions.Unordered.OrderByDescending(ClientDescription.MemoryOf).ToArray())
        {
            if (Total <= Limit) break;
            if (session.NoEvict || session.IsReplica) continue;
            server.Statistics.Count(RareEvent.EvictedClient);
            server.Log.LogInformation("Evicting client: {Client}", ClientDescription.Of(session));
            session.Connection!.Kill();
        }
        if (Total > Limit) Volatile.Write(ref _restUntil, now + RestMilliseconds);
        Volatile.Write(ref _evicting, 0);
    }
}
