using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Engine.Scripting;

/// <summary>The copies of libraries' functions in an interpreter that runs functions beside others. They count as its memory.</summary>
internal sealed class FunctionCopies(LuaState state, FunctionEnvironment environment)
{
    private readonly Dictionary<LibraryFunction, LuaFunction> _copies = [];
    private int _removals;

    /// <summary>The copy of a function that keeps to its keys. The caller holds a shard, so that no library is removed.</summary>
    public LuaFunction Of(LibraryFunction function, LibrarySet libraries)
    {
        if (_removals != libraries.Removals) Clear(libraries.Removals);
        if (_copies.TryGetValue(function, out LuaFunction? known)) return known;
        LuaFunction copy = LuaState.Copy(function.Body, environment.Table);
        state.TrySet(state.Registry, copy, new LuaValue(true));
        return _copies[function] = copy;
    }

    private void Clear(int removals)
    {
        foreach (LuaFunction copy in _copies.Values) state.Forget(copy);
        _copies.Clear();
        _removals = removals;
    }
}
