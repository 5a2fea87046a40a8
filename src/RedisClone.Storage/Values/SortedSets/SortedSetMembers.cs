using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.SortedSets;

/// <summary>
/// Walks members of a sorted set: a range of ranks in either direction, those of a cursor position, or a random sample.
/// </summary>
public ref struct SortedSetMembers
{
    private const int Lookahead = 8;

    private readonly ReadOnlySpan<byte> _entries;
    private readonly MemberTable _table;
    private readonly RankTree<ScoreItem> _order;
    private readonly bool _backwards, _large, _byTable;
    private TableWalk _walk;
    private TreePath _path;
    private ReadOnlySpan<ScoreItem> _leaf;
    private Selection _selection;
    private long _left;
    private int _at;

    private SortedSetMembers(in Entry entry, RankRange range, bool backwards, Selection selection)
    {
        _backwards = backwards;
        _left = range.Count;
        _selection = selection;
        if (entry.Encoding != ValueEncoding.Large)
        {
            _entries = new PackedValue(entry).Entries;
            _at = Packed.Skip(_entries, 0, 2 * (int)(backwards ? range.End : range.Start));
            return;
        }
        _large = true;
        _table = LargeSortedSet.Table(entry);
        _order = LargeSortedSet.Order(entry);
        if (_left <= 0) return;
        _path = _order.SeekRank(backwards ? range.End - 1 : range.Start, out _);
        _leaf = _order.Leaf(ref _path);
        _at = _path[0].Index;
        for (int i = 1; i < Lookahead && i < _left; i++)
        {
            int ahead = backwards ? _at - i : _at + i;
            if ((uint)ahead < (uint)_leaf.Length) _table.Prefetch(_leaf[ahead].Handle);
        }
    }

    private SortedSetMembers(in Entry entry, TableWalk walk)
    {
        _large = _byTable = true;
        _table = LargeSortedSet.Table(entry);
        _walk = walk;
        _selection = Selection.All;
    }

    public ScoredMember Current { get; private set; }

    internal static SortedSetMembers Ranks(in Entry entry, RankRange range, bool backwards) =>
        new(entry, range, backwards, Selection.All);

    internal static SortedSetMembers Position(in Entry entry, ref ulong cursor) =>
        new(entry, TableWalk.Position(LargeSortedSet.Table(entry), ref cursor));

    internal static SortedSetMembers Some(in Entry entry, long count)
    {
        ShardStore store = entry.Keyspace.Store;
        long all = SortedSetValue.Count(entry);
        if (entry.Encoding == ValueEncoding.Large && TableWalk.PicksAreCheaper(count, all))
            return new(entry, TableWalk.Picks(LargeSortedSet.Table(entry), count, store));
        return new(entry, new RankRange(0, all), false, new Selection(count, all, store.Random));
    }

    public readonly SortedSetMembers GetEnumerator() => this;

    public bool MoveNext()
    {
        while (_large ? NextLarge() : NextPacked())
            if (_selection.Takes()) return true;
        return false;
    }

    private bool NextPacked()
    {
        if (_left-- <= 0) return false;
        if (_backwards) _at = Packed.Previous(_entries, Packed.Previous(_entries, _at));
        Current = PackedScores.Read(_entries, _at, out int next);
        if (!_backwards) _at = next;
        return true;
    }

    private bool NextLarge()
    {
        if (_byTable)
        {
            if (!_walk.MoveNext()) return false;
            Current = LargeSortedSet.Read(_table, _walk.Current);
            return true;
        }
        if (_left-- <= 0) return false;
        if (_at < 0 || _at == _leaf.Length)
        {
            if (_backwards) _order.PreviousLeaf(ref _path);
            else _order.NextLeaf(ref _path);
            _leaf = _order.Leaf(ref _path);
            _at = _path[0].Index;
        }
        int ahead = _backwards ? _at - Lookahead : _at + Lookahead;
        if ((uint)ahead < (uint)_leaf.Length) _table.Prefetch(_leaf[ahead].Handle);
        Current = LargeSortedSet.Read(_table, _leaf[_at]);
        _at += _backwards ? -1 : 1;
        return true;
    }
}
