using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>
/// The events of metatables. Tables cache the absence of the first five, because they are looked up often.
/// </summary>
internal enum Metamethod
{
    Index,
    NewIndex,
    Gc,
    Mode,
    Equal,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Negate,
    Length,
    Less,
    LessEqual,
    Concat,
    Call,
}

/// <summary>The names that the interpreter itself looks up.</summary>
internal static class WellKnown
{
    public static readonly LuaString N = LuaString.From("n");
    public static readonly LuaString ToStringName = LuaString.From("__tostring");
    public static readonly LuaString MetatableName = LuaString.From("__metatable");

    /// <summary>The source name of host functions.</summary>
    public static readonly LuaString HostSource = LuaString.From("=[C]");

    public static readonly LuaString[] Events =
    [
        .. new[]
        {
            "__index", "__newindex", "__gc", "__mode", "__eq", "__add", "__sub", "__mul", "__div", "__mod", "__pow", "__unm",
            "__len", "__lt", "__le", "__concat", "__call",
        }.Select(LuaString.From),
    ];
}
