using RedisClone.Memory;

namespace RedisClone.Engine.Commands.Hashes;

/// <summary>
/// A list of the arguments for which a command changed something. It uses the buffer of the caller if that is large enough.
/// </summary>
internal ref struct FieldList
{
    /// <summary>The size of the buffers that callers provide.</summary>
    public const int OnStack = 64;

    private readonly int[]? _rented;
    private readonly Span<int> _room;
    private int _count;

    public FieldList(Span<int> room, int most)
    {
        if (most > room.Length) room = _rented = RentedArrays.Rent<int>(most);
        _room = room;
    }

    public readonly ReadOnlySpan<int> Items => _room[.._count];

    public void Add(int argument) => _room[_count++] = argument;

    public readonly void Dispose()
    {
        if (_rented is not null) RentedArrays.Return(_rented);
    }
}
