using System.Runtime.CompilerServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>
/// Makes memory follow the data down: when much of the slabs is slack, walks a store's keyspaces, a few buckets a call, and moves
/// buffers out of the slabs that the arena has chosen to empty. A key that it misses, because the table changed under the walk,
/// merely stays where it is.
/// </summary>
internal sealed class Compactor(ShardStore store)
{
    /// <summary>Slack that is not worth the work: some is always there, and what is freed is soon used again. A server has many stores, each with its own.</summary>
    private const long LeastSlackBytes = 256 << 10;

    private readonly List<(uint Tag, uint Handle)> _large = [];
    private int _database;
    private uint _bucket;
    private CompactionPlace _place;
    private long _slackLeft;

    /// <summary>Goes on for about so many buckets, if there is anything to do; true when there was.</summary>
    public bool Run(int budget)
    {
        Arena arena = store.Arena;
        if (!arena.IsCompacting && !Begin(arena)) return false;
        while (budget > 0)
        {
            if (_database == store.DatabaseCount)
            {
                arena.EndCompaction();
                _slackLeft = arena.SlackBytes;
                return true;
            }
            Keyspace? keyspace = store.ExistingDatabase(_database);
            if (keyspace is not null && !Compact(keyspace, ref budget)) continue;
            _database++;
            _bucket = 0;
            _large.Clear();
        }
        return true;
    }

    private bool Begin(Arena arena)
    {
        // What the last round could not help is not tried again until there is a quarter more of it.
        long least = Math.Max(LeastSlackBytes, arena.BytesUsed / 4);
        if (arena.SlackBytes < least) _slackLeft = 0;
        if (arena.SlackBytes < Math.Max(least, _slackLeft + _slackLeft / 4)) return false;
        (_database, _bucket) = (0, 0);
        _large.Clear();
        if (arena.BeginCompaction()) return true;
        _slackLeft = arena.SlackBytes;
        return false;
    }

    /// <summary>One step in a keyspace; true when its last bucket is done.</summary>
    private bool Compact(Keyspace keyspace, ref int budget)
    {
        if (_large.Count > 0)
        {
            (uint tag, uint handle) = _large[^1];
            if (keyspace.CompactLarge(tag, handle, ref _place, ref budget))
            {
                _large.RemoveAt(_large.Count - 1);
                _place = default;
            }
            return false;
        }
        budget--;
        _place = default;
        return !keyspace.Compact(_bucket++, _large);
    }
}
