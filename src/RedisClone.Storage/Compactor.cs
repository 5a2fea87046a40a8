using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;

namespace RedisClone.Storage;

/// <summary>
/// Compacts a store when the slabs of its arena are largely empty: walks its keyspaces, a few buckets per call, and moves buffers
/// out of the slabs that the arena has chosen. If the table changes during the walk, the walk can miss a key, which then stays
/// where it is.
/// </summary>
internal sealed class Compactor(ShardStore store)
{
    /// <summary>
    /// Slack below this is not compacted: some slack is always there, and freed memory is soon used again. A server has many
    /// stores, each with slack of its own.
    /// </summary>
    private const long LeastSlackBytes = 256 << 10;

    private readonly List<(ulong Hash, uint Handle)> _large = [];
    private int _database;
    private BucketPlace _bucket;
    private CompactionPlace _place;
    private long _slackBefore;      // the last compaction began
    private long _slackLeft;        // it could not reduce

    /// <summary>Continues for about <paramref name="budget"/> buckets. Returns false if there is nothing to compact.</summary>
    public bool Run(int budget)
    {
        Arena arena = store.Arena;
        if (!arena.IsCompacting && !Begin(arena)) return false;
        while (budget > 0)
        {
            if (_database == store.DatabaseCount)
            {
                arena.EndCompaction();
                // Slack that clients made meanwhile can be reduced.
                _slackLeft = Math.Max(0, _slackBefore - arena.BytesCompacted);
                return true;
            }
            Keyspace? keyspace = store.ExistingDatabase(_database);
            if (keyspace is not null && !Compact(keyspace, ref budget)) continue;
            _database++;
            _bucket = default;
            _large.Clear();
        }
        return true;
    }

    private bool Begin(Arena arena)
    {
        // Slack that the last compaction could not reduce causes a new attempt only after it grows by a quarter.
        long least = Math.Max(LeastSlackBytes, arena.BytesUsed / 4);
        if (arena.SlackBytes < least) _slackLeft = 0;
        if (arena.SlackBytes < Math.Max(least, _slackLeft + _slackLeft / 4)) return false;
        (_database, _bucket) = (0, default);
        _large.Clear();
        _slackBefore = arena.SlackBytes;
        if (arena.BeginCompaction()) return true;
        _slackLeft = _slackBefore;
        return false;
    }

    /// <summary>One step in a keyspace. Returns true after its last bucket.</summary>
    private bool Compact(Keyspace keyspace, ref int budget)
    {
        if (_large.Count > 0)
        {
            (ulong hash, uint handle) = _large[^1];
            if (keyspace.CompactLarge(hash, handle, ref _place, ref budget))
            {
                _large.RemoveAt(_large.Count - 1);
                _place = default;
            }
            return false;
        }
        budget--;
        _place = default;
        return !keyspace.Compact(ref _bucket, _large);
    }
}
