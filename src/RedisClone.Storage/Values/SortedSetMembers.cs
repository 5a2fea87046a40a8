namespace RedisClone.Storage;

/// <summary>Walks members of a sorted set: a range of ranks in either direction, or a random part.</summary>
public ref struct SortedSetMembers
{
    private readonly ReadOnlySpan<byte> _entries;
    private readonly bool _backwards;
    private int _at;
    private long _left;
    private Selection _selection;

    private SortedSetMembers(in Entry entry, RankRange range, bool backwards, Selection selection)
    {
        _entries = new PackedValue(entry).Entries;
        _backwards = backwards;
        _left = range.Count;
        _at = Packed.Skip(_entries, 0, 2 * (int)(backwards ? range.End : range.Start));
        _selection = selection;
    }

    public ScoredMember Current { get; private set; }

    internal static SortedSetMembers Ranks(in Entry entry, RankRange range, bool backwards) =>
        new(entry, range, backwards, Selection.All);

    internal static SortedSetMembers Some(in Entry entry, long count)
    {
        long all = SortedSetValue.Count(entry);
        return new(entry, new RankRange(0, all), false, new Selection(count, all, entry.Keyspace.Store.Random));
    }

    public readonly SortedSetMembers GetEnumerator() => this;

    public bool MoveNext()
    {
        while (_left-- > 0)
        {
            if (_backwards) _at = Packed.Previous(_entries, Packed.Previous(_entries, _at));
            Current = PackedScores.Read(_entries, _at, out int next);
            if (!_backwards) _at = next;
            if (_selection.Takes()) return true;
        }
        return false;
    }
}
