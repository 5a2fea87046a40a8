namespace RedisClone.Lua.Running;

/// <summary>
/// The generator of POSIX lrand48: x' = 0x5DEECE66D x + 0xB with 48 bits, of which the upper 31 are the result. After
/// <c>math.randomseed</c> a script receives the same numbers as from Redis.
/// </summary>
public sealed class LuaRandom
{
    private const ulong Mask = (1UL << 48) - 1;

    private ulong _x = 0x1234_ABCD_330E;

    public void Seed(int seed) => _x = ((ulong)(uint)seed << 16) | 0x330E;

    /// <summary>Continues at a random position that cannot be predicted from earlier numbers.</summary>
    internal void Restart() => _x = (ulong)Random.Shared.NextInt64() & Mask;

    /// <summary>Returns a number from 0 to 2^31 - 1.</summary>
    public int Next()
    {
        _x = ((_x * 0x5DEECE66D) + 0xB) & Mask;
        return (int)(_x >> 17);
    }
}
