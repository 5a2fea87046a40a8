namespace RedisClone.Lua;

/// <summary>Everything that could otherwise grow without end. They are Lua 5.1's own where it has one.</summary>
internal static class LuaLimits
{
    /// <summary>Nested calls that need the real stack: host functions that call back, metamethods, coroutines, syntax levels.</summary>
    public const int HostCalls = 200;

    /// <summary>Room above <see cref="HostCalls"/> for the handling of the error itself.</summary>
    public const int HostCallsInError = HostCalls + (HostCalls / 8);

    /// <summary>Nested calls of any kind: where Lua 5.1's array of frames, doubled and doubled, would pass its limit.</summary>
    public const int Frames = 16383;

    /// <summary>Room above <see cref="Frames"/> for the handling of the error itself.</summary>
    public const int FramesInError = Frames + 512;

    /// <summary>Values on the stack of one coroutine.</summary>
    public const int StackSlots = 1_000_000;

    /// <summary>Values that one host function may ask the stack to hold.</summary>
    public const int HostSlots = 8000;

    /// <summary>Values that a host function may push without asking.</summary>
    public const int HostMinimum = 20;

    /// <summary>Metatables that one access may go through.</summary>
    public const int MetatableChain = 100;

    public const int Captures = 32;

    /// <summary>Pattern items that may wait for those after them.</summary>
    public const int PatternDepth = 1000;

    /// <summary>The longest string: .NET's longest array.</summary>
    public const int StringLength = 0x7FFFFFC7;
}
