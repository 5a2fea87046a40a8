using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>The coroutine functions.</summary>
internal static class CoroutineLibrary
{
    private static readonly LuaString[] s_statusNames =
        [.. new[] { "suspended", "running", "normal", "dead" }.Select(LuaString.From)];

    public static void Open(LuaState state) => Library.Open(
        state,
        "coroutine",
        ("create", Create),
        ("resume", Resume),
        ("running", Running),
        ("status", Status),
        ("wrap", Wrap),
        ("yield", Yield));

    private static int Create(ref LuaCall call) => call.Return(NewThread(ref call));

    private static int Wrap(ref LuaCall call)
    {
        LuaThread? thread = NewThread(ref call);
        if (call.Failed) return 0;
        return call.Meter.TryCharge(LuaHostFunction.SizeOf(1))
            ? call.Return(new LuaHostFunction(Step, thread))
            : call.OutOfMemory();
    }

    private static LuaThread? NewThread(ref LuaCall call)
    {
        call.Check(call[1].Tag is LuaClosure, 1, "Lua function expected");
        if (call.Failed) return null;
        if (!call.Meter.TryCharge(LuaThread.FirstSize)) call.OutOfMemory();
        if (call.Failed) return null;
        var thread = new LuaThread(call.State, call.Thread.Globals);
        thread.EnsureStack(0, 1);
        thread.Push(in call[1]);
        return thread;
    }

    private static int Resume(ref LuaCall call)
    {
        LuaThread? thread = CheckThread(ref call);
        if (call.Failed) return 0;
        int count = Switch(ref call, thread!, 2, out LuaValue error);
        if (count >= 0) return count + 1;
        if (call.Failed) return 0;
        call.Push(false);
        call.Push(error);
        return 2;
    }

    /// <summary>The function that <c>wrap</c> returns: resumes its coroutine and propagates errors.</summary>
    private static int Step(ref LuaCall call)
    {
        var thread = (LuaThread)call.Function.Upvalues[0].Tag!;
        int count = Switch(ref call, thread, 1, out LuaValue error);
        if (count >= 0) return count;
        if (call.Failed) return 0;
        if (error.Type is not (LuaType.String or LuaType.Number)) return call.Raise(error);
        return call.Error("", BaseLibrary.Describe(ref call, in error).Span, "");
    }

    /// <summary>
    /// Resumes a coroutine with the arguments from <paramref name="firstArgument"/> on. Pushes the yielded or returned
    /// values, after true for <c>resume</c>. Returns their number, or -1 and the error.
    /// </summary>
    private static int Switch(ref LuaCall call, LuaThread thread, int firstArgument, out LuaValue error)
    {
        error = default;
        int arguments = Math.Max(call.Count - firstArgument + 1, 0);
        if (thread.Status != ThreadStatus.Suspended)
        {
            error = LuaString.From($"cannot resume {s_statusNames[(int)thread.Status]} coroutine");
            return -1;
        }
        if (call.State.HostDepth >= LuaLimits.HostCalls)
        {
            error = LuaString.From("C stack overflow");
            return -1;
        }
        if (thread.Top + arguments > LuaLimits.HostSlots)
        {
            call.Error("too many arguments to resume");
            return -1;
        }
        if (!thread.EnsureStack(thread.Top, arguments + LuaLimits.HostMinimum))
        {
            call.Propagate();
            return -1;
        }
        for (int i = 0; i < arguments; i++) thread.Push(call[firstArgument + i]);
        if (!thread.Resume(arguments, out int results))
        {
            error = call.State.Failure.Value;
            if (call.State.Failure.Kind == FailureKind.Abort) call.Propagate();
            thread.Clear();
            return -1;
        }
        call.EnsureRoom(results + 1, "too many results to resume");
        if (call.Failed) return -1;
        if (firstArgument == 2) call.Push(true);
        thread.TakeResults(results, call.Thread);
        return results;
    }

    private static int Yield(ref LuaCall call)
    {
        if (call.Thread.CanYield) return LuaCall.Yield;
        call.Thread.FailYield();
        return call.Propagate();
    }

    private static int Status(ref LuaCall call)
    {
        LuaThread? thread = CheckThread(ref call);
        return call.Failed ? 0 : call.Return(s_statusNames[(int)thread!.Status]);
    }

    private static int Running(ref LuaCall call) =>
        call.Return(call.Thread == call.State.Main ? LuaValue.Nil : call.Thread);

    private static LuaThread? CheckThread(ref LuaCall call)
    {
        var thread = call[1].Tag as LuaThread;
        call.Check(thread is not null, 1, "coroutine expected");
        return thread;
    }
}
