using RedisClone.Storage.Structures;

namespace RedisClone.Storage;

/// <summary>A list of field names that many hashes are to be made of.</summary>
public sealed class FieldNames
{
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

    public ReadOnlySpan<byte> this[int index] => _names[index];

    /// <summary>As entries one after the other: what a shape is kept by.</summary>
    internal byte[] Packed { get; }

    internal int Longest { get; }
}

/// <summary>Texts by their number.</summary>
public interface ITexts
{
    ReadOnlySpan<byte> this[int index] { get; }
}
