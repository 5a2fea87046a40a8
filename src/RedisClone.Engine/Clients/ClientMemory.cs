using System.Numerics;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Replication;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Clients;

/// <summary>
/// The memory that all clients hold together. While the heap has a limit, or maxmemory or maxmemory-clients is set, each
/// connection reports its memory as it works. When maxmemory-clients or the clients' part of the heap is exceeded, the thread
/// that notices it disconnects the largest clients until the rest fits. Any thread may call it.
/// </summary>
internal sealed class ClientMemory(ServerCore server)
{
    /// <summary>The smallest effective limit. Below it, no client could use the server.</summary>
    private const long LeastLimit = 128 * 1024;

    /// <summary>The time until the next attempt after one that found no client to evict.</summary>
    private const long RestMilliseconds = 100;

    private const int HeldShift = 3;

    /// <summary>Clients that have not authenticated may hold this part of what clients may hold: a quarter.</summary>
    private const int StrangerShift = 2;

    /// <summary>An eviction frees an eighth more of the clients' part of the heap, so that evictions are rare.</summary>
    private const int FreedShift = 3;

    /// <summary>Size classes of clients for one power of two.</summary>
    private const int ClassBits = 3;
    private const int Classes = 64 << ClassBits;

    private readonly NoticeLimit _notices = new();

    // A client writes it when its memory changes beyond Limits.BytesPerConnection, so requests and replies of usual size do not touch it.
    private long _total;
    private long _leaving;              // of the total: clients that were disconnected and have not released their memory yet
    private long _strangers;            // of the total: clients that have not authenticated
    private long _held;
    private long _looked;               // the sum at the last check of whether data must be evicted
    private long _idle;                 // of all open connections
    private int _evicting;
    private long _restUntil;

    public bool IsWatched => Budget.LimitsClients || server.Config.MaxMemoryBytes > 0 || server.Config.MaxMemoryClients != 0;

    public long Total => Volatile.Read(ref _total);

    /// <summary>
    /// Whether subscriptions, watched keys and keys of blocked clients take more than their share of the heap.
    /// </summary>
    public bool IsHeldMuch => Volatile.Read(ref _held) > Budget.Limit >> HeldShift;

    /// <summary>
    /// Whether clients, those included that are being disconnected, hold more than their part of the heap. Commands that add to
    /// it are refused.
    /// </summary>
    public bool IsFull => Budget.LimitsClients && Budget.Clients > Budget.ClientLimit;

    /// <summary>
    /// Whether clients, those included that are being disconnected, hold a quarter more than their part of the heap. Commands with
    /// replies of any length are refused, because evicted clients release their memory later than other clients take more.
    /// </summary>
    public bool IsCrowded => Budget.LimitsClients && Budget.Clients > MostOf(Budget.ClientLimit);

    /// <summary>Bytes of clients that are being disconnected.</summary>
    public long Leaving => Volatile.Read(ref _leaving);

    /// <summary>Bytes of clients that have not authenticated.</summary>
    public long Strangers => Volatile.Read(ref _strangers);

    /// <summary>
    /// The sum without the memory of clients that are being disconnected. Data are not evicted to make room for those.
    /// </summary>
    public long Lasting
    {
        get
        {
            long lasting = Total - Leaving;
            return Volatile.Read(ref _evicting) == 0 ? lasting : Math.Min(lasting, Limit);
        }
    }

    private HeapBudget Budget => server.Shards.Budget;

    private long Limit => server.Config.MaxMemoryClientsBytes is > 0 and var limit ? Math.Max(limit, LeastLimit) : long.MaxValue;

    private long StrangerLimit => Budget.ClientLimit >> StrangerShift;

    /// <summary>Adds a change of the bytes of keys and channels that a client watches, waits for or listens to.</summary>
    public void HeldChanged(long bytes) => Interlocked.Add(ref _held, bytes);

    /// <summary>
    /// Counts a new connection, before memory is allocated for it. Returns false if the connection must be refused, because
    /// clients already hold their part of the heap. Connections alone may take three quarters of it.
    /// </summary>
    /// <param name="isLoop">
    /// Whether an event loop accepts the connection. It survives a failed allocation, so it lets a few clients in although memory is short:
    /// one of them may delete data.
    /// </param>
    /// <param name="bytes">The memory of the connection while it is idle.</param>
    public bool TryOpen(bool isLoop, int bytes = Limits.BytesPerConnection)
    {
        HeapBudget budget = Budget;
        if (budget.LimitsClients)
        {
            long most = budget.ClientLimit, idle = Volatile.Read(ref _idle);
            bool isFull = idle + bytes > most - most / 4 || budget.Clients > MostOf(most);
            // Kestrel's accept loop does not survive a failed allocation, so it gets no connection right after one.
            bool mayFail = isLoop && idle < Limits.ConnectionsWithoutReserve * Limits.BytesPerConnection;
            if (isFull || server.Failures.IsReserveOut && !mayFail)
            {
                server.Statistics.Count(RareEvent.RejectedConnection);
                return false;
            }
        }
        Interlocked.Add(ref _idle, bytes);
        Add(bytes);
        return true;
    }

