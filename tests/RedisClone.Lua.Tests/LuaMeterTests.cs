using RedisClone.Lua.Running;

namespace RedisClone.Lua.Tests;

/// <summary>What an interpreter counts as memory.</summary>
public sealed class LuaMeterTests
{
    /// <summary>
    /// A long reply of a command has no safe point. Its elements are allocated one by one, while the host grants little more than each of
    /// them takes.
    /// </summary>
    [Fact]
    public void AllocationsNearTheLimitTakeFewCensuses()
    {
        const long limit = 1 << 20, element = 64;
        long granted = 0;
        int censuses = 0;
        LuaMeter meter = null!;
        meter = new LuaMeter(limit)
        {
            OnShortage = bytes => bytes <= 1000 && (granted += bytes) <= 4 * limit,
            Census = () =>
            {
                censuses++;
                meter.CensusTaken(meter.Allocated);
            },
        };
        long allocated = 0;
        while (meter.TryCharge(element)) allocated += element;
        Assert.InRange(allocated, limit * 4, limit * 6);
        Assert.InRange(censuses, 0, 100);
    }
}
