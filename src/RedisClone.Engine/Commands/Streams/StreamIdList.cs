using RedisClone.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>A list of identifiers in memory that is rented from the array pool.</summary>
internal ref struct StreamIdList
{
    private StreamId[]? _rented;

    public int Count { get; private set; }

    public readonly ReadOnlySpan<StreamId> Items => _rented.AsSpan(0, Count);

    public void Add(StreamId id)
    {
        if (_rented is null || Count == _rented.Length) Grow();
        _rented![Count++] = id;
    }

    /// <summary>Makes room for this many identifiers in an empty list, so that adding them needs no memory.</summary>
    public void MakeRoom(int count) => _rented = RentedArrays.Rent<StreamId>(count);

    public readonly void Dispose()
    {
        if (_rented is not null) RentedArrays.Return(_rented);
    }

    private void Grow()
    {
        StreamId[] larger = RentedArrays.Rent<StreamId>(Math.Max(16, Count * 2));
        if (_rented is not null)
        {
            _rented.AsSpan(0, Count).CopyTo(larger);
            RentedArrays.Return(_rented);
        }
        _rented = larger;
    }
}
