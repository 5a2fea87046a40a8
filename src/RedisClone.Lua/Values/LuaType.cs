namespace RedisClone.Lua.Values;

/// <summary>The types of Lua values.</summary>
public enum LuaType
{
    Nil,
    Boolean,
    LightUserData,
    Number,
    String,
    Table,
    Function,
    Thread,
}

internal static class LuaTypeNames
{
    private static readonly string[] s_names =
        ["nil", "boolean", "userdata", "number", "string", "table", "function", "thread"];

    public static string Of(LuaType type) => s_names[(int)type];
}
