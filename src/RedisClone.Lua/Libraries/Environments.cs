namespace RedisClone.Lua.Libraries;

/// <summary><c>getfenv</c> and <c>setfenv</c>: the table in which a function finds its globals.</summary>
internal static class Environments
{
    public static int Get(ref LuaCall call)
    {
        LuaFunction? function = Target(ref call, optional: true);
        if (call.Failed) return 0;
        return call.Return(function is LuaClosure closure ? closure.Environment : call.Thread.Globals);
    }

    public static int Set(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(2);
        LuaFunction? function = Target(ref call, optional: false);
        if (call.Failed) return 0;
        if (call[1].IsNumber && call[1].Number == 0)
        {
            call.Thread.Globals = table;
            return 0;
        }
        if (function is not LuaClosure closure) return call.Error("'setfenv' cannot change environment of given object");
        closure.Environment = table;
        return call.Return(closure);
    }

    private static LuaFunction? Target(ref LuaCall call, bool optional)
    {
        if (call[1].AsFunction is { } given) return given;
        int level = optional ? call.OptionalInt(1, 1) : call.CheckInt(1);
        call.Check(level >= 0, 1, "level must be non-negative");
        if (call.Failed) return null;
        int frame = call.Thread.FrameAt(level);
        if (frame == -1) call.ArgumentError(1, "invalid level");
        else if (frame < 0) call.Error($"no function environment for tail call at level {level}");
        return frame < 0 ? null : call.Thread.Frames[frame].Function;
    }
}
