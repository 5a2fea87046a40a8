using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Sets;

/// <summary>Walks members of a set: all of them, those of a cursor position, or a random sample.</summary>
public ref struct SetMembers
{
    private readonly ReadOnlySpan<byte> _bytes;           // the entries of a packed set, or a whole set of integers
    private readonly int _end;                            // the end: a position, or a number of integers
    private readonly MemberTable _table;
    private readonly ValueEncoding _encoding;
    private TableWalk _walk;
    private Selection _selection;
    private int _at;

    private SetMembers(in Entry entry, TableWalk walk, Selection selection)
    {
        _encoding = entry.Encoding;
        _walk = walk;
        _selection = selection;
        switch (_encoding)
        {
            case ValueEncoding.Integers:
                _bytes = entry.Value;
                _end = Integers.Count(_bytes);
                break;
            case ValueEncoding.Packed:
                _bytes = new PackedValue(entry).Entries;
                _end = _bytes.Length;
                break;
            default:
                _table = SetValue.LargeTable(entry);
                break;
        }
    }

    public Element Current { get; private set; }

    internal static SetMembers All(in Entry entry) =>
        new(entry, IsLarge(entry) ? TableWalk.All(SetValue.LargeTable(entry)) : default, Selection.All);

    internal static SetMembers Position(in Entry entry, ref ulong cursor) =>
        new(entry, TableWalk.Position(SetValue.LargeTable(entry), ref cursor), Selection.All);

    internal static SetMembers Some(in Entry entry, long count)
    {
        ShardStore store = entry.Keyspace.Store;
        long all = SetValue.Count(entry);
        if (IsLarge(entry) && TableWalk.PicksAreCheaper(count, all))
            return new(entry, TableWalk.Picks(SetValue.LargeTable(entry), count, store), Selection.All);
        SetMembers members = All(entry);
        members._selection = new Selection(count, all, store.Random);
        return members;
    }

    public readonly SetMembers GetEnumerator() => this;

    public bool MoveNext()
    {
        while (_encoding == ValueEncoding.Large ? NextLarge() : NextSmall())
            if (_selection.Takes()) return true;
        return false;
    }

    private bool NextLarge()
    {
        if (!_walk.MoveNext()) return false;
        Current = new Element(_table.Read(_walk.Current).Name);
        return true;
    }

    private bool NextSmall()
    {
        if (_at >= _end) return false;
        Current = _encoding == ValueEncoding.Integers
            ? new Element(Integers.At(_bytes, _at++))
            : Packed.Read(_bytes, _at, out _at);
        return true;
    }

    private static bool IsLarge(in Entry entry) => entry.Encoding == ValueEncoding.Large;
}
