using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Hashes;

/// <summary>Walks live fields of a hash: all of them, those of a cursor position, or a random sample.</summary>
public ref struct HashFields
{
    private readonly ReadOnlySpan<byte> _entries;         // of a small hash; the values only, if names are shared
    private readonly ReadOnlySpan<byte> _names;           // the shared names
    private readonly MemberTable _table;
    private readonly long _now;
    private readonly ValueEncoding _encoding;
    private TableWalk _walk;
    private Selection _selection;
    private int _at, _nameAt;

    private HashFields(in Entry entry, TableWalk walk, Selection selection, bool everything = false)
    {
        _now = everything ? long.MinValue : entry.Keyspace.Store.Now;
        _encoding = entry.Encoding;
        _walk = walk;
        _selection = selection;
        switch (_encoding)
        {
            case ValueEncoding.Large:
                _table = LargeHash.Table(entry);
                break;
            case ValueEncoding.Shaped:
                _names = ShapedFields.Names(entry);
                _entries = ShapedFields.Values(entry);
                break;
            default:
                _entries = PackedFields.Of(entry).Entries;
                break;
        }
    }

    public HashField Current { get; private set; }

    internal static HashFields All(in Entry entry, bool everything = false) =>
        new(entry, IsLarge(entry) ? TableWalk.All(LargeHash.Table(entry)) : default, Selection.All, everything);

    internal static HashFields Position(in Entry entry, ref ulong cursor, bool everything = false) =>
        new(entry, TableWalk.Position(LargeHash.Table(entry), ref cursor), Selection.All, everything);

    internal static HashFields Some(in Entry entry, long count)
    {
        ShardStore store = entry.Keyspace.Store;
        long all = HashValue.Count(entry);
        bool allAlive = !HashValue.HidesFields(entry);
        if (IsLarge(entry) && allAlive && TableWalk.PicksAreCheaper(count, all))
            return new(entry, TableWalk.Picks(LargeHash.Table(entry), count, store), Selection.All);
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
        while (_encoding == ValueEncoding.Large ? NextLarge() : NextSmall())
            if (PackedFields.IsAlive(Current.Expiry, _now) && _selection.Takes()) return true;
        return false;
    }

    private bool NextLarge()
    {
        if (!_walk.MoveNext()) return false;
        Current = LargeHash.Read(_table, _walk.Current);
        return true;
    }

    private bool NextSmall()
    {
        if (_at >= _entries.Length) return false;
        Current = _encoding == ValueEncoding.Shaped
            ? new HashField(Packed.Read(_names, _nameAt, out _nameAt), Packed.Read(_entries, _at, out _at), expiry: 0)
            : PackedFields.Read(_entries, _at, _encoding == ValueEncoding.PackedWithExpiry, out _at);
        return true;
    }

    private static bool IsLarge(in Entry entry) => entry.Encoding == ValueEncoding.Large;
}
