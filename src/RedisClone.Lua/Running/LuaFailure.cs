namespace RedisClone.Lua;

/// <summary>What became of a protected call.</summary>
public enum LuaOutcome
{
    Returned,
    Failed,

    /// <summary>The host stopped the script: nothing may catch that.</summary>
    Aborted,
}

internal enum FailureKind
{
    Error,

    /// <summary>Out of memory, or an error while handling one: no handler is called.</summary>
    Memory,
    Abort,
}

/// <summary>The error on its way up.</summary>
internal struct LuaFailure
{
    public FailureKind Kind;
    public LuaValue Value;
    public bool HasLocation;

    /// <summary>Null if the host raised it on its own account.</summary>
    public Prototype? Function;
    public int Position;
}

/// <summary>An error that nothing in the script caught.</summary>
public readonly record struct LuaError(LuaValue Value, LuaString? Source, int Line)
{
    /// <summary>The value as text, if it is a string or a number.</summary>
    public string Message => Value.AsString?.ToString() ??
        (Value.IsNumber ? LuaNumber.ToLuaString(Value.AsNumber).ToString() : "execution failure");
}
