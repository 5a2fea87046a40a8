using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>Protects globals that the scripts of several users share.</summary>
public static class LuaSandbox
{
    /// <summary>Freezes a table, its metatable and every table reachable from them.</summary>
    public static void Freeze(LuaTable root)
    {
        var pending = new Stack<LuaTable>();
        pending.Push(root);
        while (pending.TryPop(out LuaTable? table))
        {
            if (table.Frozen) continue;
            table.Frozen = true;
            if (table.Metatable is { } metatable) pending.Push(metatable);
            int at = -1;
            while (table.Advance(ref at, out _, out LuaValue value))
            {
                if (value.Tag is LuaTable child) pending.Push(child);
            }
        }
    }

    /// <summary>Freezes the globals and the metatable of strings.</summary>
    public static void Freeze(LuaState state)
    {
        Freeze(state.Globals);
        if (state.StringMetatable is { } strings) Freeze(strings);
    }

    /// <summary>Makes it an error to read a name that does not exist.</summary>
    public static void RejectUnknownNames(LuaState state, LuaTable table)
    {
        LuaTable metatable = new(0, 1);
        state.SetField(metatable, "__index", new LuaHostFunction(FailUnknown));
        table.Metatable = metatable;
    }

    private static int FailUnknown(ref LuaCall call)
    {
        if (call.Count != 2) return call.Error("Wrong number of arguments to luaProtectedTableError");
        if (call[2].Type is not (LuaType.String or LuaType.Number))
            return call.Error("Second argument to luaProtectedTableError must be a string or number");
        ReadOnlySpan<byte> name = call.CheckString(2).Span;
        int zero = name.IndexOf((byte)0);
        return call.Error("Script attempted to access nonexistent global variable '", zero < 0 ? name : name[..zero], "'");
    }
}
