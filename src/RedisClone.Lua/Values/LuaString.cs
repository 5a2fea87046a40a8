using System.Text;

namespace RedisClone.Lua;

/// <summary>An immutable string of bytes. Strings are compared by content; the hash is computed once, when first needed.</summary>
public sealed class LuaString : LuaObject
{
    /// <summary>What a string costs besides its bytes: its own header and fields, and those of its array.</summary>
    internal const int Overhead = 56;

    public static readonly LuaString Empty = new([]);

    private static readonly LuaString[] s_single = MakeSingles();

    private readonly byte[] _bytes;

    /// <summary>Takes the array over: nobody may write to it afterwards.</summary>
    internal LuaString(byte[] bytes) => _bytes = bytes;

    public override LuaType Type => LuaType.String;

    public int Length => _bytes.Length;

    public ReadOnlySpan<byte> Span => _bytes;

    internal int Size => _bytes.Length + Overhead;

    /// <summary>
    /// Lua 5.1's own hash, which samples at most 32 bytes of a long string: tables are traversed in the order of their
    /// hashes, and scripts have come to depend on it.
    /// </summary>
    internal int Hash
    {
        get
        {
            if (Tag == 0) Tag = ComputeHash(_bytes);
            return Tag;
        }
    }

    /// <summary>Makes a string that no interpreter accounts for: for constants of the host.</summary>
    public static LuaString From(ReadOnlySpan<byte> bytes) => new(bytes.ToArray());

    public static LuaString From(string text) => new(Encoding.Latin1.GetBytes(text));

    public bool ContentEquals(LuaString other) =>
        ReferenceEquals(this, other) ||
        (_bytes.Length == other._bytes.Length && Hash == other.Hash && _bytes.AsSpan().SequenceEqual(other._bytes));

    /// <summary>Each byte as the character of that number, so that nothing is lost.</summary>
    public override string ToString() => Encoding.Latin1.GetString(_bytes);

    internal static LuaString Single(byte value) => s_single[value];

    internal static int ComputeHash(ReadOnlySpan<byte> bytes)
    {
        uint hash = (uint)bytes.Length;
        int step = (bytes.Length >> 5) + 1;
        for (int i = bytes.Length; i >= step; i -= step) hash ^= (hash << 5) + (hash >> 2) + bytes[i - 1];
        return (int)hash;
    }

    private static LuaString[] MakeSingles()
    {
        var all = new LuaString[256];
        for (int i = 0; i < all.Length; i++) all[i] = new LuaString([(byte)i]);
        return all;
    }
}
