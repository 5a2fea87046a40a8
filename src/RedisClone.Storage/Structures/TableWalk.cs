using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Structures;

/// <summary>
/// Walks the handles of a table's members: all, those of one cursor position, or a number of different ones picked at random.
/// </summary>
internal ref struct TableWalk
{
    private readonly MemberTable _table;
    private readonly ShardStore? _store;
    private HashIndexWalk _walk;
    private long _picks;

    private TableWalk(HashIndexWalk walk) => _walk = walk;

    private TableWalk(MemberTable table, long picks, ShardStore store)
    {
        _table = table;
        _store = store;
        _picks = picks;
        store.Chosen.Clear();
        // A huge sample does not keep its memory for later small samples.
        if (store.Chosen.Capacity > 4096) store.Chosen.TrimExcess(0);
    }

    public uint Current { get; private set; }

    public static TableWalk All(MemberTable table) => new(table.Index.All());

    public static TableWalk Position(MemberTable table, ref ulong cursor) => new(table.Index.Position(ref cursor));

    /// <summary>
    /// Picks members one by one and skips repeated picks. The table must have more than <paramref name="count"/> members.
    /// </summary>
    public static TableWalk Picks(MemberTable table, long count, ShardStore store) => new(table, count, store);

    /// <summary>Whether picking is cheaper than walking all members: only while few picks repeat earlier ones.</summary>
    public static bool PicksAreCheaper(long count, long all) => count < all / 4;

    public bool MoveNext()
    {
        if (_store is null)
        {
            bool any = _walk.MoveNext();
            Current = _walk.Current;
            return any;
        }
        if (_picks-- <= 0) return false;
        do Current = _table.Index.RandomHandle(_store.Random);
        while (!_store.Chosen.Add(Current));
        return true;
    }
}
