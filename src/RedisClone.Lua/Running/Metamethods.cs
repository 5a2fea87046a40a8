namespace RedisClone.Lua;

/// <summary>The events that metatables define; the first five are asked for so often that their absence is cached.</summary>
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

/// <summary>Names that the interpreter itself looks up.</summary>
internal static class WellKnown
{
    public static readonly LuaString N = LuaString.From("n");
    public static readonly LuaString ToStringName = LuaString.From("__tostring");
    public static readonly LuaString MetatableName = LuaString.From("__metatable");

    /// <summary>Where functions of the host are said to come from.</summary>
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
