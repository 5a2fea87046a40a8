using System.Diagnostics;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Storage;

namespace RedisClone.Engine.Execution;

/// <summary>
/// Serves blocked clients in the order in which they blocked. It runs within the command that makes their keys ready, so that no
/// other command sees the keys in between.
/// </summary>
internal sealed class BlockedClients(ServerCore server)
{
    // Each write command reads it. It changes when a client blocks or is served.
    private int _blocked;

    /// <summary>The number of clients that are blocked now.</summary>
    public int Count => Volatile.Read(ref _blocked);

    public void Entered() => Interlocked.Increment(ref _blocked);

    public void Left() => Interlocked.Decrement(ref _blocked);

    /// <summary>
    /// Whether a write must hold more shards before its first effect: those of the clients that it may wake, and of the clients
    /// that these may wake in turn. The command then releases its shards and takes all of <paramref name="needed"/> in ascending
    /// order.
    /// </summary>
    public bool MustWiden(ref CommandContext c, out ShardSet needed)
    {
        needed = default;
        if (Count == 0 || c.HoldsAllShards) return false;
        needed = Closure(ref c);
        return !c.Held.ContainsAll(needed);
    }

    /// <summary>
    /// Serves the clients that wait for the keys that the last command made ready. The caller holds the command's shards.
    /// </summary>
    public void Serve(Lane lane, in ShardSet held)
    {
        // A key may have expired since, because the command may have taken long.
        long now = ServerCore.UnixMilliseconds();
        long started = server.Latency.Start();
        for (int i = 0; i < lane.ReadyKeys.Count; i++)
        {
            (Shard shard, DatabaseKey key) = lane.ReadyKeys[i];
            while (NextWaiter(shard, key, lane, now, held) is { } waiter) ServeOne(waiter, lane, now, held);
        }
        lane.ForgetReady();
        server.Latency.End(LatencyEvents.Unblocking, started);
    }

    /// <summary>Claims and returns the first waiter in the queue that the present value of the key can serve, or null.</summary>
    private Waiter? NextWaiter(Shard shard, in DatabaseKey key, Lane lane, long now, in ShardSet held)
    {
        if (shard.Keys.WaitersOf(key.Database, key.Key) is not { } queue) return null;
        // The command of a client that is served may make the key ready again.
        queue.Noted = default;
        Entry entry = shard.Store.Database(key.Database).Find(key.Key, server.Shards.HashOf(key.Key));
        if (entry.Exists && entry.Expiry != 0 && entry.Expiry <= now && server.ExpiryEnabled)
        {
            if (!server.Role.IsReplica)
            {
                lane.BeginUnit();
                server.KeyEvents.Expire(entry, key.Database, lane);
                server.Executor.PlaceOwnUnit(shard, lane);
            }
            entry = entry.Keyspace.Absent(entry.Hash);
        }
        foreach (Waiter waiter in queue)
        {
            if (waiter.IsClaimed) continue;
            bool hasValue = entry.Exists && entry.Type == waiter.Wanted;
            if (hasValue ? waiter.Test is not null && !waiter.Test(entry, waiter) : !waiter.ServedWithoutValue) continue;
            // Expiry and eviction hold only the shard of the key, so the client's command runs again.
            if (!held.ContainsAll(waiter.Shards) || server.MigrationLinks.MustWait(waiter)) waiter.Wake(WakeReason.Again);
            else if (waiter.TryClaim(WakeReason.Served)) return waiter;
        }
        return null;
    }

