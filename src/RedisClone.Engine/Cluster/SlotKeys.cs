using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster;

/// <summary>The keys of slots, found by a walk over all keys of database 0. The caller holds every shard.</summary>
internal static class SlotKeys
{
    public static long Count(ServerCore server, int slot)
    {
        long count = 0;
        foreach (Keyspace keyspace in Keyspaces(server))
        {
            var counter = new Counter(keyspace, slot);
            Walk(keyspace, ref counter);
            count += counter.Count;
        }
        return count;
    }

    /// <summary>Whether a slot has a key.</summary>
    public static bool Any(ServerCore server, int slot) => List(server, slot, 1).Count > 0;

    /// <summary>Up to <paramref name="most"/> keys of a slot.</summary>
    public static List<byte[]> List(ServerCore server, int slot, long most)
    {
        var keys = new List<byte[]>();
        foreach (Keyspace keyspace in Keyspaces(server))
        {
            var lister = new Lister(keyspace, slot, most, keys);
            ulong cursor = 0;
            do
            {
                cursor = keyspace.Scan(cursor, ref lister);
            }
            while (cursor != 0 && keys.Count < most);
            if (keys.Count >= most) break;
        }
        return keys;
    }

    /// <summary>The slots that have keys.</summary>
    public static IEnumerable<int> Occupied(ServerCore server)
    {
        var occupied = new SlotSet();
        foreach (Keyspace keyspace in Keyspaces(server))
        {
            var marker = new Marker(keyspace, occupied);
            Walk(keyspace, ref marker);
        }
        return occupied.Ranges().SelectMany(static range => Enumerable.Range(range.First, range.Last - range.First + 1));
    }

    /// <summary>Removes all keys of some slots. Each removal is a unit of effects.</summary>
    public static void Remove(ServerCore server, SlotSet slots)
    {
        Lane lane = server.Lanes.Current;
        for (int i = 0; i < server.Shards.Count; i++)
        {
            Shard shard = server.Shards[i];
            if (shard.Store.ExistingDatabase(0) is not { } keyspace) continue;
            var keys = new List<byte[]>();
            var collector = new Collector(keyspace, slots, keys);
            Walk(keyspace, ref collector);
            foreach (byte[] key in keys)
            {
                Entry entry = keyspace.Find(key, KeyHash.Of(key));
                server.Executor.BeginUnit(lane);
                keyspace.Preserve(entry);
                server.KeyEvents.Drop(entry, database: 0, lane);
                server.Executor.EndOwnUnit(shard, lane);
            }
        }
    }

    private static IEnumerable<Keyspace> Keyspaces(ServerCore server)
    {
        for (int i = 0; i < server.Shards.Count; i++)
            if (server.Shards[i].Store.ExistingDatabase(0) is { } keyspace) yield return keyspace;
    }

    private static void Walk<TVisitor>(Keyspace keyspace, ref TVisitor visitor) where TVisitor : struct, IScanVisitor, allows ref struct
    {
        ulong cursor = 0;
        do
        {
            cursor = keyspace.Scan(cursor, ref visitor);
        }
        while (cursor != 0);
    }

    private struct Counter(Keyspace keyspace, int slot) : IScanVisitor
    {
        public long Count { get; private set; }

        public void Visit(uint handle)
        {
            if (KeySlot.Of(keyspace.KeyOf(handle)) == slot) Count++;
        }
    }

    private readonly struct Lister(Keyspace keyspace, int slot, long most, List<byte[]> keys) : IScanVisitor
    {
        public void Visit(uint handle)
        {
            ReadOnlySpan<byte> key = keyspace.KeyOf(handle);
            if (keys.Count < most && KeySlot.Of(key) == slot) keys.Add(key.ToArray());
        }
    }

    private readonly struct Marker(Keyspace keyspace, SlotSet occupied) : IScanVisitor
    {
        public void Visit(uint handle) => occupied.Add(KeySlot.Of(keyspace.KeyOf(handle)));
    }

    private readonly struct Collector(Keyspace keyspace, SlotSet slots, List<byte[]> keys) : IScanVisitor
    {
        public void Visit(uint handle)
        {
            ReadOnlySpan<byte> key = keyspace.KeyOf(handle);
            if (slots.Contains(KeySlot.Of(key))) keys.Add(key.ToArray());
        }
    }
}
