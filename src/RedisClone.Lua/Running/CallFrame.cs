namespace RedisClone.Lua;

/// <summary>One active call, of a Lua or of a host function.</summary>
internal struct CallFrame
{
    /// <summary>The results may be as many as there are.</summary>
    public const int AllResults = -1;

    public LuaFunction Function;

    /// <summary>The stack index of the called value: the results go there.</summary>
    public int Callee;

    /// <summary>The stack index of register 0, or of the first argument.</summary>
    public int Base;

    /// <summary>The end of the registers.</summary>
    public int Limit;

    /// <summary>The next instruction; up to date whenever anything but the instruction loop runs.</summary>
    public int Position;

    public int Wanted;

    /// <summary>Calls that this one replaced.</summary>
    public int TailCalls;

    public readonly bool IsLua => Function is LuaClosure;
}

internal enum RunResult
{
    Done,
    Failed,
    Yielded,
}

internal enum ThreadStatus
{
    /// <summary>Not started, or between a yield and the next resume.</summary>
    Suspended,
    Running,

    /// <summary>It has resumed another one.</summary>
    Normal,
    Dead,
}
