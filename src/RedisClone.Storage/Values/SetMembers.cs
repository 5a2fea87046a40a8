namespace RedisClone.Storage;

/// <summary>Walks members of a set: all of them, or a random part.</summary>
public ref struct SetMembers
{
    private readonly ReadOnlySpan<byte> _bytes;           // the entries of a packed set, or the whole of a set of integers
    private readonly int _integers;
    private int _at;
    private Selection _selection;

    private SetMembers(in Entry entry, Selection selection)
    {
        bool integers = entry.Encoding == ValueEncoding.Integers;
        _bytes = integers ? entry.Value : new PackedValue(entry).Entries;
        _integers = integers ? Integers.Count(_bytes) : -1;
        _selection = selection;
    }

    public Element Current { get; private set; }

    internal static SetMembers All(in Entry entry) => new(entry, Selection.All);

    internal static SetMembers Some(in Entry entry, long count) =>
        new(entry, new Selection(count, SetValue.Count(entry), entry.Keyspace.Store.Random));

    public readonly SetMembers GetEnumerator() => this;

    public bool MoveNext()
    {
        while (_at < (_integers >= 0 ? _integers : _bytes.Length))
        {
            Current = _integers >= 0 ? new Element(Integers.At(_bytes, _at++)) : Packed.Read(_bytes, _at, out _at);
            if (_selection.Takes()) return true;
        }
        return false;
    }
}
