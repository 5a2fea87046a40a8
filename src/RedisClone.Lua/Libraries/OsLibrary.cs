using RedisClone.Lua.Running;

namespace RedisClone.Lua.Libraries;

/// <summary>The os library, limited to the used processor time.</summary>
internal static class OsLibrary
{
    public static void Open(LuaState state) => Library.Open(state, "os", ("clock", Clock));

    private static int Clock(ref LuaCall call) => call.Return(Environment.CpuUsage.TotalTime.TotalSeconds);
}
