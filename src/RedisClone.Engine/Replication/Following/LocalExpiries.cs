using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Storage;

namespace RedisClone.Engine.Replication.Following;

/// <summary>
/// The keys with an expiry that clients of a writable replica have written. The primary does not know them and never removes them, so the
/// replica does when they expire. If the primary writes such a key too, the two servers differ anyway.
/// </summary>
internal sealed class LocalExpiries(ServerCore server)
{
    private const int KeysPerStep = 64, MostSteps = 16;

    private readonly Lock _gate = new();
    private readonly HashSet<DatabaseKey> _known = new(DatabaseKeyComparer.Instance);
    private readonly Queue<DatabaseKey> _keys = new();

    public int Count => _keys.Count;

    /// <summary>Notes the keys of a command of a client. Their shards are held.</summary>
    public void Note(ref CommandContext c)
    {
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        try
        {
            c.Row.CollectKeys(c.Args, ref positions);
            for (int i = 0; i < positions.Count; i++) Note(c.Session.Database, c.Args[positions[i]]);
        }
        finally
        {
            positions.Dispose();
        }
    }

    /// <summary>Forgets all keys, because the data was replaced or the role has changed. It takes no memory.</summary>
    public void Clear()
    {
        lock (_gate)
        {
            _known.Clear();
            _keys.Clear();
        }
    }

    /// <summary>
    /// Removes keys that have expired, and goes on while that is more than a quarter of them; called in every round of background work.
    /// </summary>
    public void Tend()
    {
        for (int step = 0; step < MostSteps; step++)
        {
            int looked = Math.Min(KeysPerStep, Count), expired = 0;
            for (int i = 0; i < looked && TryNext(out DatabaseKey key); i++)
                if (TryExpire(key)) expired++;
            if (expired * 4 <= looked) return;
        }
    }

    private void Note(int database, ReadOnlySpan<byte> key)
    {
        if (EntryOf(database, key) is not { Exists: true, Expiry: > 0 }) return;
        var known = new DatabaseKey(database, key.ToArray());
        lock (_gate)
        {
            if (_known.Contains(known)) return;
            _keys.EnsureCapacity(_keys.Count + 1);
            _known.Add(known);
            _keys.Enqueue(known);
        }
    }

    private bool TryNext(out DatabaseKey key)
    {
        lock (_gate) return _keys.TryDequeue(out key);
    }

    /// <summary>Removes a key if it has expired, and forgets it unless it expires later.</summary>
    private bool TryExpire(in DatabaseKey key)
    {
        Shard shard = server.Shards.Of(server.Shards.HashOf(key.Key));
        if (!shard.TryEnter())
        {
            lock (_gate) _keys.Enqueue(key);
            return false;
        }
        bool expires = true, isOver = false;
        try
        {
            Entry entry = EntryOf(key.Database, key.Key);
            expires = entry is { Exists: true, Expiry: > 0 };
            isOver = expires && entry.Expiry <= ServerCore.UnixMilliseconds();
            if (!isOver) return false;
            Lane lane = server.Lanes.Current;
            server.Executor.BeginUnit(lane);
            server.KeyEvents.Expire(entry, key.Database, lane);
            server.Executor.EndOwnUnit(shard, lane);
            return true;
        }
        catch (Exception failure)
        {
            isOver = false;
            server.Failures.BackgroundFailed("expiry of a key of a writable replica failed", failure, shard);
            return false;
        }
        finally
        {
            lock (_gate)
            {
                if (expires && !isOver) _keys.Enqueue(key);
                else _known.Remove(key);
            }
            shard.Exit();
        }
    }

    private Entry EntryOf(int database, ReadOnlySpan<byte> key)
    {
        ulong hash = server.Shards.HashOf(key);
        return server.Shards.Of(hash).Store.ExistingDatabase(database) is { } keyspace ? keyspace.Find(key, hash) : default;
    }
}
