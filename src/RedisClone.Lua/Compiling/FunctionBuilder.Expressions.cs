using RedisClone.Lua.Values;

namespace RedisClone.Lua.Compiling;

/// <summary>Moves the values of expressions to registers and operands.</summary>
internal sealed partial class FunctionBuilder
{
    public void SetResults(ref Expression e, int count)
    {
        if (e.Kind == ExpressionKind.Call)
        {
            At(e.Info).C = (short)(count + 1);
        }
        else if (e.Kind == ExpressionKind.Vararg)
        {
            At(e.Info).B = count + 1;
            At(e.Info).A = (byte)FreeRegister;
            Reserve(1);
        }
    }

    public void SetMultipleResults(ref Expression e) => SetResults(ref e, -1);

    public void SetOneResult(ref Expression e)
    {
        if (e.Kind == ExpressionKind.Call)
        {
            e.Kind = ExpressionKind.Register;
            e.Info = At(e.Info).A;
        }
        else if (e.Kind == ExpressionKind.Vararg)
        {
            At(e.Info).B = 2;
            e.Kind = ExpressionKind.Relocatable;
        }
    }

    /// <summary>Reads a variable. The expression is a value afterwards.</summary>
    public void DischargeVariable(ref Expression e)
    {
        switch (e.Kind)
        {
            case ExpressionKind.Local:
                e.Kind = ExpressionKind.Register;
                break;
            case ExpressionKind.Upvalue:
                e.Info = Emit(Op.GetUpvalue, 0, e.Info);
                e.Kind = ExpressionKind.Relocatable;
                break;
            case ExpressionKind.Global:
                e.Info = Emit(Op.GetGlobal, 0, e.Info);
                e.Kind = ExpressionKind.Relocatable;
                break;
            case ExpressionKind.Indexed:
                Release(e.Aux);
                Release(e.Info);
                e.Info = e.Aux >= 0
                    ? Emit(Op.GetTable, 0, e.Info, e.Aux)
                    : Emit(_constants[~e.Aux].Tag is LuaString ? Op.GetField : Op.GetConstant, 0, e.Info, ~e.Aux);
                e.Kind = ExpressionKind.Relocatable;
                break;
            case ExpressionKind.Call or ExpressionKind.Vararg:
                SetOneResult(ref e);
                break;
        }
    }

    public void ToNextRegister(ref Expression e)
    {
        DischargeVariable(ref e);
        Release(in e);
        Reserve(1);
        ToRegister(ref e, FreeRegister - 1);
    }

    public int ToAnyRegister(ref Expression e)
    {
        DischargeVariable(ref e);
        if (e.Kind == ExpressionKind.Register)
        {
            if (!e.HasJumps) return e.Info;
            if (e.Info >= ActiveLocals)
            {
                ToRegister(ref e, e.Info);
                return e.Info;
            }
        }
        ToNextRegister(ref e);
        return e.Info;
    }

    public void ToValue(ref Expression e)
    {
        if (e.HasJumps) ToAnyRegister(ref e);
        else DischargeVariable(ref e);
    }

    /// <summary>Returns a register, or the complement of the index of a constant.</summary>
    public int ToOperand(ref Expression e)
    {
        ToValue(ref e);
        if (!e.IsConstant) return ToAnyRegister(ref e);
        int constant = ConstantIndex(in e);
        if (constant > MaxOperandConstant) return ToAnyRegister(ref e);
        e.Kind = ExpressionKind.Constant;
        e.Info = constant;
        return ~constant;
    }

    public void Store(in Expression variable, ref Expression value)
    {
        switch (variable.Kind)
        {
            case ExpressionKind.Local:
                Release(in value);
                ToRegister(ref value, variable.Info);
                return;
            case ExpressionKind.Upvalue:
                Emit(Op.SetUpvalue, ToAnyRegister(ref value), variable.Info);
                break;
            case ExpressionKind.Global:
                Emit(Op.SetGlobal, ToAnyRegister(ref value), variable.Info);
                break;
            case ExpressionKind.Indexed:
                int operand = ToOperand(ref value);
                EmitSetTable(variable.Info, variable.Aux, operand);
                break;
        }
        Release(in value);
    }

    /// <summary>Emits a store. Key and value are operands as <see cref="ToOperand"/> returns them.</summary>
    public void EmitSetTable(int table, int key, int value)
    {
        if (key >= 0) Emit(Op.SetTable, table, key, value);
        else Emit(_constants[~key].Tag is LuaString ? Op.SetField : Op.SetConstant, table, ~key, value);
    }

