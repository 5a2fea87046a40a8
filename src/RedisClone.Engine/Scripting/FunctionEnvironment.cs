using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// The environment of functions: it contains the names that functions may use, and while a library is loaded, only those for
/// registering functions. No library can change it, so all libraries share it.
/// </summary>
internal sealed class FunctionEnvironment
{
    private readonly LuaState _state;
    private readonly LuaTable _whileLoading, _onceLoaded;

    public FunctionEnvironment(LuaState state, RedisLibrary library)
    {
        _state = state;
        LuaSandbox.RejectUnknownNames(state, library.ForLoading);
        LuaTable names = state.TryNewTable()!;
        state.SetField(names, "redis", library.ForLoading);
        _whileLoading = Inheriting(names);

        LuaTable globals = state.TryNewTable()!;
        for (int at = -1; state.Globals.Advance(ref at, out LuaValue name, out LuaValue value);) state.TrySet(globals, name, value);
        state.SetField(globals, "_G", globals);
        state.SetField(globals, "redis", library.ForFunctions);
        state.SetField(globals, "server", library.ForFunctions);
        _onceLoaded = Inheriting(globals);
        Table = state.TryNewTable()!;
        (Table.Metatable, Table.Frozen) = (_onceLoaded, true);
    }

    /// <summary>The table of global variables.</summary>
    public LuaTable Table { get; }

    /// <summary>Whether a library is being loaded.</summary>
    public bool IsLoading
    {
        set => Table.Metatable = value ? _whileLoading : _onceLoaded;
    }

    /// <summary>The memory that functions take without the environment.</summary>
    public long SizeOf(IEnumerable<LuaFunction> functions) => LuaState.SizeOf(functions, Table, _whileLoading);

    /// <summary>Returns a metatable for environments that contain exactly these names.</summary>
    private LuaTable Inheriting(LuaTable names)
    {
        LuaSandbox.RejectUnknownNames(_state, names);
        LuaTable metatable = _state.TryNewTable()!;
        _state.SetField(metatable, "__index", names);
        LuaSandbox.Freeze(metatable);
        return metatable;
    }
}
