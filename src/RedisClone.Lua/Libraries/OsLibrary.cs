namespace RedisClone.Lua.Libraries;

/// <summary>All that a script may know of the system: the processor time used.</summary>
internal static class OsLibrary
{
    public static void Open(LuaState state) => Library.Open(state, "os", ("clock", Clock));

    private static int Clock(ref LuaCall call) => call.Return(Environment.CpuUsage.TotalTime.TotalSeconds);
}
