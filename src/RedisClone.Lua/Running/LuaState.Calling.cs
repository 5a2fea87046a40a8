using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>Calls of functions by the host.</summary>
public sealed partial class LuaState
{
    private LuaThread? _resultThread;
    private int _results;
    private int _resultCount;

    /// <summary>The error of the last failed <see cref="Call"/>.</summary>
    public LuaError Error { get; private set; }

    /// <summary>
    /// The number of results of the last call. The results are valid until the next call. Results of a call from within
    /// a host function are valid only until that function pushes a value.
    /// </summary>
    public int ResultCount => _resultCount;

    /// <summary>Returns a result of the last call, or nil beyond the last one.</summary>
    public LuaValue Result(int index) =>
        (uint)index < (uint)_resultCount ? _resultThread!.Stack[_results + index] : LuaValue.Nil;

    /// <summary>
    /// Calls a function. The call itself allocates no memory. A host function may call this method while it runs.
    /// </summary>
    public LuaOutcome Call(LuaFunction function, ReadOnlySpan<LuaValue> arguments)
    {
        LuaThread thread = Current;
        bool outermost = thread.FrameCount == 0;
        if (outermost) Begin(function);
        if (outermost && Meter.CensusDue && !TakeCensus()) return TakeError(LuaOutcome.Failed);
        int callee = thread.FrameCount > 0 && thread.Frame.IsLua ? thread.Frame.Limit : thread.Top;
        if (!thread.EnsureStack(callee, arguments.Length + 1)) return TakeError(LuaOutcome.Failed);
        thread.Stack[callee] = function;
        arguments.CopyTo(thread.Stack.AsSpan(callee + 1));
        thread.Top = callee + 1 + arguments.Length;
        LuaOutcome outcome = LuaOutcome.Aborted;
        try
        {
            outcome = thread.ProtectedCall(callee, CallFrame.AllResults, default);
        }
        finally
        {
            // A host function that throws is a defect, but it must not affect the next script.
            if (outermost && outcome == LuaOutcome.Aborted) Abandon();
        }
        if (outcome != LuaOutcome.Returned) return TakeError(outcome);
        _resultThread = thread;
        _results = callee;
        _resultCount = thread.Top - callee;
        if (!outermost) thread.Top = callee;
        return LuaOutcome.Returned;
    }

    /// <summary>Discards everything that the last call left on the stack, including its results.</summary>
    public void Reset()
    {
        Main.Clear();
        _resultCount = 0;
        Error = default;
    }

    /// <summary>
    /// Restores everything that an earlier call could change, so that no call depends on an earlier one. The host
    /// freezes the tables that calls share; see <see cref="LuaSandbox"/>.
    /// </summary>
    private void Begin(LuaFunction function)
    {
        Reset();
        Meter.ReleaseAll();
        Building.Clear();
        Failure = default;
        Main.Globals = (function as LuaClosure)?.Environment ?? Globals;
        Random.Restart();
        Restoring?.Invoke();
    }

    /// <summary>Restores the state after an abort, which skips all cleanup on its way.</summary>
    private void Abandon()
    {
        Current = Main;
        Main.Status = ThreadStatus.Running;
        HostDepth = 0;
        Handler = default;
        InHandler = false;
    }

    private LuaOutcome TakeError(LuaOutcome outcome)
    {
        LuaString? source = null;
        int line = -1;
        if (Failure.HasLocation)
        {
            source = Failure.Function?.Source ?? WellKnown.HostSource;
            if (Failure.Function is { } f) line = f.Lines[Failure.Position];
        }
        Error = new LuaError(Failure.Value, source, line);
        Failure = default;
        _resultCount = 0;
        return outcome;
    }
}
