using RedisClone.Lua;

namespace RedisClone.Server.Scripting;

/// <summary>Functions that came with one FUNCTION LOAD, and the source that they came from.</summary>
internal sealed class FunctionLibrary(string name, byte[] source)
{
    public string Name => name;

    /// <summary>As it was sent, its first line included.</summary>
    public byte[] Source => source;

    public List<LibraryFunction> Functions { get; } = [];

    /// <summary>What it takes in the interpreter once it is loaded.</summary>
    public long Bytes { get; set; }
}

/// <summary>A function that FCALL can run.</summary>
internal sealed class LibraryFunction(string name, string? description, LuaFunction body, ScriptFlags flags) : Routine(name, body, flags)
{
    public string? Description => description;
}
