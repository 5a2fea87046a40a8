using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>Calls from Lua and from the host, and protected calls.</summary>
internal sealed partial class LuaThread
{
    /// <summary>The number of moved values that counts as one step.</summary>
    private const int ValuesPerStep = 16;

    /// <summary>The number of skipped empty table slots that counts as one step.</summary>
    private const int SlotsPerStep = 8;

    /// <summary>
    /// Calls a value with the arguments above it, on the native stack. The results replace the value. Host functions
    /// and metamethods call this way. Returns false if the call failed.
    /// </summary>
    public bool Call(int callee, int wanted)
    {
        // A library that calls a function for each of many elements has no other limit, if the function has no loop and no call.
        if (!State.Spend(1)) return false;
        if (State.HostDepth + 1 >= LuaLimits.HostCalls)
        {
            if (State.HostDepth + 1 >= LuaLimits.HostCallsInError) return FailInHandler();
            if (State.HostDepth + 1 == LuaLimits.HostCalls)
            {
                State.HostDepth++;
                Fail("C stack overflow");
                State.HostDepth--;
                return false;
            }
        }
        State.HostDepth++;
        bool done = CallUncounted(callee, wanted);
        State.HostDepth--;
        return done;
    }

    /// <summary>
    /// Calls a value and catches errors. After an error, its value replaces the called value, and all frames above are
    /// removed. An abort by the host is not caught.
    /// </summary>
    public LuaOutcome ProtectedCall(int callee, int wanted, LuaValue handler)
    {
        int frames = FrameCount, depth = State.HostDepth;
        LuaValue outerHandler = State.Handler;
        bool outerInHandler = State.InHandler;
        State.Handler = handler;
        State.InHandler = false;
        bool done = Call(callee, wanted);
        State.Handler = outerHandler;
        State.InHandler = outerInHandler;
        if (done) return LuaOutcome.Returned;
        if (State.Failure.Kind == FailureKind.Abort) return LuaOutcome.Aborted;
        State.HostDepth = depth;
        Unwind(frames, callee);
        Stack[callee] = State.Failure.Value;
        Top = callee + 1;
        return LuaOutcome.Failed;
    }

    /// <summary>
    /// Runs a host function in its own frame. Returns the number of results on top of the stack, or a negative code.
    /// </summary>
    public int InvokeHost(LuaHostFunction function, int callee, int wanted)
    {
        if (!EnsureStack(Top, LuaLimits.HostMinimum)) return LuaCall.Failure;
        if (!PushFrame(function, callee, callee + 1, Top + LuaLimits.HostMinimum, wanted)) return LuaCall.Failure;
        var call = new LuaCall(this, function, callee + 1, Top - callee - 1);
        int count = function.Body(ref call);
        return call.Failed ? LuaCall.Failure : count;
    }

    private bool CallUncounted(int callee, int wanted)
    {
        if (Stack[callee].Tag is not LuaFunction && !InsertCallMethod(callee)) return false;
        if (Stack[callee].Tag is LuaClosure lua) return EnterLua(lua, callee, wanted) && Execute(FrameCount) == RunResult.Done;
        int count = InvokeHost((LuaHostFunction)Stack[callee].Tag!, callee, wanted);
        if (count < 0) return false;
        FinishCall(Top - count, count);
        return !State.Meter.CensusDue || State.TakeCensus();
    }

    private void Unwind(int frames, int callee)
    {
        CloseUpvalues(callee);
        FrameCount = frames;
        if (Frames.Length > LuaLimits.Frames && frames < LuaLimits.Frames) Array.Resize(ref Frames, LuaLimits.Frames);
    }

    /// <summary>Pushes a frame for a Lua function. Its arguments are above it, up to the top of the stack.</summary>
    private bool EnterLua(LuaClosure closure, int callee, int wanted)
    {
        Prototype p = closure.Prototype;
        int arguments = Top - callee - 1;
        int start = callee + 1;
        int given = Math.Min(arguments, p.Parameters);
        if (p.IsVararg)
        {
            // The extra arguments stay below the registers, and the fixed arguments are copied into the registers.
            start = Math.Max(Top, callee + 1 + p.Parameters);
            State.Meter.Budget -= arguments / ValuesPerStep;
            if (!EnsureStack(start, p.StackSize)) return false;
            Stack.AsSpan(Top, start - Top).Clear();
            Span<LuaValue> passed = Stack.AsSpan(callee + 1, given);
            passed.CopyTo(Stack.AsSpan(start));
            passed.Clear();
            Stack.AsSpan(start + given, p.StackSize - given).Clear();
            if (p.NeedsArgTable && !MakeArgTable(callee + 1 + p.Parameters, start, p.Parameters)) return false;
        }
        else
        {
            if (!EnsureStack(start, p.StackSize)) return false;
            Stack.AsSpan(start + given, p.StackSize - given).Clear();
        }
        return PushFrame(closure, callee, start, start + p.StackSize, wanted);
    }

    private bool MakeArgTable(int firstExtra, int start, int parameters)
    {
        int count = start - firstExtra;
        LuaTable? table = State.TryNewTable(count, 1);
        if (table is null) return FailMemory();
        for (int i = 0; i < count; i++) table.Set(State.Meter, i + 1, in Stack[firstExtra + i]);
        LuaValue n = count;
        table.Set(State.Meter, WellKnown.N, in n);
        Stack[start + parameters] = table;
        return true;
    }

    /// <summary>
    /// Performs a tail call: the called function takes over the frame and the stack space of the calling function.
    /// </summary>
    private bool ReplaceFrame(LuaClosure closure, int callee)
    {
        CloseUpvalues(Frame.Base);
        int to = Frame.Callee, wanted = Frame.Wanted, lost = Frame.TailCalls + 1, count = Top - callee;
        Stack.AsSpan(callee, count).CopyTo(Stack.AsSpan(to));
        Top = to + count;
        FrameCount--;
        if (!EnterLua(closure, to, wanted)) return false;
        Frame.TailCalls = lost;
        return true;
    }

    /// <summary>
    /// Replaces a value that is not a function with its <c>__call</c> metamethod and inserts the value as the first
    /// argument.
    /// </summary>
    private bool InsertCallMethod(int callee)
    {
        LuaValue method = State.Metamethod(in Stack[callee], Metamethod.Call);
        if (method.Tag is not LuaFunction) return FailType("call", in Stack[callee], Frame.IsLua ? callee - Frame.Base : -1);
        if (!EnsureStack(Top, 1)) return false;
        Stack.AsSpan(callee, Top - callee).CopyTo(Stack.AsSpan(callee + 1));
        Top++;
        Stack[callee] = method;
        return true;
    }
}
