namespace RedisClone.Lua;

/// <summary>
/// The generator of POSIX's lrand48: 48 bits, x' = 0x5DEECE66D x + 0xB, of which the upper 31 are the number. A script
/// that calls <c>math.randomseed</c> gets the numbers that it gets from Redis.
/// </summary>
public sealed class LuaRandom
{
    private const ulong Mask = (1UL << 48) - 1;

    private ulong _x = 0x1234_ABCD_330E;

    public void Seed(int seed) => _x = ((ulong)(uint)seed << 16) | 0x330E;

    /// <summary>Continues at a random place, which no number drawn before tells.</summary>
    internal void Restart() => _x = (ulong)Random.Shared.NextInt64() & Mask;

    /// <summary>A number from 0 up to 2^31 - 1.</summary>
    public int Next()
    {
        _x = ((_x * 0x5DEECE66D) + 0xB) & Mask;
        return (int)(_x >> 17);
    }
}
