namespace RedisClone.Storage.Values.Hashes;

/// <summary>A list of field names for a series of new hashes.</summary>
public sealed class FieldNames
{
    /// <summary>The memory cost of one name's array, in addition to its bytes.</summary>
    private const int ArrayBytes = 32;

    private readonly byte[][] _names;

    public FieldNames(byte[][] names)
    {
        _names = names;
        Packed = new byte[names.Sum(name => Structures.Packed.SizeOf(Element.Of(name)))];
        int at = 0;
        foreach (byte[] name in names) at += Structures.Packed.Write(Packed.AsSpan(at), Element.Of(name));
        Longest = names.Max(name => name.Length);
    }

    public int Count => _names.Length;

    /// <summary>Bytes of the names, in both forms.</summary>
    public long HeldBytes => 2L * Packed.Length + _names.Length * ArrayBytes;

    public ReadOnlySpan<byte> this[int index] => _names[index];

    /// <summary>The names as packed entries, the form in which shapes are stored.</summary>
    internal byte[] Packed { get; }

    internal int Longest { get; }
}
