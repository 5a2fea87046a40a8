using RedisClone.Engine.Clients;
using RedisClone.Engine.Effects;
using RedisClone.Storage;

namespace RedisClone.Engine.Shards;

/// <summary>
/// What a shard knows about its keys beyond their values: the clients that are blocked on them or watch them. Like the store,
/// it is accessed only by the thread that holds the shard.
/// </summary>
internal sealed class ShardKeys(Shard shard)
{
    private readonly KeyMap<WaiterQueue> _waiters = new();
    private readonly KeyMap<List<Watch>> _watchers = new();

    public Shard Shard => shard;

    /// <summary>The keys that each client with tracking has read; null until the first such read.</summary>
    internal ReaderTable? Readers { get; set; }

    public bool HasWaiters => _waiters.Count > 0;

    public bool HasWatchers => _watchers.Count > 0;

    public int WatchedKeys => _watchers.Count;

    public int BlockedKeys => _waiters.Count;

    /// <summary>All databases that ever had a waiter are below this number.</summary>
    public int AwaitedDatabases { get; private set; }

    /// <summary>The number of keys with at least one waiter that is also served when the key is gone.</summary>
    public int BlockedKeysWithoutValue { get; private set; }

    internal void AddWaiter(Waiter waiter, int database, ReadOnlySpan<byte> key)
    {
        if (!_waiters.TryGet(database, key, out WaiterQueue? queue)) _waiters.Set(database, key, queue = []);
        AwaitedDatabases = Math.Max(AwaitedDatabases, database + 1);
        // A command that names a key twice registers twice in a row, so its waiter is still the last of the queue.
        if (queue is [.., var last] && last == waiter) return;
        // The waiter records the key before the queue records the waiter. If an allocation fails in between, no queue has a
        // waiter that cannot be removed.
        try
        {
            waiter.Keys.Add((shard.Index, new DatabaseKey(database, key.ToArray())));
            waiter.Session.HeldBytes += Limits.BytesOfWait + key.Length;
            queue.Add(waiter);
        }
        catch (OutOfMemoryException)
        {
            if (queue.Count == 0) _waiters.Remove(database, key);
            throw;
        }
        if (waiter.ServedWithoutValue && queue.ServedWithoutValue++ == 0) BlockedKeysWithoutValue++;
    }

    /// <summary>Removes a waiter from all its queues in this shard.</summary>
    internal void RemoveWaiter(Waiter waiter)
    {
        // One pass over the keys, because a command may wait for very many.
        List<(int Shard, DatabaseKey Key)> keys = waiter.Keys;
        int kept = 0;
        for (int i = 0; i < keys.Count; i++)
        {
            if (keys[i].Shard != shard.Index)
            {
                keys[kept++] = keys[i];
                continue;
            }
            Leave(waiter, keys[i].Key);
            waiter.Session.HeldBytes -= Limits.BytesOfWait + keys[i].Key.Key.Length;
        }
        keys.RemoveRange(kept, keys.Count - kept);
    }

    private void Leave(Waiter waiter, in DatabaseKey key)
    {
        if (!_waiters.TryGet(key.Database, key.Key, out WaiterQueue? queue)) return;
        if (queue.Remove(waiter) && waiter.ServedWithoutValue && --queue.ServedWithoutValue == 0) BlockedKeysWithoutValue--;
        if (queue.Count == 0) _waiters.Remove(key.Database, key.Key);
    }

    /// <summary>The waiters of a key, in the order in which they came.</summary>
    internal WaiterQueue? WaitersOf(int database, ReadOnlySpan<byte> key) =>
        _waiters.TryGet(database, key, out WaiterQueue? queue) ? queue : null;

    /// <summary>Adds the shards of all commands that are blocked on a key of this shard.</summary>
    internal void AddShardsOfWaiters(ref ShardSet into)
    {
        foreach ((_, WaiterQueue queue) in _waiters)
            foreach (Waiter waiter in queue) into.Add(waiter.Shards);
    }

    /// <summary>All keys of a database that have waiters. A command such as SWAPDB may make any of them ready.</summary>
    internal List<DatabaseKey> AwaitedIn(int database)
    {
        var keys = new List<DatabaseKey>();
        foreach ((DatabaseKey key, _) in _waiters)
            if (key.Database == database) keys.Add(key);
        return keys;
    }

