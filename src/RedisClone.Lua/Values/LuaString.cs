using System.Text;

namespace RedisClone.Lua.Values;

/// <summary>An immutable byte string. Strings are compared by content. The hash is computed at its first use.</summary>
public sealed class LuaString : LuaObject
{
    /// <summary>The size of a string without its bytes: the headers and fields of the object and its array.</summary>
    private const int Overhead = 56;

    public static readonly LuaString Empty = new([]);

    private static readonly LuaString[] s_single = MakeSingles();

    /// <summary>
    /// From this length on the hash covers all bytes, so that different strings are distinguished without a comparison.
    /// </summary>
    private const int LongString = 128;

    private byte[] _bytes;

    /// <summary>Takes ownership of the array, which must not be changed afterwards.</summary>
    internal LuaString(byte[] bytes) => _bytes = bytes;

    public override LuaType Type => LuaType.String;

    public int Length => _bytes.Length;

    public ReadOnlySpan<byte> Span => _bytes;

    /// <summary>The array of the string, which must not be changed.</summary>
    internal byte[] Bytes => _bytes;

    internal long Size => SizeOf(_bytes.Length);

    /// <summary>Returns the size of a string with the given length. Arrays are rounded up to words.</summary>
    internal static long SizeOf(int length) => Overhead + (((long)length + 7) & ~7L);

    /// <summary>
    /// The hash of Lua 5.1. It determines the traversal order of tables, on which scripts rely. Tables switch to
    /// <see cref="KeyedHash"/> when keys collide. Lua samples only 32 bytes of a long string, so long strings use the
    /// keyed hash at once.
    /// </summary>
    internal int Hash
    {
        get
        {
            if (Tag == 0) Tag = _bytes.Length < LongString ? ComputeHash(_bytes) : KeyedHash.Of(_bytes);
            return Tag;
        }
    }

    /// <summary>The hash of tables in which keys collide. That of a long string is kept: a key may have megabytes.</summary>
    internal int Keyed => _bytes.Length < LongString ? KeyedHash.Of(_bytes) : Hash;

    /// <summary>Creates a string that no interpreter counts, for constants of the host.</summary>
    public static LuaString From(ReadOnlySpan<byte> bytes) => new(bytes.ToArray());

    public static LuaString From(string text) => new(Encoding.Latin1.GetBytes(text));

    public bool ContentEquals(LuaString other)
    {
        if (ReferenceEquals(this, other)) return true;
        byte[] mine = _bytes, others = other._bytes;
        if (mine == others) return true;
        if (mine.Length != others.Length || Hash != other.Hash || !mine.AsSpan().SequenceEqual(others)) return false;
        // The comparison of long strings does not count as work. Sharing the array ensures that two strings are
        // compared only once.
        if (mine.Length >= LongString) other._bytes = mine;
        return true;
    }

    /// <summary>Returns each byte as the character with the same number, so that the conversion is lossless.</summary>
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
