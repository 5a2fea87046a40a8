namespace RedisClone.Lua.Values;

/// <summary>The base class of all values on the heap: the type and two words of bookkeeping.</summary>
public abstract class LuaObject
{
    private static int s_lastIdentity;

    /// <summary>The number of the last memory census that counted this object.</summary>
    internal int CensusMark;

    /// <summary>The hash of a string or the serial number of another object. Zero before its first use.</summary>
    private protected int Tag;

    public abstract LuaType Type { get; }

    /// <summary>
    /// The number that <c>tostring</c> shows instead of an address, and by which tables hash the object.
    /// </summary>
    internal int Identity
    {
        get
        {
            if (Tag == 0) Tag = Interlocked.Increment(ref s_lastIdentity);
            return Tag;
        }
    }
}

/// <summary>
/// An opaque value of the host. It has no metatable and no state, so all interpreters share these objects.
/// </summary>
public sealed class LuaUserData : LuaObject
{
    internal const int Size = 48;

    /// <summary>The null pointer, which cjson uses for the null of JSON.</summary>
    public static readonly LuaUserData NullPointer = new();

    private LuaUserData()
    {
    }

    public override LuaType Type => LuaType.LightUserData;
}