    /// <summary>Removes a connection that <see cref="TryOpen"/> has counted.</summary>
    public void Closed(int bytes = Limits.BytesPerConnection)
    {
        Interlocked.Add(ref _idle, -bytes);
        Add(-bytes);
    }

    /// <summary>
    /// Counts the output of a replica, once, before it is sent data. Returns false if the replica must be refused because clients already hold
    /// their part of the heap.
    /// </summary>
    public bool TryFeed(Replica replica)
    {
        if (!Budget.LimitsClients || replica.CountedBytes > 0) return true;
        if (!TryOpen(isLoop: false, Limits.BytesPerReplica)) return false;
        replica.CountedBytes = Limits.BytesPerReplica;
        return true;
    }

    /// <summary>Removes the output of a replica that is gone.</summary>
    public void Fed(Replica replica)
    {
        if (replica.CountedBytes > 0) Closed(replica.CountedBytes);
        replica.CountedBytes = 0;
    }

    /// <summary>Counts a client again after it has grown or shrunk.</summary>
    public void Update(Session session)
    {
        long change = Count(session);
        if (change == 0) return;
        if (change > 0 && IsOver) EvictToLimit();
        if (server.Config.MaxMemoryBytes == 0) return;
        long total = Total;
        if (Math.Abs(total - Volatile.Read(ref _looked)) < Limits.NoticedGrowth) return;
        Volatile.Write(ref _looked, total);
        server.Eviction.Look();
    }

    /// <summary>
    /// Called when a client is disconnected. Its memory counts until <see cref="Forget"/>, but no further client is evicted for
    /// it.
    /// </summary>
    public void Leave(Session session)
    {
        long counted = Math.Max(0, Volatile.Read(ref session.CountedMemory));
        if (Interlocked.CompareExchange(ref session.LeavingMemory, counted, 0) != 0) return;
        Interlocked.Add(ref _leaving, counted);
        Interlocked.Add(ref _strangers, -Interlocked.Exchange(ref session.StrangerMemory, 0));
    }

    /// <summary>Removes a client that has released its memory from the sum. It is not counted again.</summary>
    public void Forget(Session session)
    {
        long counted = Interlocked.Exchange(ref session.CountedMemory, Session.Gone);
        if (counted > 0) Add(-counted);
        Interlocked.Add(ref _leaving, -Interlocked.Exchange(ref session.LeavingMemory, 0));
        Interlocked.Add(ref _strangers, -Interlocked.Exchange(ref session.StrangerMemory, 0));
    }

    /// <summary>
    /// Counts all clients again. It runs after a limit was set, and periodically, because other threads change a client's
    /// buffers.
    /// </summary>
    public void Recount()
    {
        if (!IsWatched) return;
        foreach (Session session in server.Sessions.Unordered) Count(session);
        if (IsOver) EvictToLimit();
    }

    /// <summary>
    /// Runs in each round of background work: counts the clients of a limited heap again. If the heap is full, it disconnects the
    /// clients that hold the most memory. Clients that hold little stay, unless all clients together hold much.
    /// </summary>
    public void Tend(bool isShortOfMemory)
    {
        if (Budget.LimitsClients) Recount();
        if (!isShortOfMemory) return;
        bool isMuch = Budget.LimitsClients && Budget.Clients > Budget.ClientLimit / 2;
        (int count, long bytes) = Evict(new Choice(Limits.FailureReserve, isMuch ? 1 : Limits.MuchForAClient));
        Notice("Out of memory.", count, bytes);
    }

    private bool IsOver => Total - Leaving > Limit || HeapExcess > 0 || StrangerExcess > 0;

    private long HeapExcess => Budget.LimitsClients ? Budget.Clients - Leaving - Budget.ClientLimit : 0;

    private long StrangerExcess => Budget.LimitsClients ? Strangers - StrangerLimit : 0;

    private void Add(long bytes)
    {
        Interlocked.Add(ref _total, bytes);
        if (Budget.LimitsClients) Budget.ClientsChanged(bytes);
    }

    /// <summary>
    /// The most that clients hold for a while beyond their part of the heap: the memory of clients that were just disconnected is
    /// not released yet.
    /// </summary>
    private static long MostOf(long part) => part + part / 4;

    /// <summary>Returns by how much the client has grown since it was last counted.</summary>
    private long Count(Session session)
    {
        long now = OwnMemoryOf(session);
        long before = Volatile.Read(ref session.CountedMemory);
        bool isStranger = session.MustAuthenticate;
        if (isStranger || Volatile.Read(ref session.StrangerMemory) != 0)
            CountStranger(session, isStranger && before >= 0 ? now : 0);
        // If another thread has counted the client meanwhile, or it is gone, that count stands.
        if (before == now || before < 0) return 0;
        if (Interlocked.CompareExchange(ref session.CountedMemory, now, before) != before) return 0;
        Add(now - before);
        return now - before;
    }

