using RedisClone.Storage.Structures;

namespace RedisClone.Storage;

/// <summary>Walks fields of a hash that are alive: all of them, those of a cursor position, or a random part.</summary>
public ref struct HashFields
{
    private readonly ReadOnlySpan<byte> _entries;
    private readonly MemberTable _table;
    private readonly long _now;
    private readonly bool _expiring, _large;
    private TableWalk _walk;
    private Selection _selection;
    private int _at;

    private HashFields(in Entry entry, Selection selection, bool everything = false)
    {
        _now = everything ? long.MinValue : entry.Keyspace.Store.Now;
        _selection = selection;
        _large = entry.Encoding == ValueEncoding.Large;
        if (_large)
        {
            _table = LargeHash.Table(entry);
            return;
        }
        _entries = PackedFields.Of(entry).Entries;
        _expiring = entry.Encoding == ValueEncoding.PackedWithExpiry;
    }

    public HashField Current { get; private set; }

    internal static HashFields All(in Entry entry, bool everything = false)
    {
        var fields = new HashFields(entry, Selection.All, everything);
        if (fields._large) fields._walk = TableWalk.All(fields._table);
        return fields;
    }

    internal static HashFields Position(in Entry entry, ref ulong cursor, bool everything = false)
    {
        var fields = new HashFields(entry, Selection.All, everything);
        fields._walk = TableWalk.Position(fields._table, ref cursor);
        return fields;
    }

    internal static HashFields Some(in Entry entry, long count)
    {
        ShardStore store = entry.Keyspace.Store;
        long all = HashValue.Count(entry);
        bool allAlive = PackedFields.IsAlive(HashValue.NextExpiry(entry), store.Now);
        if (entry.Encoding == ValueEncoding.Large && allAlive && TableWalk.PicksAreCheaper(count, all))
            return new HashFields(entry, Selection.All) { _walk = TableWalk.Picks(LargeHash.Table(entry), count, store) };
        HashFields fields = All(entry);
        if (!allAlive)
        {
            all = 0;
            foreach (HashField _ in fields) all++;
        }
        fields._selection = new Selection(count, all, store.Random);
        return fields;
    }

    public readonly HashFields GetEnumerator() => this;

    public bool MoveNext()
    {
        while (true)
        {
            if (_large)
            {
                if (!_walk.MoveNext()) return false;
                Current = LargeHash.Read(_table, _walk.Current);
            }
            else
            {
                if (_at >= _entries.Length) return false;
                Current = PackedFields.Read(_entries, _at, _expiring, out _at);
            }
            if (PackedFields.IsAlive(Current.Expiry, _now) && _selection.Takes()) return true;
        }
    }
}
