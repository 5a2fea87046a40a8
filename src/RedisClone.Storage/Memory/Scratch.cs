using System.Buffers;

namespace RedisClone.Storage.Memory;

/// <summary>Bytes for as long as a method runs.</summary>
public readonly ref struct Scratch
{
    private readonly byte[] _rented;

    public Scratch(int length)
    {
        FaultPoint.Allocation();
        _rented = ArrayPool<byte>.Shared.Rent(length);
        Bytes = _rented.AsSpan(0, length);
    }

    /// <summary>A copy.</summary>
    public Scratch(ReadOnlySpan<byte> bytes) : this(bytes.Length) => bytes.CopyTo(Bytes);

    public Span<byte> Bytes { get; }

    public void Dispose() => ArrayPool<byte>.Shared.Return(_rented);
}
