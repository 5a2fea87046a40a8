using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster;

/// <summary>The keys of slots in database 0. The caller holds the shards of the slots.</summary>
internal static class SlotKeys
{
    public static long Count(ServerCore server, int slot) =>
        KeyspaceOf(server, slot) is { } keyspace ? keyspace.CountInSlot(KeySlot.HashOf(slot)) : 0;

    /// <summary>Up to <paramref name="most"/> keys of a slot.</summary>
    public static List<byte[]> List(ServerCore server, int slot, long most)
    {
        var keys = new List<byte[]>();
        if (KeyspaceOf(server, slot) is not { } keyspace) return keys;
        HashIndexWalk walk = keyspace.WalkSlot(KeySlot.HashOf(slot));
        while (keys.Count < most && walk.MoveNext()) keys.Add(keyspace.KeyOf(walk.Current).ToArray());
        return keys;
    }

    /// <summary>The slots that have keys.</summary>
    public static IEnumerable<int> Occupied(ServerCore server)
    {
        for (int slot = 0; slot < KeySlot.Count; slot++)
            if (Count(server, slot) > 0) yield return slot;
    }

    /// <summary>Whether databases other than 0, which a node does not serve, have keys.</summary>
    public static bool AreElsewhere(ServerCore server)
    {
        for (int i = 0; i < server.Shards.Count; i++)
            for (int database = 1; database < server.Config.Databases; database++)
                if (server.Shards[i].Store.ExistingDatabase(database) is { Count: > 0 }) return true;
        return false;
    }

    /// <summary>The number of keys that clients do not see, because another node serves their slots.</summary>
    public static long CountForeign(ServerCore server)
    {
        long count = 0;
        if (server.Cluster is not { } cluster) return 0;
        for (int slot = 0; slot < KeySlot.Count; slot++)
            if (cluster.Served.IsForeign(slot)) count += Count(server, slot);
        return count;
    }

    /// <summary>Removes those keys of a slot that still exist, each as a unit of effects.</summary>
    public static void Remove(ServerCore server, int slot, IEnumerable<byte[]> keys)
    {
        Shard shard = server.Shards.Of(KeySlot.HashOf(slot));
        try
        {
            foreach (byte[] key in keys) Remove(server, shard, key);
        }
        catch (Exception failure)
        {
            server.Failures.BackgroundFailed("the removal of the keys of a slot failed", failure, shard);
            throw;
        }
    }

    private static void Remove(ServerCore server, Shard shard, byte[] key)
    {
        Keyspace keyspace = shard.Store.Database(0);
        Entry entry = keyspace.Find(key, shard.Store.HashOf(key));
        if (!entry.Exists) return;
        Lane lane = server.Lanes.Current;
        lane.BeginUnit();
        keyspace.Preserve(entry);
        server.KeyEvents.Drop(entry, database: 0, lane);
        server.Executor.EndOwnUnit(shard, lane);
    }

    private static Keyspace? KeyspaceOf(ServerCore server, int slot) => server.Shards.Of(KeySlot.HashOf(slot)).Store.ExistingDatabase(0);
}
