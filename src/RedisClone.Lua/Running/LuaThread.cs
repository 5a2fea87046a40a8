using System.Runtime.CompilerServices;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>
/// A coroutine, or the main thread of execution, with its own stack of values and stack of frames. Calls between Lua
/// functions use only these stacks. The native stack grows, within <see cref="LuaLimits.HostCalls"/>, only when host
/// functions call back.
/// </summary>
/// <remarks>
/// Failure is a return value and not an exception. <see cref="LuaState.Failure"/> describes it. The frames remain as
/// they are until the code that catches the error discards them.
/// </remarks>
internal sealed partial class LuaThread : LuaObject
{
    private const int FirstStack = 64;
    private const int FirstFrames = 8;

    /// <summary>Larger stacks are released after a call.</summary>
    private const int LargeStack = 4096;

    public readonly LuaState State;

    public LuaValue[] Stack = new LuaValue[FirstStack];

    /// <summary>
    /// The end of the values in use. Exact while a host function runs and after an instruction with a variable number
    /// of results.
    /// </summary>
    public int Top;

    public CallFrame[] Frames = new CallFrame[FirstFrames];
    public int FrameCount;
    public ThreadStatus Status;

    /// <summary>
    /// The environment of chunks that this coroutine compiles, taken from the function that the host called.
    /// </summary>
    public LuaTable Globals;

    /// <summary>
    /// The depth of host calls at the last resume. A yield at a greater depth would have to cross a host call.
    /// </summary>
    private int _resumedAt = int.MaxValue;

    /// <summary>The open upvalues, in descending stack order.</summary>
    private UpValue? _open;

    /// <summary>The highest stack index that may hold a value other than nil.</summary>
    private int _used;

    public LuaThread(LuaState state, LuaTable globals)
    {
        State = state;
        Globals = globals;
    }

    public override LuaType Type => LuaType.Thread;

    public long Size => SizeOf(Stack.Length, Frames.Length);

    /// <summary>The size in bytes of a coroutine that has not run yet.</summary>
    public static long FirstSize => SizeOf(FirstStack, FirstFrames);

    public ref CallFrame Frame => ref Frames[FrameCount - 1];

    /// <summary>Ensures that <paramref name="count"/> values fit above <paramref name="from"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool EnsureStack(int from, int count)
    {
        int needed = from + count;
        if (needed > _used) _used = needed;
        return needed <= Stack.Length || GrowStack(needed);
    }

    public void Push(in LuaValue value) => Stack[Top++] = value;

    public void Push(LuaValue value) => Stack[Top++] = value;

    public ref LuaValue Pop() => ref Stack[--Top];

    /// <summary>Clears the stacks, so that they keep no objects alive between two uses.</summary>
    public void Clear()
    {
        CloseUpvalues(0);
        if (Stack.Length > LargeStack) Stack = new LuaValue[FirstStack];
        else Array.Clear(Stack, 0, Math.Min(_used, Stack.Length));
        if (Frames.Length > LargeStack) Frames = new CallFrame[FirstFrames];
        else Array.Clear(Frames, 0, Math.Min(FrameCount + 1, Frames.Length));
        _used = 0;
        Top = 0;
        FrameCount = 0;
    }

    /// <summary>Returns the values in use and clears everything that finished calls left above them.</summary>
    public ReadOnlySpan<LuaValue> TrimStack()
    {
        int live = Top;
        for (int i = 0; i < FrameCount; i++) live = Math.Max(live, Frames[i].Limit);
        live = Math.Min(live, Stack.Length);
        int used = Math.Min(_used, Stack.Length);
        if (used > live) Array.Clear(Stack, live, used - live);
        _used = live;
        return Stack.AsSpan(0, live);
    }

    /// <summary>Finds or creates the upvalue that closures share for a stack index.</summary>
    public UpValue FindUpvalue(int index)
    {
        UpValue? above = null;
        UpValue? at = _open;
        while (at is not null && at.Index > index)
        {
            above = at;
            at = at.NextOpen;
        }
        if (at is not null && at.Index == index) return at;
        var made = new UpValue { Owner = this, Index = index, NextOpen = at };
        if (above is null) _open = made;
        else above.NextOpen = made;
        return made;
    }

    /// <summary>
    /// Closes the upvalues at and above an index: their values move from the stack into the upvalues.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void CloseUpvalues(int from)
    {
        if (_open is not null && _open.Index >= from) CloseOpen(from);
    }

    /// <summary>Pushes a frame. Returns false after raising an error if there are too many.</summary>
    private bool PushFrame(LuaFunction function, int callee, int @base, int limit, int wanted)
    {
        if (FrameCount == Frames.Length && !GrowFrames()) return false;
        ref CallFrame frame = ref Frames[FrameCount++];
        frame.Function = function;
        frame.Callee = callee;
        frame.Base = @base;
        frame.Limit = limit;
        frame.Position = 0;
        frame.Wanted = wanted;
        frame.TailCalls = 0;
        return true;
    }

    private static long SizeOf(int slots, int frames) => 176 + (slots * 16L) + (frames * (long)Unsafe.SizeOf<CallFrame>());

    private bool GrowStack(int needed)
    {
        if (needed > LuaLimits.StackSlots) return Fail("stack overflow");
        int size = Math.Min(Math.Max(needed, Stack.Length * 2), LuaLimits.StackSlots);
        if (!State.Meter.TryCharge(size * 16L)) return FailMemory();
        Array.Resize(ref Stack, size);
        // A census during the charge may have lowered the value.
        _used = Math.Max(_used, needed);
        return true;
    }

    private bool GrowFrames()
    {
        if (FrameCount >= LuaLimits.FramesInError) return FailInHandler();
        if (FrameCount >= LuaLimits.Frames)
        {
            if (!State.Meter.TryCharge(LuaLimits.FramesInError * (long)Unsafe.SizeOf<CallFrame>())) return FailMemory();
            Array.Resize(ref Frames, LuaLimits.FramesInError);
            return Fail("stack overflow");
        }
        int size = Math.Min(Frames.Length * 2, LuaLimits.Frames);
        if (!State.Meter.TryCharge(size * (long)Unsafe.SizeOf<CallFrame>())) return FailMemory();
        Array.Resize(ref Frames, size);
        return true;
    }

    private void CloseOpen(int from)
    {
        UpValue? at = _open;
        while (at is not null && at.Index >= from)
        {
            at.Value = Stack[at.Index];
            at.Owner = null;
            // A closed variable must not keep the others alive.
            (at.NextOpen, at) = (null, at.NextOpen);
        }
        _open = at;
    }
}