    private void CountStranger(Session session, long now) =>
        Interlocked.Add(ref _strangers, now - Interlocked.Exchange(ref session.StrangerMemory, now));

    /// <summary>
    /// The memory of a client beyond that of its connection. The output of a replica has a limit of its own. It must not cost
    /// other clients their data or their connections.
    /// </summary>
    private static long OwnMemoryOf(Session session) =>
        session.IsReplica ? 0 : Math.Max(0, ClientDescription.MemoryOf(session) - Limits.BytesPerConnection);

    private void EvictToLimit()
    {
        long now = Environment.TickCount64;
        if (now < Volatile.Read(ref _restUntil) || Interlocked.Exchange(ref _evicting, 1) != 0) return;
        try
        {
            // A client above its own limit must not cost others their connections, and one that has read its output since the
            // last count has not reported it.
            foreach (Session session in server.Sessions.Unordered)
                if (!session.Connection!.KillIfOverLimit()) Count(session);
            int evicted = EvictToConfigured() + EvictToPart();
            if (IsOver && evicted == 0) Volatile.Write(ref _restUntil, now + RestMilliseconds);
        }
        finally
        {
            Volatile.Write(ref _evicting, 0);
        }
    }

    private int EvictToConfigured()
    {
        long excess = Total - Leaving - Limit;
        return excess > 0 ? Evict(new Choice(excess, 1) { IsLogged = true }).Count : 0;
    }

    private int EvictToPart()
    {
        if (!Budget.LimitsClients) return 0;
        (int count, long bytes) = (0, 0);
        if (StrangerExcess is > 0 and var strange)
            (count, bytes) = Evict(new Choice(strange + (StrangerLimit >> FreedShift), 1) { OnlyStrangers = true });
        if (HeapExcess is > 0 and var excess)
        {
            (int more, long moreBytes) = Evict(new Choice(excess + (Budget.ClientLimit >> FreedShift), 1));
            (count, bytes) = (count + more, bytes + moreBytes);
            // CLIENT NO-EVICT is about maxmemory-clients. It does not protect a client from the limit of the heap.
            if (HeapExcess > 0)
            {
                (more, moreBytes) = Evict(new Choice(HeapExcess, 1) { AlsoProtected = true });
                (count, bytes) = (count + more, bytes + moreBytes);
            }
        }
        Notice("Clients hold more than their part of the heap.", count, bytes);
        return count;
    }

    private void Notice(string why, int count, long bytes)
    {
        if (count == 0 || !_notices.TryPass(Environment.TickCount64, out long leftOut)) return;
        server.Log.LogWarning(
            "{Why} Evicted {Count} clients, which held {Bytes} bytes. Such evictions since the last such line: {LeftOut}",
            why, count, bytes, leftOut);
    }

    /// <summary>The clients to disconnect: the largest, until they held so many bytes together.</summary>
    private readonly record struct Choice(long Bytes, long Least)
    {
        public bool IsLogged { get; init; }

        public bool OnlyStrangers { get; init; }

        public bool AlsoProtected { get; init; }

        public bool Includes(Session session) => !session.IsReplica && (AlsoProtected || !session.NoEvict)
            && (!OnlyStrangers || session.MustAuthenticate) && Volatile.Read(ref session.LeavingMemory) == 0;
    }

    /// <summary>
    /// Disconnects the chosen clients. It sums up the clients by classes of similar size, because sorting them would take
    /// memory when there is none.
    /// </summary>
    private (int Count, long Bytes) Evict(in Choice choice)
    {
        Span<long> classes = stackalloc long[Classes];
        classes.Clear();
        foreach (Session session in server.Sessions.Unordered)
        {
            if (choice.Includes(session) && OwnMemoryOf(session) is var held && held >= choice.Least)
                classes[ClassOf(held)] += held;
        }
        int last = Classes;
        long sum = 0;
        while (last > 0 && sum < choice.Bytes) sum += classes[--last];
        if (last == Classes) return default;
        // All clients of the larger classes go. Of the last class, as many go as are needed.
        long ofLast = choice.Bytes - (sum - classes[last]);
        (int count, long bytes) = (0, 0);
        foreach (Session session in server.Sessions.Unordered)
        {
            if (!choice.Includes(session) || OwnMemoryOf(session) is var held && held < choice.Least) continue;
            int size = ClassOf(held);
            if (size < last || size == last && ofLast <= 0) continue;
            if (size == last) ofLast -= held;
            if (choice.IsLogged) server.Log.LogInformation("Evicting client: {Client}", ClientDescription.Of(session));
            server.Statistics.Count(RareEvent.EvictedClient);
            session.Connection!.Kill();
            count++;
            bytes += held;
        }
        return (count, bytes);
    }

    /// <summary>The class of a size: its power of two, and the bits that follow the highest.</summary>
    private static int ClassOf(long bytes)
    {
        int log = BitOperations.Log2((ulong)bytes);
        int next = log >= ClassBits ? (int)(bytes >> (log - ClassBits)) : (int)(bytes << (ClassBits - log));
        return (log << ClassBits) + (next & ((1 << ClassBits) - 1));
    }
}
