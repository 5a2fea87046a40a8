using RedisClone.Server.Net;
using RedisClone.Storage;

namespace RedisClone.Server.Shards;

/// <summary>
/// What a shard knows of its keys beyond their values: who is blocked on them, who watches them. Owned by whoever holds the
/// shard, like the store.
/// </summary>
public sealed class ShardKeys(Shard shard)
{
    private readonly KeyMap<List<Waiter>> _waiters = new();
    private readonly KeyMap<List<Session>> _watchers = new();

    public Shard Shard => shard;

    public bool HasWaiters => _waiters.Count > 0;

    public bool HasWatchers => _watchers.Count > 0;

    public int WatchedKeys => _watchers.Count;

    public int BlockedKeys => _waiters.Count;

    internal void AddWaiter(Waiter waiter, int database, ReadOnlySpan<byte> key)
    {
        if (!_waiters.TryGet(database, key, out List<Waiter>? queue)) _waiters.Set(database, key, queue = []);
        if (queue.Contains(waiter)) return;
        queue.Add(waiter);
        waiter.Keys.Add((shard.Index, new DatabaseKey(database, key.ToArray())));
    }

    /// <summary>Takes a waiter out of all its queues in this shard.</summary>
    internal void RemoveWaiter(Waiter waiter)
    {
        for (int i = waiter.Keys.Count - 1; i >= 0; i--)
        {
            (int owner, DatabaseKey key) = waiter.Keys[i];
            if (owner != shard.Index) continue;
            waiter.Keys.RemoveAt(i);
            if (!_waiters.TryGet(key.Database, key.Key, out List<Waiter>? queue)) continue;
            queue.Remove(waiter);
            if (queue.Count == 0) _waiters.Remove(key.Database, key.Key);
        }
    }

    /// <summary>Those blocked on a key, first come first.</summary>
    internal List<Waiter>? WaitersOf(int database, ReadOnlySpan<byte> key) =>
        _waiters.TryGet(database, key, out List<Waiter>? queue) ? queue : null;

    /// <summary>The shards of all commands blocked on any key here.</summary>
    internal void AddShardsOfWaiters(ref ShardSet into)
    {
        foreach ((_, List<Waiter> queue) in _waiters)
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

    internal void Watch(Session session, int database, ReadOnlySpan<byte> key)
    {
        if (!_watchers.TryGet(database, key, out List<Session>? sessions)) _watchers.Set(database, key, sessions = []);
        if (!sessions.Contains(session)) sessions.Add(session);
    }

    internal void Unwatch(Session session, int database, ReadOnlySpan<byte> key)
    {
        if (!_watchers.TryGet(database, key, out List<Session>? sessions)) return;
        sessions.Remove(session);
        if (sessions.Count == 0) _watchers.Remove(database, key);
    }

    /// <summary>Makes the transactions of all who watch a key fail.</summary>
    internal void TouchWatched(int database, ReadOnlySpan<byte> key)
    {
        if (_watchers.TryGet(database, key, out List<Session>? sessions))
            foreach (Session session in sessions) session.WatchedKeyChanged = true;
    }

    /// <summary>The same for every watched key of a database that is replaced as a whole, if it exists there or will.</summary>
    internal void TouchAllWatched(int database, Keyspace? before, Keyspace? after)
    {
        foreach ((DatabaseKey key, List<Session> sessions) in _watchers)
        {
            if (key.Database != database) continue;
            ulong hash = Storage.Memory.KeyHash.Of(key.Key);
            bool exists = before is not null && before.Find(key.Key, hash).Exists || after is not null && after.Find(key.Key, hash).Exists;
            if (exists)
                foreach (Session session in sessions) session.WatchedKeyChanged = true;
        }
    }
}
