using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Engine.Scripting;

/// <summary>The field names of tables that represent replies for which Lua has no type.</summary>
internal sealed class ReplyFields(LuaState state)
{
    public LuaString Err { get; } = state.Name("err");

    public LuaString Ok { get; } = state.Name("ok");

    public LuaString Double { get; } = state.Name("double");

    public LuaString BigNumber { get; } = state.Name("big_number");

    public LuaString Verbatim { get; } = state.Name("verbatim_string");

    public LuaString Format { get; } = state.Name("format");

    public LuaString String { get; } = state.Name("string");

    public LuaString Map { get; } = state.Name("map");

    public LuaString Set { get; } = state.Name("set");

    /// <summary>In an error's table: the failed command has already counted the error.</summary>
    public LuaString IgnoreStatistics { get; } = state.Name("ignore_error_stats_update");
}
