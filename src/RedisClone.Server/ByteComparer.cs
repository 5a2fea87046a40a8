using RedisClone.Storage.Memory;

namespace RedisClone.Server;

/// <summary>Byte strings by content, as keys of dictionaries.</summary>
internal sealed class ByteComparer : IEqualityComparer<byte[]>, IAlternateEqualityComparer<ReadOnlySpan<byte>, byte[]>
{
    public static readonly ByteComparer Instance = new();

    public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);

    public int GetHashCode(byte[] obj) => GetHashCode(obj.AsSpan());

    public bool Equals(ReadOnlySpan<byte> alternate, byte[] other) => alternate.SequenceEqual(other);

    public int GetHashCode(ReadOnlySpan<byte> alternate) => (int)KeyHash.Of(alternate);

    public byte[] Create(ReadOnlySpan<byte> alternate) => alternate.ToArray();
}
