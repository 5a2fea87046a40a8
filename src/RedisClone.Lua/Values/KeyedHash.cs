using System.Runtime.InteropServices;

namespace RedisClone.Lua.Values;

/// <summary>
/// Hash functions with a random seed per process, so that a client cannot compute keys that collide. Strings use the
/// randomized string hash of the runtime, other values use <see cref="HashCode"/>.
/// </summary>
internal static class KeyedHash
{
    public static int Of(ReadOnlySpan<byte> bytes)
    {
        int hash = string.GetHashCode(MemoryMarshal.Cast<byte, char>(bytes));
        return (bytes.Length & 1) == 0 ? hash : HashCode.Combine(hash, bytes[^1]);
    }

    public static int Of(in LuaValue value)
    {
        if (value.Tag is LuaString s) return s.Keyed;
        if (value.Tag is LuaObject o) return HashCode.Combine(o.Identity);
        // The addition converts negative zero to zero.
        ulong bits = value.IsNumber ? BitConverter.DoubleToUInt64Bits(value.Number + 0.0) : value.IsTrue ? 1UL : 0;
        return HashCode.Combine((uint)bits, (uint)(bits >> 32));
    }
}
