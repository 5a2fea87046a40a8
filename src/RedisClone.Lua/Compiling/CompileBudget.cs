using RedisClone.Lua.Running;

namespace RedisClone.Lua.Compiling;

/// <summary>
/// Counts the memory that the compilation of one chunk uses. All of it is a reservation until the compilation ends. The
/// compiled code is then charged, and the rest is garbage.
/// </summary>
internal sealed class CompileBudget(LuaMeter meter)
{
    private const int Portion = 256 << 10;

    private long _reserved, _spent;

    public bool Spend(long bytes)
    {
        _spent += bytes;
        if (_spent <= _reserved) return true;
        long more = Math.Max(Portion, _spent - _reserved);
        // If a whole portion is not available, the exact amount may be.
        if (!meter.TryReserve(more) && !meter.TryReserve(more = _spent - _reserved)) return false;
        _reserved += more;
        return true;
    }

    public void Release()
    {
        meter.Release(_reserved, isGarbage: true);
        _reserved = 0;
    }
}
