namespace RedisClone.Lua;

/// <summary>What every value that lives on the heap has in common: its type, and two words of bookkeeping.</summary>
public abstract class LuaObject
{
    private static int s_lastIdentity;

    /// <summary>The number of the last memory census that counted this object.</summary>
    internal int CensusMark;

    /// <summary>A string's hash, any other object's serial number; zero until somebody asks for it.</summary>
    private protected int Tag;

    public abstract LuaType Type { get; }

    /// <summary>What <c>tostring</c> shows instead of an address, and what tables hash an object by.</summary>
    internal int Identity
    {
        get
        {
            if (Tag == 0) Tag = Interlocked.Increment(ref s_lastIdentity);
            return Tag;
        }
    }
}

/// <summary>An opaque value of the host. It has no metatable and no state: all interpreters share these objects.</summary>
public sealed class LuaUserData : LuaObject
{
    internal const int Size = 48;

    /// <summary>The null pointer, which cjson uses for JSON's null.</summary>
    public static readonly LuaUserData NullPointer = new();

    private LuaUserData()
    {
    }

    public override LuaType Type => LuaType.LightUserData;
}
