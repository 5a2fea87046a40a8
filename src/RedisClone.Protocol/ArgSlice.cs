namespace RedisClone.Protocol;

/// <summary>The position of an argument in the buffer of its request.</summary>
public readonly record struct ArgSlice(int Offset, int Length);

/// <summary>A growing list of slices that is reused from one request to the next.</summary>
internal sealed class SliceList
{
    private const int KeptCapacity = 4096;

    private ArgSlice[] _items = [];

    public int Count { get; private set; }

    public ReadOnlySpan<ArgSlice> Items => _items.AsSpan(0, Count);

    public ReadOnlySpan<ArgSlice> Range(int first, int count) => _items.AsSpan(first, count);

    /// <summary>
    /// Returns room for <paramref name="count"/> slices after the last one. They become part of the list with <see cref="Take"/>.
    /// </summary>
    public Span<ArgSlice> Room(int count)
    {
        if (_items.Length - Count < count) Grow(count);
        return _items.AsSpan(Count, count);
    }

    public void Take(int count) => Count += count;

    public void Add(ArgSlice slice)
    {
        if (Count == _items.Length) Grow(1);
        _items[Count++] = slice;
    }

    /// <summary>Removes all slices. Also drops the array if one huge request has enlarged it.</summary>
    public void Clear()
    {
        Count = 0;
        if (_items.Length > KeptCapacity) _items = [];
    }

    private void Grow(int count) => Array.Resize(ref _items, Math.Max(Count + count, Math.Max(16, _items.Length * 2)));
}
