using System.Runtime.CompilerServices;

namespace RedisClone.Protocol;

/// <summary>The position of an argument in the buffer of its request.</summary>
public readonly record struct ArgSlice(int Offset, int Length);

/// <summary>A growing list of slices that is reused from one request to the next.</summary>
internal sealed class SliceList
{
    private const int KeptCapacity = 4096;

    private ArgSlice[] _items = [];

    public int Count { get; private set; }

    /// <summary>Bytes of the slices in the list.</summary>
    public long UsedBytes => (long)Count * Unsafe.SizeOf<ArgSlice>();

    /// <summary>Bytes of the array.</summary>
    public long ArrayBytes => (long)_items.Length * Unsafe.SizeOf<ArgSlice>();

    /// <summary>The same, if the array is kept for the next request, or else 0.</summary>
    public long KeptBytes => _items.Length > KeptCapacity ? 0 : ArrayBytes;

    /// <summary>Bytes of the unused room of a list that one huge request has enlarged.</summary>
    public long SpareBytes => _items.Length > KeptCapacity ? (long)(_items.Length - Count) * Unsafe.SizeOf<ArgSlice>() : 0;

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

    /// <summary>
    /// Takes all slices of another list. A large array changes its owner, because a copy would double the memory.
    /// </summary>
    public void TakeAll(SliceList from)
    {
        if (Count == 0 && from._items.Length > KeptCapacity) (_items, from._items) = (from._items, _items);
        else from.Items.CopyTo(Room(from.Count));
        Count += from.Count;
        from.Count = 0;
    }

    /// <summary>Removes all slices. Also drops the array if one huge request has enlarged it.</summary>
    public void Clear()
    {
        Count = 0;
        if (_items.Length > KeptCapacity) _items = [];
    }

    private void Grow(int count)
    {
        long needed = (long)Count + count;
        if (needed > Array.MaxLength) throw new InsufficientMemoryException("an array cannot hold so many arguments");
        Array.Resize(ref _items, (int)Math.Max(needed, Math.Clamp(2L * _items.Length, 16, Array.MaxLength)));
    }
}