    public void EmitSelf(ref Expression e, ref Expression key)
    {
        int subject = ToAnyRegister(ref e);
        Release(in e);
        int function = FreeRegister;
        Reserve(2);
        Emit(Op.Self, function, subject, ToOperand(ref key));
        Release(in key);
        e.Info = function;
        e.Kind = ExpressionKind.Register;
    }

    public void Index(ref Expression table, ref Expression key)
    {
        table.Aux = ToOperand(ref key);
        table.Kind = ExpressionKind.Indexed;
    }

    // ---- Conditions

    /// <summary>
    /// Emits a jump such that the following code runs if the expression is true. Jumps for false go to its list.
    /// </summary>
    public void GoIfTrue(ref Expression e)
    {
        DischargeVariable(ref e);
        int jump = e.Kind switch
        {
            ExpressionKind.Constant or ExpressionKind.Number or ExpressionKind.True => NoJump,
            ExpressionKind.Jump => Invert(e.Info),
            _ => JumpIf(ref e, condition: false),
        };
        Prepend(ref e.IfFalse, jump);
        PatchHere(e.IfTrue);
        e.IfTrue = NoJump;
    }

    public void GoIfFalse(ref Expression e)
    {
        DischargeVariable(ref e);
        int jump = e.Kind switch
        {
            ExpressionKind.Nil or ExpressionKind.False => NoJump,
            ExpressionKind.Jump => e.Info,
            _ => JumpIf(ref e, condition: true),
        };
        Prepend(ref e.IfTrue, jump);
        PatchHere(e.IfFalse);
        e.IfFalse = NoJump;
    }

    private int Invert(int jump)
    {
        At(jump).Op ^= (Op)1;
        return jump;
    }

    private int ConditionalJump(Op op, int a, int c) => Emit(op, a, NoJump, c);

    private int JumpIf(ref Expression e, bool condition)
    {
        if (e.Kind == ExpressionKind.Relocatable && At(e.Info).Op == Op.Not)
        {
            int operand = At(e.Info).B;
            _code.RemoveAt(_code.Count - 1);
            _lines.RemoveAt(_lines.Count - 1);
            return ConditionalJump(condition ? Op.TestNot : Op.Test, operand, 0);
        }
        DischargeToAnyRegister(ref e);
        Release(in e);
        return ConditionalJump(condition ? Op.TestSet : Op.TestSetNot, NoRegister, e.Info);
    }

    // ---- Registers

    private void DischargeToRegister(ref Expression e, int register)
    {
        DischargeVariable(ref e);
        switch (e.Kind)
        {
            case ExpressionKind.Nil:
                EmitNil(register, 1);
                break;
            case ExpressionKind.False:
                Emit(Op.LoadFalse, register);
                break;
            case ExpressionKind.True:
                Emit(Op.LoadTrue, register);
                break;
            case ExpressionKind.Constant:
                Emit(Op.LoadConstant, register, e.Info);
                break;
            case ExpressionKind.Number:
                Emit(Op.LoadConstant, register, NumberConstant(e.Number));
                break;
            case ExpressionKind.Relocatable:
                At(e.Info).A = (byte)register;
                break;
            case ExpressionKind.Register:
                if (register != e.Info) Emit(Op.Move, register, e.Info);
                break;
            default:
                return;
        }
        e.Info = register;
        e.Kind = ExpressionKind.Register;
    }

    private void DischargeToAnyRegister(ref Expression e)
    {
        if (e.Kind == ExpressionKind.Register) return;
        Reserve(1);
        DischargeToRegister(ref e, FreeRegister - 1);
    }

    private void ToRegister(ref Expression e, int register)
    {
        DischargeToRegister(ref e, register);
        if (e.Kind == ExpressionKind.Jump) Concat(ref e.IfTrue, e.Info);
        if (e.HasJumps)
        {
            int loadFalse = NoJump, loadTrue = NoJump;
            if (AnyWithoutValue(e.IfTrue) || AnyWithoutValue(e.IfFalse))
            {
                int skip = e.Kind == ExpressionKind.Jump ? NoJump : Jump();
                Label();
                loadFalse = Emit(Op.LoadFalseSkip, register);
                Label();
                loadTrue = Emit(Op.LoadTrue, register);
                PatchHere(skip);
            }
            int end = Label();
            Patch(e.IfFalse, end, register, loadFalse);
            Patch(e.IfTrue, end, register, loadTrue);
        }
        e.IfTrue = e.IfFalse = NoJump;
        e.Info = register;
        e.Kind = ExpressionKind.Register;
    }
}
