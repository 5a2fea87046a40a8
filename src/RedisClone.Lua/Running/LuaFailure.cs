using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>The outcome of a protected call.</summary>
public enum LuaOutcome
{
    Returned,
    Failed,

    /// <summary>The host stopped the script. Scripts cannot catch this.</summary>
    Aborted,
}

internal enum FailureKind
{
    Error,

    /// <summary>Out of memory, or an error within an error handler. No handler is called.</summary>
    Memory,
    Abort,
}

/// <summary>The error that is being propagated.</summary>
internal struct LuaFailure
{
    public FailureKind Kind;
    public LuaValue Value;
    public bool HasLocation;

    /// <summary>Null if the host raised the error.</summary>
    public Prototype? Function;
    public int Position;
}

/// <summary>An error that the script did not catch.</summary>
public readonly record struct LuaError(LuaValue Value, LuaString? Source, int Line)
{
    /// <summary>The value as text if it is a string or a number.</summary>
    public string Message => Value.AsString?.ToString() ??
        (Value.IsNumber ? LuaNumber.ToLuaString(Value.AsNumber).ToString() : "execution failure");
}
