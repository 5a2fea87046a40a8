using RedisClone.Memory;

namespace RedisClone.Storage.Memory;

/// <summary>A temporary buffer of one method, rented from the array pool.</summary>
public readonly ref struct Scratch
{
    private readonly byte[] _rented;

    public Scratch(int length)
    {
        FaultPoint.Allocation();
        _rented = RentedArrays.Rent<byte>(length);
        Bytes = _rented.AsSpan(0, length);
    }

    /// <summary>Copies <paramref name="bytes"/> into a temporary buffer.</summary>
    public Scratch(ReadOnlySpan<byte> bytes) : this(bytes.Length) => bytes.CopyTo(Bytes);

    public Span<byte> Bytes { get; }

    public void Dispose() => RentedArrays.Return(_rented);
}