    /// <summary>Adds a client's watch of a key.</summary>
    /// <param name="session">The client that watches. It watches a key at most once.</param>
    /// <param name="database">The database of the key.</param>
    /// <param name="key">The key.</param>
    /// <param name="expired">
    /// True if the key is still stored but its expiry time has passed. Its removal is then no change to the client.
    /// </param>
    /// <returns>False if the client watches the key already.</returns>
    internal bool AddWatch(Session session, int database, ReadOnlySpan<byte> key, bool expired)
    {
        var added = new Watch(session) { Expired = expired };
        if (!_watchers.TryGet(database, key, out List<Watch>? watches)) _watchers.Set(database, key, [added]);
        else if (watches.Exists(watch => watch.Session == session)) return false;
        else watches.Add(added);
        return true;
    }

    internal void Unwatch(Session session, int database, ReadOnlySpan<byte> key)
    {
        if (!_watchers.TryGet(database, key, out List<Watch>? watches)) return;
        watches.RemoveAll(watch => watch.Session == session);
        if (watches.Count == 0) _watchers.Remove(database, key);
    }

    /// <summary>
    /// Whether a watched key has expired since the watch began and is not removed yet. To the client that is a change.
    /// </summary>
    internal bool HasExpired(Session session, in DatabaseKey key, long now) =>
        _watchers.TryGet(key.Database, key.Key, out List<Watch>? watches) && watches.Find(watch => watch.Session == session) is { Expired: false }
        && IsExpired(Find(shard.Store.ExistingDatabase(key.Database), key.Key), now);

    /// <summary>Makes the transactions of all clients that watch a key fail.</summary>
    /// <param name="database">The database of the key.</param>
    /// <param name="key">The key.</param>
    /// <param name="expires">Whether the key is removed because it has expired.</param>
    internal void TouchWatched(int database, ReadOnlySpan<byte> key, bool expires)
    {
        if (!_watchers.TryGet(database, key, out List<Watch>? watches)) return;
        foreach (Watch watch in watches)
        {
            if (!expires || !watch.Expired) watch.Session.WatchedKeyChanged = true;
            else watch.Expired = false;
        }
    }

    /// <summary>
    /// Does the same for all watched keys of a database that is replaced as a whole, as by SWAPDB. A key counts if it exists
    /// before or after.
    /// </summary>
    internal void TouchAllWatched(int database, Keyspace? before, Keyspace? after, long now)
    {
        foreach ((DatabaseKey key, List<Watch> watches) in _watchers)
        {
            if (key.Database != database) continue;
            bool existed = Find(before, key.Key).Exists;
            Entry replacement = Find(after, key.Key);
            if (!existed && !replacement.Exists) continue;
            bool stale = IsExpired(replacement, now);
            foreach (Watch watch in watches)
            {
                // To the client, the key did not exist before and does not exist now.
                bool unchanged = (watch.Expired || !existed) && (stale || !replacement.Exists);
                if (unchanged) watch.Expired = stale;
                else watch.Session.WatchedKeyChanged = true;
            }
        }
    }

    private Entry Find(Keyspace? keyspace, ReadOnlySpan<byte> key)
    {
        ulong hash = shard.Store.HashOf(key);
        return keyspace is null ? shard.Store.Scratch.Absent(hash) : keyspace.Find(key, hash);
    }

    private static bool IsExpired(in Entry entry, long now) => entry.Exists && entry.Expiry != 0 && entry.Expiry <= now;

    /// <summary>The watch of one key by one client.</summary>
    private sealed class Watch(Session session)
    {
        public Session Session => session;

        /// <summary>The key is still stored, but it has expired: to the client it does not exist.</summary>
        public bool Expired { get; set; }
    }

    /// <summary>The waiters of one key.</summary>
    internal sealed class WaiterQueue : List<Waiter>
    {
        /// <summary>The lane that has noted the key as ready, and its <see cref="Lane.ReadyUnit"/> then.</summary>
        public (Lane? Lane, long Unit) Noted { get; set; }

        /// <summary>The number of waiters that are also served when the key is gone.</summary>
        public int ServedWithoutValue { get; set; }
    }
}
