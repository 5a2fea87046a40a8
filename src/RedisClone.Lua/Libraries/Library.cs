using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>Registers the built-in functions.</summary>
internal static class Library
{
    public static void OpenAll(LuaState state)
    {
        BaseLibrary.Open(state);
        CoroutineLibrary.Open(state);
        StringLibrary.Open(state);
        TableLibrary.Open(state);
        MathLibrary.Open(state);
        OsLibrary.Open(state);
        BitLibrary.Open(state);
        StructLibrary.Open(state);
        JsonLibrary.Open(state);
        MessagePackLibrary.Open(state);
    }

    public static void Add(LuaState state, LuaTable table, params ReadOnlySpan<(string Name, LuaHostBody Body)> functions)
    {
        foreach ((string name, LuaHostBody body) in functions) state.SetField(table, name, new LuaHostFunction(body));
    }

    /// <summary>Adds a global table of functions.</summary>
    public static LuaTable Open(LuaState state, string name, params ReadOnlySpan<(string Name, LuaHostBody Body)> functions)
    {
        var table = new LuaTable(0, functions.Length);
        Add(state, table, functions);
        state.SetField(state.Globals, name, table);
        return table;
    }
}
