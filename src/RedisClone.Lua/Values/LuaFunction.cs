namespace RedisClone.Lua;

/// <summary>A function of the host. Returns how many results it pushed, or what <see cref="LuaCall"/> gave it to return.</summary>
public delegate int LuaHostBody(ref LuaCall call);

/// <summary>Anything that can be called without a metamethod.</summary>
public abstract class LuaFunction : LuaObject
{
    public override LuaType Type => LuaType.Function;

    /// <summary>It closes over no variables: what a call makes, and does not store in its environment, dies with it.</summary>
    public bool IsStateless => this is LuaClosure { Upvalues.Length: 0 };
}

/// <summary>A function written in C#, with the values that it closes over.</summary>
public sealed class LuaHostFunction : LuaFunction
{
    /// <summary>The object with its delegate.</summary>
    private const int BaseSize = 112;

    internal readonly LuaHostBody Body;
    internal readonly LuaValue[] Upvalues;

    public LuaHostFunction(LuaHostBody body, params LuaValue[] upvalues)
    {
        Body = body;
        Upvalues = upvalues;
    }

    internal long Size => SizeOf(Upvalues.Length);

    internal static long SizeOf(int upvalues) => BaseSize + (upvalues == 0 ? 0 : 24 + (16L * upvalues));
}

/// <summary>A function written in Lua: its code, the variables that it closes over and its environment.</summary>
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

/// <summary>A variable shared by closures: it lives on its coroutine's stack while its block runs, and in here afterwards.</summary>
internal sealed class UpValue
{
    public const int Size = 56;

    /// <summary>Null once closed.</summary>
    public LuaThread? Owner;
    public int Index;
    public LuaValue Value;

    /// <summary>The next open one of the same coroutine, lower on its stack.</summary>
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
