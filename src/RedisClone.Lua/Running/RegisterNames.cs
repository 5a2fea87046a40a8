using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>
/// Finds the name of the value in a register for error messages. The name is that of a local variable, or comes from
/// the last instruction that wrote the register on the straight path to the failing instruction.
/// </summary>
internal static class RegisterNames
{
    public static (string Kind, string Name)? Find(Prototype p, int position, int register)
    {
        if (LocalName(p, position, register) is { } local) return ("local", local);
        int writer = LastWriter(p, position, register);
        if (writer < 0) return null;
        Instruction i = p.Code[writer];
        return i.Op switch
        {
            Op.GetGlobal => ("global", Text(p.Names[i.B])),
            Op.Move when i.B < i.A => Find(p, position, i.B),
            Op.GetField => ("field", Text(p.Names[i.C])),
            Op.GetTable or Op.GetConstant => ("field", "?"),
            Op.GetUpvalue => ("upvalue", Text(p.Upvalues[i.B].Name)),
            Op.Self => ("method", i.C < 0 ? Text(p.Names[~i.C]) : "?"),
            _ => null,
        };
    }

    private static string? LocalName(Prototype p, int position, int register)
    {
        foreach (LocalName local in p.Locals)
        {
            if (local.Start > position) break;
            if (position < local.End && register-- == 0) return Text(local.Name);
        }
        return null;
    }

    /// <summary>Returns the start of a name for messages, because a name may be as long as its source.</summary>
    private static string Text(LuaString name)
    {
        const int most = 1024;
        return System.Text.Encoding.Latin1.GetString(name.Span[..Math.Min(name.Length, most)]);
    }

    private static int LastWriter(Prototype p, int position, int register)
    {
        int last = -1;
        for (int at = 0; at < position; at++)
        {
            Instruction i = p.Code[at];
            if (Writes(i, register)) last = at;
            // A forward jump that does not skip the failing instruction is followed.
            if (i.Op is <= Op.Jump or Op.ForPrepare && i.B > at && i.B <= position) at = i.B - 1;
        }
        return last;
    }

    private static bool Writes(Instruction i, int register) => i.Op switch
    {
        Op.LoadNil => i.A <= register && register <= i.B,
        Op.Self => register == i.A || register == i.A + 1,
        Op.IterateCall => register >= i.A + 3,
        Op.Call or Op.TailCall => register >= i.A,
        Op.Vararg => register >= i.A && (i.B == 0 || register < i.A + i.B - 1),
        Op.ForLoop => register == i.A || register == i.A + 3,
        >= Op.Test and <= Op.TestSetNot => register == i.A,
        < Op.Move => false,
        Op.SetUpvalue or Op.SetGlobal or Op.SetTable or Op.SetField or Op.SetConstant or Op.SetList => false,
        Op.Return or Op.Close or Op.ForPrepare or Op.IterateLoop => false,
        _ => register == i.A,
    };
}
