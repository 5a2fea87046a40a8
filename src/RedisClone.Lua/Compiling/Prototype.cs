namespace RedisClone.Lua;

/// <summary>The immutable result of compiling one function.</summary>
internal sealed class Prototype
{
    public required Instruction[] Code { get; init; }

    public required LuaValue[] Constants { get; init; }

    /// <summary>The constants again, as strings where they are: saves the instructions that need one the cast.</summary>
    public required LuaString[] Names { get; init; }

    public required Prototype[] Children { get; init; }

    public required UpvalueSource[] Upvalues { get; init; }

    public required LocalName[] Locals { get; init; }

    /// <summary>The source line of each instruction.</summary>
    public required int[] Lines { get; init; }

    /// <summary>The chunk's name as given: <c>@file</c>, <c>=name</c> or the source itself.</summary>
    public required LuaString Source { get; init; }

    public required int Parameters { get; init; }

    public required bool IsVararg { get; init; }

    /// <summary>Lua 5.0's <c>arg</c>: a table of the extra arguments, for a vararg function that does not use <c>...</c>.</summary>
    public required bool NeedsArgTable { get; init; }

    public required int StackSize { get; init; }

    public required int LineDefined { get; init; }

    public int CensusMark { get; set; }

    public long Size =>
        320 + (16L * Code.Length) + (24L * Constants.Length) + (16L * (Locals.Length + Upvalues.Length)) + (8L * Children.Length);

    /// <summary>Bytes of the function and of all within it, the strings in their code included.</summary>
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

/// <summary>Where a new closure finds a variable: among its creator's registers or among its creator's upvalues.</summary>
internal readonly record struct UpvalueSource(LuaString Name, bool FromRegister, int Index);

/// <summary>A local variable and the instructions during which it lives in its register.</summary>
internal record struct LocalName(LuaString Name, int Start, int End);
