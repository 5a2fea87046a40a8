using System.Runtime.CompilerServices;

namespace RedisClone.Lua.Values;

/// <summary>
/// A Lua value in 16 bytes. <see cref="Tag"/> is null for nil, one of three marker objects for numbers and booleans,
/// and the heap object itself for all other types. The default value is nil.
/// </summary>
/// <remarks>
/// The markers are string literals, because the runtime allocates literals in memory that the garbage collector never
/// moves. The compiler therefore knows their addresses: storing a number needs no write barrier, and testing for a
/// number needs no load.
/// </remarks>
public struct LuaValue
{
    internal static readonly object NumberTag = "number";
    internal static readonly object TrueTag = "true";
    internal static readonly object FalseTag = "false";

    /// <summary>The cell that lookups return if they find nothing.</summary>
    internal static readonly LuaValue[] NilCell = new LuaValue[1];

    internal object? Tag;
    internal double Number;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public LuaValue(double number)
    {
        Tag = NumberTag;
        Number = number;
    }

    public LuaValue(bool value)
    {
        Tag = value ? TrueTag : FalseTag;
        Number = 0;
    }

    public LuaValue(LuaObject? value)
    {
        Tag = value;
        Number = 0;
    }

    public static LuaValue Nil => default;

    public readonly bool IsNil
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Tag is null;
    }

    public readonly bool IsNumber
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Tag == NumberTag;
    }

    /// <summary>True for nil and false.</summary>
    public readonly bool IsFalsy
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Tag is null || Tag == FalseTag;
    }

    public readonly LuaType Type => Tag switch
    {
        null => LuaType.Nil,
        LuaObject o => o.Type,
        _ => Tag == NumberTag ? LuaType.Number : LuaType.Boolean,
    };

    public readonly double AsNumber => Tag == NumberTag ? Number : 0;

    public readonly bool IsTrue => Tag == TrueTag;

    public readonly LuaString? AsString => Tag as LuaString;

    public readonly LuaTable? AsTable => Tag as LuaTable;

    public readonly LuaFunction? AsFunction => Tag as LuaFunction;

    internal readonly string TypeName => LuaTypeNames.Of(Type);

    public static implicit operator LuaValue(double value) => new(value);

    public static implicit operator LuaValue(bool value) => new(value);

    public static implicit operator LuaValue(LuaObject? value) => new(value);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void SetNumber(double number)
    {
        Tag = NumberTag;
        Number = number;
    }

    /// <summary>Assigns a value without a write barrier for numbers.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Set(in LuaValue from)
    {
        if (from.Tag == NumberTag)
        {
            Tag = NumberTag;
            Number = from.Number;
        }
        else
        {
            Tag = from.Tag;
        }
    }

    /// <summary>Equality without metamethods.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool RawEquals(in LuaValue a, in LuaValue b) =>
        a.Tag == b.Tag
            ? a.Tag != NumberTag || a.Number == b.Number
            : a.Tag is LuaString s && b.Tag is LuaString t && s.ContentEquals(t);
}
