namespace RedisClone.Lua;

/// <summary>The types of Lua values; the two kinds of userdata share one name.</summary>
public enum LuaType
{
    Nil,
    Boolean,
    LightUserData,
    Number,
    String,
    Table,
    Function,
    UserData,
    Thread,
}

internal static class LuaTypeNames
{
    private static readonly string[] s_names =
        ["nil", "boolean", "userdata", "number", "string", "table", "function", "userdata", "thread"];

    public static string Of(LuaType type) => s_names[(int)type];
}
