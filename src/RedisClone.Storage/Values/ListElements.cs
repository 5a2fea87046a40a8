namespace RedisClone.Storage;

/// <summary>Walks a list from an index on, in either direction.</summary>
public ref struct ListElements
{
    private readonly ReadOnlySpan<byte> _entries;
    private readonly bool _backwards;
    private int _at;

    internal ListElements(in Entry entry, long from, bool backwards)
    {
        var block = new ListBlock(entry.Value);
        _backwards = backwards;
        if (from < 0 || from >= block.Count) return;
        _entries = block.Entries;
        _at = block.PositionOf((int)from);
        if (backwards) _at = Packed.Next(_entries, _at);
    }

    public Element Current { get; private set; }

    public readonly ListElements GetEnumerator() => this;

    public bool MoveNext()
    {
        if (_at >= _entries.Length && !_backwards || _at == 0 && _backwards) return false;
        if (_backwards) _at = Packed.Previous(_entries, _at);
        Current = Packed.Read(_entries, _at, out int next);
        if (!_backwards) _at = next;
        return true;
    }
}
