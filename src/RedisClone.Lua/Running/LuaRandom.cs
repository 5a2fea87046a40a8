namespace RedisClone.Lua;

/// <summary>
/// The generator of POSIX's lrand48: 48 bits, x' = 0x5DEECE66D x + 0xB, of which the upper 31 are the number. Redis uses
/// it so that a script sees the same numbers everywhere.
/// </summary>
public sealed class LuaRandom
{
    private const ulong Mask = (1UL << 48) - 1;

    private ulong _x = 0x1234_ABCD_330E;

    public void Seed(int seed) => _x = ((ulong)(uint)seed << 16) | 0x330E;

    /// <summary>A number from 0 up to 2^31 - 1.</summary>
    public int Next()
    {
        _x = ((_x * 0x5DEECE66D) + 0xB) & Mask;
        return (int)(_x >> 17);
    }
}
