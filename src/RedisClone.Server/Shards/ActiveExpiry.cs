using System.Diagnostics;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Shards;

/// <summary>
/// Removes keys whose time has passed although nobody asks for them. It walks only the index of keys that expire, and goes
/// on within its time as long as what it finds is worth it, so keys without expiry cost nothing.
/// </summary>
internal sealed class ActiveExpiry(ServerCore server)
{
    private const int BucketsPerStep = 16;
    private const int FieldsPerStep = 256;
    private readonly ulong[,] _cursors = new ulong[server.Shards.Count, server.Config.Databases];

    /// <summary>One turn on a shard that the caller holds.</summary>
    public void Run(Shard shard, long now, TimeSpan budget)
    {
        long deadline = Stopwatch.GetTimestamp() + (long)(budget.TotalSeconds * Stopwatch.Frequency);
        int worthwhile = 11 - server.Config.ActiveExpireEffort;
        Lane lane = server.Lanes.Current;
        Span<uint> room = stackalloc uint[256];
        for (int database = 0; database < shard.Store.DatabaseCount; database++)
        {
            Keyspace? keyspace = shard.Store.ExistingDatabase(database);
            if (keyspace is null) continue;
            if (!ExpireFields(shard, keyspace, database, lane, deadline)) return;
            if (keyspace.ExpiringCount == 0) continue;
            ref ulong cursor = ref _cursors[shard.Index, database];
            while (true)
            {
                var found = new ExpiredVisitor(keyspace, now, room);
                for (int i = 0; i < BucketsPerStep; i++)
                {
                    cursor = keyspace.ScanExpiring(cursor, ref found);
                    if (cursor == 0) break;
                }
                if (found.Living > 0) server.TtlAverages.Note(database, found.Left / found.Living);
                server.Executor.BeginUnit(lane);
                foreach (uint handle in found.Expired)
                {
                    ReadOnlySpan<byte> key = keyspace.KeyOf(handle);
                    server.KeyEvents.Expire(keyspace.Find(key, KeyHash.Of(key)), database, lane);
                }
                server.Executor.EndOwnUnit(shard, lane);
                // Redis's bound: go on while more than a tenth of what was looked at had expired, or less with more effort.
                if (found.Expired.Length * 100 <= found.Seen * worthwhile || keyspace.ExpiringCount == 0) break;
                if (Stopwatch.GetTimestamp() > deadline) return;
            }
        }
    }

    /// <summary>Removes fields of hashes in the order of their time, so nothing is looked at in vain; false when the time is over.</summary>
    private bool ExpireFields(Shard shard, Keyspace keyspace, int database, Lane lane, long deadline)
    {
        while (keyspace.DueHash is not 0 and var handle)
        {
            server.Executor.BeginUnit(lane);
            ReadOnlySpan<byte> key = keyspace.KeyOf(handle);
            int removed = server.KeyEvents.ExpireFields(keyspace.Find(key, KeyHash.Of(key)), FieldsPerStep, database, lane);
            server.Executor.EndOwnUnit(shard, lane);
            // The hash may be due without a field that is: its time could not be brought up to date. The next round tries again.
            if (removed == 0 && keyspace.DueHash == handle) break;
            if (Stopwatch.GetTimestamp() > deadline) return false;
        }
        return true;
    }

    private ref struct ExpiredVisitor(Keyspace keyspace, long now, Span<uint> room) : IScanVisitor
    {
        private int _count;
        private readonly Span<uint> _room = room;

        public int Seen { get; private set; }

        /// <summary>The milliseconds that those which are not expired have left, added up.</summary>
        public double Left { get; private set; }

        public readonly int Living => Seen - _count;

        public readonly ReadOnlySpan<uint> Expired => _room[.._count];

        public void Visit(uint handle)
        {
            Seen++;
            long left = keyspace.ExpiryOf(handle) - now;
            if (left > 0) Left += left;
            else if (_count < _room.Length) _room[_count++] = handle;
        }
    }
}
