namespace RedisClone.Lua.Running;

/// <summary>The limits of the interpreter. They equal those of Lua 5.1 where Lua has one.</summary>
internal static class LuaLimits
{
    /// <summary>
    /// Nested calls on the native stack: host functions that call back, metamethods, coroutines and syntax levels.
    /// </summary>
    public const int HostCalls = 200;

    /// <summary>The limit while an error that exceeded <see cref="HostCalls"/> is handled.</summary>
    public const int HostCallsInError = HostCalls + (HostCalls / 8);

    /// <summary>
    /// Nested calls of any kind. Lua 5.1 doubles its array of frames and fails when the next doubling would exceed its
    /// limit.
    /// </summary>
    public const int Frames = 16383;

    /// <summary>The limit while an error that exceeded <see cref="Frames"/> is handled.</summary>
    public const int FramesInError = Frames + 512;

    /// <summary>Values on the stack of one coroutine.</summary>
    public const int StackSlots = 1_000_000;

    /// <summary>Values that one host function may keep on the stack.</summary>
    public const int HostSlots = 8000;

    /// <summary>Values that a host function may push without a check.</summary>
    public const int HostMinimum = 20;

    /// <summary>Metatables that one access may follow.</summary>
    public const int MetatableChain = 100;

    public const int Captures = 32;

    /// <summary>Pattern items that may wait for the match of later items.</summary>
    public const int PatternDepth = 1000;

    /// <summary>The maximum length of a string, which is the maximum length of an array in .NET.</summary>
    public const int StringLength = 0x7FFFFFC7;
}
