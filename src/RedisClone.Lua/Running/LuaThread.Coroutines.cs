namespace RedisClone.Lua;

/// <summary>Switching between coroutines.</summary>
internal sealed partial class LuaThread
{
    /// <summary>
    /// Runs this coroutine with the arguments on its top until it yields, returns or fails; what it yields or returns is
    /// then on its top, their number in <paramref name="results"/>. False if it failed.
    /// </summary>
    public bool Resume(int arguments, out int results)
    {
        LuaThread resumer = State.Current;
        LuaValue handler = State.Handler;
        bool inHandler = State.InHandler;
        int depth = State.HostDepth;
        State.Handler = default;
        State.InHandler = false;
        resumer.Status = ThreadStatus.Normal;
        Status = ThreadStatus.Running;
        State.Current = this;
        _resumedAt = ++State.HostDepth;

        RunResult result = Continue(arguments);

        State.Current = resumer;
        resumer.Status = ThreadStatus.Running;
        State.HostDepth = depth;
        State.Handler = handler;
        State.InHandler = inHandler;
        Status = result == RunResult.Yielded ? ThreadStatus.Suspended : ThreadStatus.Dead;
        results = result == RunResult.Failed ? 0 : Top - (result == RunResult.Yielded ? Frame.Base : 0);
        return result != RunResult.Failed;
    }

    /// <summary>Takes what a resume left off the stack.</summary>
    public void TakeResults(int count, LuaThread to)
    {
        Stack.AsSpan(Top - count, count).CopyTo(to.Stack.AsSpan(to.Top));
        to.Top += count;
        Top -= count;
        if (Status == ThreadStatus.Dead) Clear();
    }

    /// <summary>Ends a dead coroutine for good: it keeps nothing alive.</summary>
    public void Bury()
    {
        CloseUpvalues(0);
        Clear();
    }

    public bool CanYield => this != State.Main && State.HostDepth == _resumedAt;

    public bool FailYield() => Fail("attempt to yield across metamethod/C-call boundary");

    private RunResult Continue(int arguments)
    {
        if (FrameCount == 0)
        {
            int callee = Top - arguments - 1;
            if (!EnterLua((LuaClosure)Stack[callee].Tag!, callee, CallFrame.AllResults)) return RunResult.Failed;
        }
        else
        {
            // The host function that yielded returns what the resume passed.
            FinishCall(Top - arguments, arguments);
        }
        return Execute(1);
    }
}
