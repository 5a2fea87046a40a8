using RedisClone.Server.Net;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Shards;

/// <summary>
/// What a shard knows of its keys beyond their values: who is blocked on them, who watches them. Owned by whoever holds the
/// shard, like the store.
/// </summary>
internal sealed class ShardKeys(Shard shard)
{
    private readonly KeyMap<WaiterQueue> _waiters = new();
    private readonly KeyMap<List<Watch>> _watchers = new();

    public Shard Shard => shard;

    /// <summary>Which clients that cache have read which keys; null until one has.</summary>
    internal ReaderTable? Readers { get; set; }

    public bool HasWaiters => _waiters.Count > 0;

    public bool HasWatchers => _watchers.Count > 0;

    public int WatchedKeys => _watchers.Count;

    public int BlockedKeys => _waiters.Count;

    /// <summary>Those of them on which somebody is blocked who is served when the key is gone.</summary>
    public int BlockedKeysWithoutValue { get; private set; }

    internal void AddWaiter(Waiter waiter, int database, ReadOnlySpan<byte> key)
    {
        if (!_waiters.TryGet(database, key, out WaiterQueue? queue)) _waiters.Set(database, key, queue = []);
        // A command that names a key twice does so in one go: nobody else has come to the queue meanwhile.
        if (queue is [.., var last] && last == waiter) return;
        // What the waiter leaves includes this key before the queue knows the waiter: a failed allocation leaves no waiter that cannot leave.
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

    /// <summary>Takes a waiter out of all its queues in this shard.</summary>
    internal void RemoveWaiter(Waiter waiter)
    {
        // In one pass: a command may wait for very many keys.
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

    /// <summary>Those blocked on a key, first come first.</summary>
    internal List<Waiter>? WaitersOf(int database, ReadOnlySpan<byte> key) =>
        _waiters.TryGet(database, key, out WaiterQueue? queue) ? queue : null;

    /// <summary>The shards of all commands blocked on any key here.</summary>
    internal void AddShardsOfWaiters(ref ShardSet into)
    {
        foreach ((_, WaiterQueue queue) in _waiters)
            foreach (Waiter waiter in queue) into.Add(waiter.Shards);
    }

    /// <summary>Every key of a database that somebody waits for: after SWAPDB and the like, all of them may be served.</summary>
    internal List<DatabaseKey> AwaitedIn(int database)
    {
        var keys = new List<DatabaseKey>();
        foreach ((DatabaseKey key, _) in _waiters)
            if (key.Database == database) keys.Add(key);
        return keys;
    }

    /// <param name="session">Who watches, once a key.</param>
    /// <param name="database">The key's.</param>
    /// <param name="key">The key.</param>
    /// <param name="expired">Its time had passed already, although it is still there: its removal will be no change.</param>
    /// <returns>False where it watches the key already.</returns>
    internal bool AddWatch(Session session, int database, ReadOnlySpan<byte> key, bool expired)
    {
        if (!_watchers.TryGet(database, key, out List<Watch>? watches)) _watchers.Set(database, key, watches = []);
        else if (watches.Exists(watch => watch.Session == session)) return false;
        watches.Add(new Watch(session) { Expired = expired });
        return true;
    }

    internal void Unwatch(Session session, int database, ReadOnlySpan<byte> key)
    {
        if (!_watchers.TryGet(database, key, out List<Watch>? watches)) return;
        watches.RemoveAll(watch => watch.Session == session);
        if (watches.Count == 0) _watchers.Remove(database, key);
    }

    /// <summary>Whether a key that a client watches is still there although its time has passed since: a change that nobody has made yet.</summary>
    internal bool HasExpired(Session session, in DatabaseKey key, long now) =>
        _watchers.TryGet(key.Database, key.Key, out List<Watch>? watches) && watches.Find(watch => watch.Session == session) is { Expired: false }
        && IsExpired(Find(shard.Store.ExistingDatabase(key.Database), key.Key), now);

    /// <summary>Makes the transactions of all who watch a key fail.</summary>
    /// <param name="database">The key's.</param>
    /// <param name="key">The key.</param>
    /// <param name="expires">It is removed because its time has passed.</param>
    internal void TouchWatched(int database, ReadOnlySpan<byte> key, bool expires)
    {
        if (!_watchers.TryGet(database, key, out List<Watch>? watches)) return;
        foreach (Watch watch in watches)
        {
            if (!expires || !watch.Expired) watch.Session.WatchedKeyChanged = true;
            else watch.Expired = false;
        }
    }

    /// <summary>The same for every watched key of a database that is replaced as a whole, if it exists there or will.</summary>
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
                // Nothing to be seen before, nothing now.
                bool unchanged = (watch.Expired || !existed) && (stale || !replacement.Exists);
                if (unchanged) watch.Expired = stale;
                else watch.Session.WatchedKeyChanged = true;
            }
        }
    }

    private Entry Find(Keyspace? keyspace, ReadOnlySpan<byte> key)
    {
        ulong hash = KeyHash.Of(key);
        return keyspace is null ? shard.Store.Scratch.Absent(hash) : keyspace.Find(key, hash);
    }

    private static bool IsExpired(in Entry entry, long now) => entry.Exists && entry.Expiry != 0 && entry.Expiry <= now;

    /// <summary>One client's watch of one key.</summary>
    private sealed class Watch(Session session)
    {
        public Session Session => session;

        /// <summary>To the client the key does not exist, although it is there.</summary>
        public bool Expired { get; set; }
    }

    /// <summary>Those blocked on one key.</summary>
    private sealed class WaiterQueue : List<Waiter>
    {
        /// <summary>How many of them are served when the key is gone.</summary>
        public int ServedWithoutValue { get; set; }
    }
}
