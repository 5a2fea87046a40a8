using System.Diagnostics;
using RedisClone.Engine.Effects;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Shards;

/// <summary>
/// Removes expired keys that no command accesses. It scans only the index of keys with an expiry, so other keys cost nothing.
/// It continues within its time budget while enough of the scanned keys have expired.
/// </summary>
internal sealed class ActiveExpiry(ServerCore server)
{
    private const int BucketsPerStep = 16;

    /// <summary>With more keys in a bucket, which is unlikely, some wait for the next pass.</summary>
    private const int MostPerBucket = 64;

    private const int FieldsPerStep = 256;

    /// <summary>A unit of effects with many long names is ended, long before it is too long.</summary>
    private const int MostUnitBytes = 1 << 20;

    private readonly ulong[,] _cursors = new ulong[server.Shards.Count, server.Config.Databases];

    /// <summary>
    /// Expires keys and fields of a held shard for one turn. Returns whether keys had expired when the time was up, so that more may have.
    /// </summary>
    public bool Run(Shard shard, long now, TimeSpan budget)
    {
        long deadline = Stopwatch.GetTimestamp() + (long)(budget.TotalSeconds * Stopwatch.Frequency);
        int worthwhile = 11 - server.Config.ActiveExpireEffort;
        Lane lane = server.Lanes.Current;
        Span<uint> room = stackalloc uint[256];
        bool hasExpired = false;
        for (int database = 0; database < shard.Store.DatabaseCount; database++)
        {
            Keyspace? keyspace = shard.Store.ExistingDatabase(database);
            if (keyspace is null) continue;
            if (!ExpireFields(shard, keyspace, database, lane, deadline)) return true;
            if (keyspace.ExpiringCount == 0) continue;
            ref ulong cursor = ref _cursors[shard.Index, database];
            while (true)
            {
                var found = new ExpiredVisitor(keyspace, now, room);
                for (int i = 0; i < BucketsPerStep; i++)
                {
                    cursor = keyspace.ScanExpiring(cursor, ref found);
                    if (cursor == 0 || found.Expired.Length > room.Length - MostPerBucket) break;
                }
                if (found.Living > 0) server.TtlAverages.Note(database, found.Left / found.Living);
                lane.BeginUnit();
                foreach (uint handle in found.Expired)
                {
                    ReadOnlySpan<byte> key = keyspace.KeyOf(handle);
                    ulong hash = keyspace.Store.HashOf(key);
                    if (IsForeign(hash)) continue;
                    server.KeyEvents.Expire(keyspace.Find(key, hash), database, lane);
                    if (lane.Effects.Length < MostUnitBytes) continue;
                    server.Executor.PlaceOwnUnit(shard, lane);
                    lane.BeginUnit();
                }
                server.Executor.EndOwnUnit(shard, lane);
                hasExpired |= found.Expired.Length > 0;
                // Redis's rule: continue while more than a tenth of the scanned keys had expired. A higher effort lowers that
                // share. Empty buckets say nothing: keys may follow that an index has moved behind the cursor while it shrank.
                bool isOver = found.Seen == 0 ? cursor == 0 : found.Expired.Length * 100 <= found.Seen * worthwhile;
                if (isOver || keyspace.ExpiringCount == 0) break;
                if (Stopwatch.GetTimestamp() > deadline) return hasExpired;
            }
        }
        return false;
    }

    /// <summary>
    /// Removes expired fields of hashes in the order of their expiry, so no field is scanned in vain. False when the time is
    /// up.
    /// </summary>
    private bool ExpireFields(Shard shard, Keyspace keyspace, int database, Lane lane, long deadline)
    {
        while (keyspace.DueHash is not 0 and var handle)
        {
            ReadOnlySpan<byte> key = keyspace.KeyOf(handle);
            // The fields of such a hash come first until its slot has moved.
            if (IsForeign(keyspace.Store.HashOf(key))) break;
            lane.BeginUnit();
            int removed = server.KeyEvents.ExpireFields(keyspace.Find(key, keyspace.Store.HashOf(key)), FieldsOf(key), database, lane);
            server.Executor.EndOwnUnit(shard, lane);
            // A hash may be due without an expired field, if its own time could not be updated. The next round tries again.
            if (removed == 0 && keyspace.DueHash == handle) break;
            if (Stopwatch.GetTimestamp() > deadline) return false;
        }
        return true;
    }

    /// <summary>How many fields of a hash may expire in one unit of effects, which repeats the key for each of them.</summary>
    private static int FieldsOf(ReadOnlySpan<byte> key) => Math.Clamp(MostUnitBytes / (key.Length + 1), 1, FieldsPerStep);

    /// <summary>Whether another node of the cluster decides when a key expires.</summary>
    private bool IsForeign(ulong hash) => server.Cluster is { } cluster && cluster.Served.IsForeign(KeySlot.OfHash(hash));

    private ref struct ExpiredVisitor(Keyspace keyspace, long now, Span<uint> room) : IScanVisitor
    {
        private int _count;
        private readonly Span<uint> _room = room;

        public int Seen { get; private set; }

        /// <summary>The sum of the remaining milliseconds of the keys that have not expired.</summary>
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
