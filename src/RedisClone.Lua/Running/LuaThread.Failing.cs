using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>Raises errors with the messages of Lua 5.1.</summary>
internal sealed partial class LuaThread
{
    /// <summary>
    /// Raises a value. If there is an error handler, it runs before the frames are removed, and its result replaces the
    /// value. Always returns false.
    /// </summary>
    public bool Raise(LuaValue value, FailureKind kind = FailureKind.Error)
    {
        ref LuaFailure failure = ref State.Failure;
        failure.Kind = kind;
        failure.Value = value;
        Locate(ref failure);
        if (kind == FailureKind.Error && !State.Handler.IsNil) RunHandler(value);
        return false;
    }

    /// <summary>Raises a message of the interpreter, with the position if a Lua function is running.</summary>
    public bool Fail(string message)
    {
        if (FrameCount > 0 && Frame.Function is LuaClosure closure) message = Where(in Frame, closure) + message;
        return RaiseText(message);
    }

    /// <summary>Raises a message of a host function, with the position of the Lua function that called it.</summary>
    public bool FailInHost(string message) => RaiseText(Where(1) + message);

    /// <summary>
    /// Raises a message of a host function that contains a text of the script, which may have any length.
    /// </summary>
    public bool FailInHost(string before, ReadOnlySpan<byte> text, string after)
    {
        before = Where(1) + before;
        long length = (long)before.Length + text.Length + after.Length;
        byte[]? bytes = length > LuaLimits.StringLength ? null : State.TryNewBytes((int)length);
        if (bytes is null) return FailMemory();
        System.Text.Encoding.Latin1.GetBytes(before, bytes);
        text.CopyTo(bytes.AsSpan(before.Length));
        System.Text.Encoding.Latin1.GetBytes(after, bytes.AsSpan(before.Length + text.Length));
        State.Meter.Work(length);
        return Raise(new LuaString(bytes));
    }

    public bool FailMemory() => Raise(State.OutOfMemory, FailureKind.Memory);

    /// <summary>Raises the error for a failure within an error handler.</summary>
    public bool FailInHandler()
    {
        State.Failure.Kind = FailureKind.Memory;
        State.Failure.Value = State.ErrorInHandler;
        return false;
    }

    public bool FailStore(StoreResult result) => result switch
    {
        StoreResult.NilKey => Fail("table index is nil"),
        StoreResult.NanKey => Fail("table index is NaN"),
        StoreResult.Overflow => Fail("table overflow"),
        _ => FailMemory(),
    };

    public bool FailFrozen() => Fail("Attempt to modify a readonly table");

    /// <summary>
    /// Raises a type error. The message contains the name of the value if the value is in a register.
    /// </summary>
    public bool FailType(string operation, in LuaValue value, int register)
    {
        string type = value.TypeName;
        CountSearch(Frame.Position);
        (string Kind, string Name)? name = register >= 0 && Frame.Function is LuaClosure c
            ? RegisterNames.Find(c.Prototype, Frame.Position - 1, register)
            : null;
        return Fail(name is { } n
            ? $"attempt to {operation} {n.Kind} '{n.Name}' (a {type} value)"
            : $"attempt to {operation} a {type} value");
    }

    public bool FailCompare(in LuaValue a, in LuaValue b)
    {
        string one = a.TypeName, other = b.TypeName;
        return Fail(one[2] == other[2]
            ? $"attempt to compare two {one} values"
            : $"attempt to compare {one} with {other}");
    }

    /// <summary>
    /// Returns the position of the function <paramref name="level"/> levels up as a prefix for messages. The result is
    /// empty if that is not a Lua function.
    /// </summary>
    public string Where(int level)
    {
        int at = FrameAt(level);
        return at >= 0 && Frames[at].Function is LuaClosure c ? Where(in Frames[at], c) : "";
    }

    /// <summary>
    /// Returns the index of the frame <paramref name="level"/> levels up: -1 if there is none, -2 if a tail call
    /// replaced it.
    /// </summary>
    public int FrameAt(int level)
    {
        int at = FrameCount - 1;
        for (; level > 0 && at >= 0; at--)
        {
            level--;
            if (Frames[at].IsLua) level -= Frames[at].TailCalls;
        }
        return level < 0 ? -2 : at;
    }

    /// <summary>Returns the name by which the running host function was called, for its messages.</summary>
    public (string Kind, string Name)? CalledName()
    {
        if (FrameCount < 2) return null;
        ref CallFrame caller = ref Frames[FrameCount - 2];
        if (caller.Function is not LuaClosure c) return null;
        CountSearch(caller.Position);
        Instruction i = c.Prototype.Code[caller.Position - 1];
        return i.Op is Op.Call or Op.TailCall or Op.IterateCall
            ? RegisterNames.Find(c.Prototype, caller.Position - 1, i.A)
            : null;
    }

    /// <summary>Counts the search for the name of a register, which walks the code before a position.</summary>
    private void CountSearch(int position) => State.Meter.Budget -= position / 8;

    private bool RaiseText(string message)
    {
        LuaString? text = State.TryNewString(System.Text.Encoding.Latin1.GetBytes(message));
        return text is null ? FailMemory() : Raise(text);
    }

    private static string Where(in CallFrame frame, LuaClosure closure)
    {
        Prototype p = closure.Prototype;
        int line = p.Lines[Math.Max(frame.Position - 1, 0)];
        return $"{ChunkName.Display(p.Source, ChunkName.RuntimeRoom)}:{line}: ";
    }

    /// <summary>
    /// Records the position of the error: in the topmost function, or in its caller if the topmost is a host function.
    /// </summary>
    private void Locate(ref LuaFailure failure)
    {
        int at = FrameCount - 1;
        if (at >= 0 && !Frames[at].IsLua) at--;
        failure.HasLocation = at >= 0;
        failure.Function = at >= 0 ? (Frames[at].Function as LuaClosure)?.Prototype : null;
        failure.Position = at >= 0 ? Math.Max(Frames[at].Position - 1, 0) : 0;
    }

    private void RunHandler(LuaValue value)
    {
        if (State.InHandler || State.Handler.Tag is not LuaFunction)
        {
            FailInHandler();
            return;
        }
        LuaFailure original = State.Failure;
        State.InHandler = true;
        bool handled = CallMethod(State.Handler, value, default, default, 1, out original.Value);
        State.InHandler = false;
        if (handled) State.Failure = original;
    }
}
