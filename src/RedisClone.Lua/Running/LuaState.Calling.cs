namespace RedisClone.Lua;

/// <summary>How the host calls functions.</summary>
public sealed partial class LuaState
{
    private LuaThread? _resultThread;
    private int _results;
    private int _resultCount;

    /// <summary>The error of the last <see cref="Call"/> that failed.</summary>
    public LuaError Error { get; private set; }

    /// <summary>
    /// The number of results of the last call. They stay readable until the next one; those of a call made by a running
    /// host function only until that pushes something.
    /// </summary>
    public int ResultCount => _resultCount;

    /// <summary>A result of the last call, nil beyond the last one.</summary>
    public LuaValue Result(int index) =>
        (uint)index < (uint)_resultCount ? _resultThread!.Stack[_results + index] : LuaValue.Nil;

    /// <summary>
    /// Calls a function; allocates nothing beyond what it does itself. A host function may call this again while it
    /// runs.
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
            // Also when a host function has thrown: that is a bug, but not one that may spread to the next script.
            if (outermost && outcome == LuaOutcome.Aborted) Abandon();
        }
        if (outcome != LuaOutcome.Returned) return TakeError(outcome);
        _resultThread = thread;
        _results = callee;
        _resultCount = thread.Top - callee;
        if (!outermost) thread.Top = callee;
        return LuaOutcome.Returned;
    }

    /// <summary>Drops what the last call left on the stack, its results included.</summary>
    public void Reset()
    {
        Main.Clear();
        _resultCount = 0;
    }

    /// <summary>
    /// Restores everything that an earlier call could change, so that no call depends on one before it. Tables that calls
    /// share are frozen by the host (see <see cref="LuaSandbox"/>).
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

    /// <summary>An abort passes through everything without tidying up: that is made good here.</summary>
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