    /// <summary>
    /// Runs the command of a claimed client. The claim gives this thread the client's session until the connection resumes.
    /// </summary>
    private void ServeOne(Waiter waiter, Lane lane, long now, in ShardSet held)
    {
        Session session = waiter.Session;
        IClientConnection connection = session.Connection!;
        bool journalled = server.Effects.Wanted;
        bool answered = false;
        try
        {
            for (int i = waiter.Shards.Next(0); i >= 0; i = waiter.Shards.Next(i + 1)) server.Shards[i].Keys.RemoveWaiter(waiter);
            long started = Stopwatch.GetTimestamp();
            CommandRow row = connection.CurrentRow;
            Request request = connection.CurrentRequest;
            lane.BeginUnit();
            if (!session.User.IsUnrestricted && server.Access.Refuse(session, row, request) is { } denial)
            {
                Executor.Reject(session, row, denial, lane);
            }
            else
            {
                ulong hash = row.HashOfFirstKey(request, server.Shards);
                var context = new CommandContext(session, row, request, hash, lane, held, now, cannotMove: true);
                server.Executor.RunPart(ref context, ref started);
            }
            answered = true;
        }
        finally
        {
            try
            {
                // Without a reply, the client would take the next reply for the reply to this command.
                if (!answered) connection.Kill();
                server.Executor.EndUnit(session, lane, held, journalled);
            }
            finally
            {
                // Nothing else resumes a claimed client.
                connection.Resume();
            }
        }
    }

    /// <summary>Returns the held shards, and the shards of every client that could be woken through them.</summary>
    private ShardSet Closure(ref CommandContext c)
    {
        ref readonly ShardSet held = ref c.Held;
        ShardSet needed = held;
        if (c.Row.Keys.Length == 0)
        {
            // The arguments do not name the keys that a transaction changes, so every client that waits in its shards counts.
            for (int i = held.Next(0); i >= 0; i = held.Next(i + 1)) server.Shards[i].Keys.AddShardsOfWaiters(ref needed);
            return needed;
        }
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        WrittenKeys? written = null;
        bool anyDatabase = c.Row.Has(CommandFlags.AnyDatabase | CommandFlags.RunsScript);
        if (c.Row.CollectKeys(c.Args, ref positions))
            for (int i = 0; i < positions.Count; i++)
            {
                ReadOnlySpan<byte> key = c.Args[positions[i]];
                if (anyDatabase) AddWaitersOfAll(held, key, ref needed, ref written);
                else AddWaiters(held, c.Session.Database, key, ref needed, ref written);
            }
        positions.Dispose();
        while (written is not null && written.TryNext(out DatabaseKey key)) AddWaiters(held, key.Database, key.Key, ref needed, ref written);
        return needed;
    }

    /// <summary>Adds the waiters of a key in every database.</summary>
    private void AddWaitersOfAll(in ShardSet held, ReadOnlySpan<byte> key, ref ShardSet needed, ref WrittenKeys? written)
    {
        Shard shard = server.Shards.Of(server.Shards.HashOf(key));
        if (!held.Contains(shard.Index)) return;
        for (int database = 0; database < shard.Keys.AwaitedDatabases; database++) AddWaiters(held, database, key, ref needed, ref written);
    }

    private void AddWaiters(in ShardSet held, int database, ReadOnlySpan<byte> key, ref ShardSet needed, ref WrittenKeys? written)
    {
        Shard shard = server.Shards.Of(server.Shards.HashOf(key));
        // A shard that is not held yet is checked when it is.
        if (!held.Contains(shard.Index) || shard.Keys.WaitersOf(database, key) is not { } queue) return;
        foreach (Waiter waiter in queue)
        {
            needed.Add(waiter.Shards);
            // Only a command that writes can wake further clients.
            foreach (DatabaseKey next in waiter.Written) (written ??= new WrittenKeys()).Add(next);
        }
    }

    /// <summary>
    /// Keys that woken clients will write to, each once. Thousands of workers may wait for one queue and move elements to the
    /// same other key.
    /// </summary>
    private sealed class WrittenKeys
    {
        private readonly HashSet<DatabaseKey> _known = new(DatabaseKeyComparer.Instance);
        private readonly Stack<DatabaseKey> _next = new();

        public void Add(in DatabaseKey key)
        {
            if (_known.Add(key)) _next.Push(key);
        }

        public bool TryNext(out DatabaseKey key) => _next.TryPop(out key);
    }
}
