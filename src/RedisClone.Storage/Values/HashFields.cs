namespace RedisClone.Storage;

/// <summary>Walks fields of a hash that are alive: all of them, or a random part.</summary>
public ref struct HashFields
{
    private readonly ReadOnlySpan<byte> _entries;
    private readonly long _now;
    private readonly bool _expiring;
    private int _at;
    private Selection _selection;

    private HashFields(in Entry entry, Selection selection)
    {
        _entries = PackedFields.Of(entry).Entries;
        _expiring = entry.Encoding == ValueEncoding.PackedWithExpiry;
        _now = entry.Keyspace.Store.Now;
        _selection = selection;
    }

    public HashField Current { get; private set; }

    internal static HashFields All(in Entry entry) => new(entry, Selection.All);

    internal static HashFields Some(in Entry entry, long count)
    {
        long alive = 0;
        foreach (HashField _ in All(entry)) alive++;
        return new HashFields(entry, new Selection(count, alive, entry.Keyspace.Store.Random));
    }

    public readonly HashFields GetEnumerator() => this;

    public bool MoveNext()
    {
        while (_at < _entries.Length)
        {
            Current = PackedFields.Read(_entries, _at, _expiring, out _at);
            if (PackedFields.IsAlive(Current.Expiry, _now) && _selection.Takes()) return true;
        }
        return false;
    }
}
