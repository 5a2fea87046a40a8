using RedisClone.Memory;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.SortedSets;

namespace RedisClone.Engine.Commands.Geo;

/// <summary>A member that a search found. Its name is in the buffer of <see cref="GeoMatches"/>.</summary>
internal readonly record struct GeoMatch(int Offset, int Length, int Order, double Score, double Distance, GeoPoint Point);

/// <summary>The members that a search found, in pooled buffers.</summary>
internal struct GeoMatches
{
    private GeoMatch[] _items = [];
    private byte[] _names = [];
    private int _used;

    public GeoMatches()
    {
    }

    public int Count { get; private set; }

    public readonly ReadOnlySpan<GeoMatch> Items => _items.AsSpan(0, Count);

    public readonly ReadOnlySpan<byte> NameOf(in GeoMatch match) => _names.AsSpan(match.Offset, match.Length);

    /// <summary>Finds members within a shape, at most <paramref name="most"/>, or all if that is 0.</summary>
    public void Find(scoped in Entry entry, in GeoShape shape, long most)
    {
        Span<GeoCell> cells = stackalloc GeoCell[GeoShape.MaxCells];
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        cells = cells[..shape.Cells(cells)];
        foreach (GeoCell cell in cells)
        {
            RankRange range = SortedSetValue.Ranks(entry, new ScoreRange(cell.FirstScore, cell.EndScore, MaxExclusive: true));
            if (range.Count == 0) continue;
            foreach (ScoredMember member in SortedSetValue.Members(entry, range))
            {
                GeoPoint point = GeoPoint.OfScore(member.Score);
                if (!shape.Contains(point, out double distance)) continue;
                Add(member.Member.Text(digits), member.Score, distance, point);
                if (Count == most) return;
            }
        }
    }

    /// <summary>Sorts by distance. Members with equal distances keep the order in which they were found.</summary>
    public readonly void Sort(bool descending)
    {
        Span<GeoMatch> items = _items.AsSpan(0, Count);
        if (descending) items.Sort(static (a, b) => b.Distance.CompareTo(a.Distance) is not 0 and var order ? order : a.Order - b.Order);
        else items.Sort(static (a, b) => a.Distance.CompareTo(b.Distance) is not 0 and var order ? order : a.Order - b.Order);
    }

    public void Dispose()
    {
        if (_items.Length > 0) RentedArrays.Return(_items);
        if (_names.Length > 0) RentedArrays.Return(_names);
        _items = [];
        _names = [];
    }

    private void Add(ReadOnlySpan<byte> name, double score, double distance, GeoPoint point)
    {
        Grow(ref _items, Count, Count + 1L);
        Grow(ref _names, _used, _used + (long)name.Length);
        name.CopyTo(_names.AsSpan(_used));
        _items[Count] = new GeoMatch(_used, name.Length, Count, score, distance, point);
        Count++;
        _used += name.Length;
    }

    private static void Grow<T>(ref T[] array, int used, long needed)
    {
        if (needed <= array.Length) return;
        if (needed > Array.MaxLength) throw new InsufficientMemoryException("A search has found more than an array can hold.");
        T[] larger = RentedArrays.Rent<T>((int)Math.Clamp(2L * array.Length, Math.Max(needed, 64), Array.MaxLength));
        array.AsSpan(0, used).CopyTo(larger);
        if (array.Length > 0) RentedArrays.Return(array);
        array = larger;
    }
}
