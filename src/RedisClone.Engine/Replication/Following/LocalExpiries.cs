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

    /// <summary>
    /// Notes the keys that a command of a client may have written, unless little is left of a heap with a limit. Their shards are held.
    /// </summary>
    public void Note(ref CommandContext c)
    {
        if (server.Shards.Budget.IsShort) return;
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        try
        {
            c.Row.CollectKeys(c.Args, ref positions);
            for (int i = 0; i < positions.Count; i++)
            {
                KeyFlags flags = c.Row.FlagsOfKey(c.Args, positions[i], positions.FlagsOf(i));
                if ((flags & (KeyFlags.Insert | KeyFlags.Update)) != 0) Note(c.Session.Database, c.Args[positions[i]]);
            }
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
            // A key that another thread has taken out comes back.
            _keys.EnsureCapacity(_known.Count + 1);
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
            Return(key, remains: true);
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
            lane.BeginUnit();
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
            Return(key, remains: expires && !isOver);
            shard.Exit();
        }
    }

    /// <summary>Puts a key back that was taken out, unless all keys were forgotten meanwhile. It takes no memory.</summary>
    private void Return(in DatabaseKey key, bool remains)
    {
        lock (_gate)
        {
            if (!remains) _known.Remove(key);
            else if (_known.Contains(key)) _keys.Enqueue(key);
        }
    }

    private Entry EntryOf(int database, ReadOnlySpan<byte> key)
    {
        ulong hash = server.Shards.HashOf(key);
        return server.Shards.Of(hash).Store.ExistingDatabase(database) is { } keyspace ? keyspace.Find(key, hash) : default;
    }
}
