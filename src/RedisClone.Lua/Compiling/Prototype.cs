using RedisClone.Lua.Values;

namespace RedisClone.Lua.Compiling;

/// <summary>The immutable result of compiling one function.</summary>
internal sealed class Prototype
{
    public required Instruction[] Code { get; init; }

    public required LuaValue[] Constants { get; init; }

    /// <summary>
    /// The string constants at the same indexes as in <see cref="Constants"/>, so that instructions with a name need no
    /// cast.
    /// </summary>
    public required LuaString[] Names { get; init; }

    public required Prototype[] Children { get; init; }

    public required UpvalueSource[] Upvalues { get; init; }

    public required LocalName[] Locals { get; init; }

    /// <summary>The source line of each instruction.</summary>
    public required int[] Lines { get; init; }

    /// <summary>The name of the chunk as given: <c>@file</c>, <c>=name</c> or the source itself.</summary>
    public required LuaString Source { get; init; }

    public required int Parameters { get; init; }

    public required bool IsVararg { get; init; }

    /// <summary>
    /// True for a vararg function that does not use <c>...</c>. It receives <c>arg</c>, the table of extra arguments of
    /// Lua 5.0.
    /// </summary>
    public required bool NeedsArgTable { get; init; }

    public required int StackSize { get; init; }

    public required int LineDefined { get; init; }

    public int CensusMark { get; set; }

    public long Size =>
        320 + (16L * Code.Length) + (24L * Constants.Length) + (16L * (Locals.Length + Upvalues.Length)) + (8L * Children.Length);

    /// <summary>
    /// The size in bytes of the function and of all functions within it, including the strings among their constants.
    /// </summary>
    public long TreeSize
    {
        get
        {
            long size = Size;
            foreach (ref readonly LuaValue constant in Constants.AsSpan()) size += (constant.Tag as LuaString)?.Size ?? 0;
            foreach (Prototype child in Children) size += child.TreeSize;
            return size;
        }
    }
}

/// <summary>The source of an upvalue of a new closure: a register or an upvalue of the enclosing function.</summary>
internal readonly record struct UpvalueSource(LuaString Name, bool FromRegister, int Index);

/// <summary>A local variable and the range of instructions in which it occupies its register.</summary>
internal record struct LocalName(LuaString Name, int Start, int End);
