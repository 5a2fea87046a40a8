using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>Switches between coroutines.</summary>
internal sealed partial class LuaThread
{
    /// <summary>
    /// Runs this coroutine with the topmost arguments until it yields, returns or fails. The yielded or returned values
    /// are then on top of its stack, <paramref name="results"/> in number. Returns false if it failed.
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

    /// <summary>Moves the values of a resume to another stack.</summary>
    public void TakeResults(int count, LuaThread to)
    {
        Stack.AsSpan(Top - count, count).CopyTo(to.Stack.AsSpan(to.Top));
        to.Top += count;
        Top -= count;
        if (Status == ThreadStatus.Dead) Clear();
    }

    /// <summary>Releases everything that a dead coroutine references.</summary>
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
            // The arguments of the resume are the results of the host function that yielded.
            FinishCall(Top - arguments, arguments);
        }
        return Execute(1);
    }
}
