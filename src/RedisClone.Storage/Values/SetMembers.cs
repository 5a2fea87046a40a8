using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage;

/// <summary>Walks members of a set: all of them, those of a cursor position, or a random part.</summary>
public ref struct SetMembers
{
    private readonly ReadOnlySpan<byte> _bytes;           // the entries of a packed set, or the whole of a set of integers
    private readonly int _integers = -1;
    private readonly MemberTable _table;
    private readonly bool _large;
    private TableWalk _walk;
    private Selection _selection;
    private int _at;

    private SetMembers(in Entry entry, Selection selection)
    {
        _selection = selection;
        switch (entry.Encoding)
        {
            case ValueEncoding.Integers:
                _bytes = entry.Value;
                _integers = Integers.Count(_bytes);
                break;
            case ValueEncoding.Packed:
                _bytes = new PackedValue(entry).Entries;
                break;
            default:
                _large = true;
                _table = SetValue.LargeTable(entry);
                break;
        }
    }

    public Element Current { get; private set; }

    internal static SetMembers All(in Entry entry)
    {
        var members = new SetMembers(entry, Selection.All);
        if (members._large) members._walk = TableWalk.All(members._table);
        return members;
    }

    internal static SetMembers Position(in Entry entry, ref ulong cursor)
    {
        var members = new SetMembers(entry, Selection.All);
        members._walk = TableWalk.Position(members._table, ref cursor);
        return members;
    }

    internal static SetMembers Some(in Entry entry, long count)
    {
        long all = SetValue.Count(entry);
        ShardStore store = entry.Keyspace.Store;
        if (entry.Encoding == ValueEncoding.Large && TableWalk.PicksAreCheaper(count, all))
            return new SetMembers(entry, Selection.All) { _walk = TableWalk.Picks(SetValue.LargeTable(entry), count, store) };
        SetMembers members = All(entry);
        members._selection = new Selection(count, all, store.Random);
        return members;
    }

    public readonly SetMembers GetEnumerator() => this;

    public bool MoveNext()
    {
        while (true)
        {
            if (_large)
            {
                if (!_walk.MoveNext()) return false;
                Current = new Element(_table.Read(_walk.Current).Name);
            }
            else
            {
                if (_at >= (_integers >= 0 ? _integers : _bytes.Length)) return false;
                Current = _integers >= 0 ? new Element(Integers.At(_bytes, _at++)) : Packed.Read(_bytes, _at, out _at);
            }
            if (_selection.Takes()) return true;
        }
    }
}
