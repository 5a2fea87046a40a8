using System.Text;

namespace RedisClone.Lua;

/// <summary>An immutable string of bytes. Strings are compared by content; the hash is computed once, when first needed.</summary>
public sealed class LuaString : LuaObject
{
    /// <summary>What a string costs besides its bytes: its own header and fields, and those of its array.</summary>
    private const int Overhead = 56;

    public static readonly LuaString Empty = new([]);

    private static readonly LuaString[] s_single = MakeSingles();

    /// <summary>From this length on the hash is of all bytes: it tells strings that differ apart without a comparison.</summary>
    private const int LongString = 128;

    private byte[] _bytes;

    /// <summary>Takes the array over: it must not be written to afterwards.</summary>
    internal LuaString(byte[] bytes) => _bytes = bytes;

    public override LuaType Type => LuaType.String;

    public int Length => _bytes.Length;

    public ReadOnlySpan<byte> Span => _bytes;

    /// <summary>The bytes themselves: they are not to be changed.</summary>
    internal byte[] Bytes => _bytes;

    internal long Size => SizeOf(_bytes.Length);

    /// <summary>The bytes of a string of a length; arrays are rounded up to words.</summary>
    internal static long SizeOf(int length) => Overhead + (((long)length + 7) & ~7L);

    /// <summary>
    /// Lua 5.1's own hash: tables are traversed in the order of their hashes, and scripts have come to depend on it. Tables turn
    /// to <see cref="KeyedHash"/> when keys collide. Of a long string, of which Lua samples 32 bytes, it is keyed at once.
    /// </summary>
    internal int Hash
    {
        get
        {
            if (Tag == 0) Tag = _bytes.Length < LongString ? ComputeHash(_bytes) : KeyedHash.Of(_bytes);
            return Tag;
        }
    }

    /// <summary>Makes a string that no interpreter accounts for: for constants of the host.</summary>
    public static LuaString From(ReadOnlySpan<byte> bytes) => new(bytes.ToArray());

    public static LuaString From(string text) => new(Encoding.Latin1.GetBytes(text));

    public bool ContentEquals(LuaString other)
    {
        if (ReferenceEquals(this, other)) return true;
        byte[] mine = _bytes, others = other._bytes;
        if (mine == others) return true;
        if (mine.Length != others.Length || Hash != other.Hash || !mine.AsSpan().SequenceEqual(others)) return false;
        // The comparison of long strings is no counted work: they are compared once.
        if (mine.Length >= LongString) other._bytes = mine;
        return true;
    }

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
