using RedisClone.Lua.Compiling;
using RedisClone.Lua.Running;

namespace RedisClone.Lua.Values;

/// <summary>
/// The code of a host function. Returns the number of results that it pushed, or the return value of a
/// <see cref="LuaCall"/> method.
/// </summary>
public delegate int LuaHostBody(ref LuaCall call);

/// <summary>A value that can be called without a metamethod.</summary>
public abstract class LuaFunction : LuaObject
{
    public override LuaType Type => LuaType.Function;

    /// <summary>
    /// True for a function without upvalues. Objects that a call creates and does not store in the environment do not
    /// survive the call.
    /// </summary>
    public bool IsStateless => this is LuaClosure { Upvalues.Length: 0 };
}

/// <summary>A function written in C#, with its upvalues.</summary>
public sealed class LuaHostFunction : LuaFunction
{
    /// <summary>The size of the object. All interpreters share the delegate of a static method.</summary>
    private const int BaseSize = 48;

    private const int DelegateSize = 64;

    internal readonly LuaHostBody Body;
    internal readonly LuaValue[] Upvalues;

    public LuaHostFunction(LuaHostBody body, params LuaValue[] upvalues)
    {
        Body = body;
        Upvalues = upvalues;
    }

    internal long Size => SizeOf(Upvalues.Length) + (Body.Target is null ? 0 : DelegateSize);

    internal static long SizeOf(int upvalues) => BaseSize + (upvalues == 0 ? 0 : 24 + (16L * upvalues));
}

/// <summary>A function written in Lua: its code, its upvalues and its environment.</summary>
internal sealed class LuaClosure : LuaFunction
{
    public readonly Prototype Prototype;
    public readonly UpValue[] Upvalues;
    public LuaTable Environment;

    public LuaClosure(Prototype prototype, LuaTable environment)
    {
        Prototype = prototype;
        Environment = environment;
        Upvalues = prototype.Upvalues.Length == 0 ? [] : new UpValue[prototype.Upvalues.Length];
    }

    public long Size => SizeOf(Upvalues.Length);

    public static long SizeOf(int upvalues) => 56 + (upvalues == 0 ? 0 : 24 + (8L * upvalues));
}

/// <summary>
/// A variable that closures share. It is on the stack of its coroutine while its block runs, and in this object
/// afterwards.
/// </summary>
internal sealed class UpValue
{
    public const int Size = 56;

    /// <summary>Null after the upvalue was closed.</summary>
    public LuaThread? Owner;
    public int Index;
    public LuaValue Value;

    /// <summary>The next open upvalue of the same coroutine, at a lower stack index.</summary>
    public UpValue? NextOpen;

    public int CensusMark;

    public void Get(ref LuaValue to)
    {
        if (Owner is null) to.Set(in Value);
        else to.Set(in Owner.Stack[Index]);
    }

    public void Set(in LuaValue from)
    {
        if (Owner is null) Value.Set(in from);
        else Owner.Stack[Index].Set(in from);
    }
}
