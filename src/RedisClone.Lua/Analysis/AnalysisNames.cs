using RedisClone.Lua.Values;

namespace RedisClone.Lua.Analysis;

/// <summary>The global names that mean something to <see cref="CallAnalysis"/>.</summary>
/// <param name="Keys">The table of keys.</param>
/// <param name="Modules">The tables that contain the host's functions.</param>
/// <param name="Functions">The fields of these tables whose calls are found.</param>
/// <param name="Others">Further names of the host. Their values give no access to the tables and functions above.</param>
public sealed record AnalysisNames(string Keys, string[] Modules, string[] Functions, string[] Others)
{
    /// <summary>
    /// The names of the libraries that give no access to the global names. <c>_G</c>, <c>load</c> and <c>loadstring</c> do.
    /// </summary>
    private static readonly string[] s_libraries =
    [
        "assert", "collectgarbage", "error", "gcinfo", "getmetatable", "next", "pcall", "rawequal", "rawget", "rawset", "select",
        "setmetatable", "tonumber", "tostring", "xpcall", "_VERSION", "bit", "cjson", "cmsgpack", "coroutine", "math", "os",
        "string", "struct",
    ];

    /// <summary>The functions of the library of tables that only read a table.</summary>
    private static readonly string[] s_readers = ["concat", "getn", "maxn"];

    private readonly Dictionary<string, Origin> _globals = Globals(Keys, Modules, Others);

    /// <summary>What a global name stands for; <see cref="Origin.Mixed"/> for a name that is not known.</summary>
    internal Origin OfGlobal(LuaString name) => _globals.GetValueOrDefault(name.ToString(), Origin.Mixed);

    /// <summary>What a field of a module stands for.</summary>
    internal Origin OfField(LuaString name) => Array.IndexOf(Functions, name.ToString()) >= 0 ? Origin.Callee : Origin.Value;

    /// <summary>What a field of the library of tables stands for.</summary>
    internal static Origin OfTables(LuaString name) => Array.IndexOf(s_readers, name.ToString()) >= 0 ? Origin.Reader : Origin.Value;

    private static Dictionary<string, Origin> Globals(string keys, string[] modules, string[] others)
    {
        var globals = new Dictionary<string, Origin>
        {
            [keys] = Origin.Keys, ["unpack"] = Origin.Unpack, ["pairs"] = Origin.Iterate, ["ipairs"] = Origin.Iterate,
            ["type"] = Origin.Reader, ["table"] = Origin.Tables,
        };
        foreach (string name in (string[])[.. s_libraries, .. others]) globals[name] = Origin.Value;
        foreach (string name in modules) globals[name] = Origin.Module;
        return globals;
    }
}
