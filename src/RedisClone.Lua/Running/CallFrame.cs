using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>One active call of a Lua function or a host function.</summary>
internal struct CallFrame
{
    /// <summary>The caller accepts any number of results.</summary>
    public const int AllResults = -1;

    public LuaFunction Function;

    /// <summary>The stack index of the called value, which the results replace.</summary>
    public int Callee;

    /// <summary>The stack index of register 0, or of the first argument.</summary>
    public int Base;

    /// <summary>The end of the registers on the stack.</summary>
    public int Limit;

    /// <summary>The next instruction. Only valid while the instruction loop is not running this frame.</summary>
    public int Position;

    public int Wanted;

    /// <summary>The number of calls that this tail call replaced.</summary>
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

    /// <summary>The coroutine has resumed another one.</summary>
    Normal,
    Dead,
}
