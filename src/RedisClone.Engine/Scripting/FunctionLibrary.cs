using RedisClone.Lua.Values;

namespace RedisClone.Engine.Scripting;

/// <summary>The functions that one FUNCTION LOAD registered, and their source.</summary>
internal sealed class FunctionLibrary(string name, byte[] source)
{
    public string Name => name;

    /// <summary>The source as it was sent, including its first line.</summary>
    public byte[] Source => source;

    public List<LibraryFunction> Functions { get; } = [];

    /// <summary>The memory that the loaded library takes in the interpreter.</summary>
    public long Bytes { get; set; }
}

/// <summary>A function that FCALL can run.</summary>
internal sealed class LibraryFunction(string name, string? description, LuaFunction body, ScriptFlags flags) : Routine(name, body, flags)
{
    private bool _keepsToKeys;

    public string? Description => description;

    public override bool KeepsToKeys => _keepsToKeys;

    /// <summary>Notes that the function needs no shards but those of its keys, and that no call of it sees another one.</summary>
    public void KeepToKeys() => _keepsToKeys = true;
}
