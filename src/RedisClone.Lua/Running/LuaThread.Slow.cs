using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>Instructions in their full generality: metamethods, conversions, errors and allocations.</summary>
internal sealed partial class LuaThread
{
    /// <summary>
    /// Executes an instruction of the topmost frame. The position of the frame is already after the instruction. A jump
    /// changes it.
    /// </summary>
    private bool ExecuteSlow(in Instruction i)
    {
        int @base = Frame.Base;
        var closure = (LuaClosure)Frame.Function;
        LuaValue[] constants = closure.Prototype.Constants;
        LuaValue result;
        switch (i.Op)
        {
            case Op.GetGlobal:
                if (!Index(closure.Environment, constants[i.B], -1, out result)) return false;
                break;
            case Op.GetTable:
                if (!Index(Stack[@base + i.B], Stack[@base + i.C], i.B, out result)) return false;
                break;
            case Op.GetField or Op.GetConstant:
                if (!Index(Stack[@base + i.B], constants[i.C], i.B, out result)) return false;
                break;
            case Op.Self:
                LuaValue subject = Stack[@base + i.B];
                LuaValue name = i.C < 0 ? constants[~i.C] : Stack[@base + i.C];
                Stack[@base + i.A + 1] = subject;
                if (!Index(subject, name, i.B, out result)) return false;
                break;
            case Op.SetGlobal:
                return SetIndex(closure.Environment, constants[i.B], Stack[@base + i.A], -1);
            case Op.SetTable:
                return SetIndex(Stack[@base + i.A], Stack[@base + i.B], StoredValue(in i, @base, constants), i.A);
            case Op.SetField or Op.SetConstant:
                return SetIndex(Stack[@base + i.A], constants[i.B], StoredValue(in i, @base, constants), i.A);
            case Op.NewTable:
                LuaTable? table = State.TryNewTable(i.B, i.C == 0 ? 0 : 1 << (i.C - 1));
                if (table is null) return FailMemory();
                Stack[@base + i.A] = table;
                return !State.Meter.CensusDue || State.TakeCensus();
            case Op.SetList:
                return SetList(in i, @base);
            case >= Op.Add and <= Op.PowerConstant:
                bool constant = ((i.Op - Op.Add) & 1) != 0;
                LuaValue right = constant ? constants[i.C] : Stack[@base + i.C];
                Metamethod operation = Metamethod.Add + ((i.Op - Op.Add) / 2);
                if (!Arithmetic(operation, Stack[@base + i.B], right, i.B, constant ? -1 : i.C, out result)) return false;
                break;
            case Op.Negate:
                LuaValue operand = Stack[@base + i.B];
                if (!Arithmetic(Metamethod.Negate, operand, operand, i.B, i.B, out result)) return false;
                break;
            case Op.Length:
                if (!Length(Stack[@base + i.B], i.B, out result)) return false;
                break;
            case Op.Concat:
                if (!Concat(@base + i.B, @base + i.C)) return false;
                Stack[Frame.Base + i.A] = Stack[Frame.Base + i.B];
                return !State.Meter.CensusDue || State.TakeCensus();
            case Op.Closure:
                return MakeClosure(in i, closure, @base);
            case Op.Close:
                CloseUpvalues(@base + i.A);
                return true;
            case Op.Vararg:
                return CopyVarargs(in i, closure.Prototype);
            case Op.ForPrepare:
                return PrepareFor(in i, @base);
            case Op.IterateCall:
                return StartIteratorCall(in i, @base);
            default:
                return CompareAndJump(in i, @base, constants);
        }
        Stack[Frame.Base + i.A] = result;
        return true;
    }

    private LuaValue StoredValue(in Instruction i, int @base, LuaValue[] constants) =>
        i.C >= 0 ? Stack[@base + i.C] : constants[~i.C];

    private bool CompareAndJump(in Instruction i, int @base, LuaValue[] constants)
    {
        LuaValue a = Stack[@base + i.A];
        bool result, done;
        switch ((Op)((int)i.Op & ~1))
        {
            case Op.Equal:
                done = AreEqual(a, Stack[@base + i.C], out result);
                break;
            case Op.Less:
                done = IsLess(a, Stack[@base + i.C], out result);
                break;
            case Op.LessConstant:
                done = IsLess(a, constants[i.C], out result);
                break;
            case Op.ConstantLess:
                done = IsLess(constants[i.C], a, out result);
                break;
            case Op.LessEqual:
                done = IsLessOrEqual(a, Stack[@base + i.C], out result);
                break;
            case Op.LessEqualConstant:
                done = IsLessOrEqual(a, constants[i.C], out result);
                break;
            default:
                done = IsLessOrEqual(constants[i.C], a, out result);
                break;
        }
        if (done && result == (((int)i.Op & 1) == 0)) Frame.Position = i.B;
        return done;
    }

    private bool SetList(in Instruction i, int @base)
    {
        int first = @base + i.A + 1;
        int count = i.C > 0 ? i.C : Top - first;
        var table = (LuaTable)Stack[@base + i.A].Tag!;
        StoreResult result = table.EnsureArray(State.Meter, i.B + count);
        for (int n = count; n > 0 && result == StoreResult.Stored; n--)
            result = table.Set(State.Meter, i.B + n, in Stack[first + n - 1]);
        return result == StoreResult.Stored || FailStore(result);
    }

    private bool MakeClosure(in Instruction i, LuaClosure closure, int @base)
    {
        Prototype child = closure.Prototype.Children[i.B];
        long size = LuaClosure.SizeOf(child.Upvalues.Length) + ((long)UpValue.Size * child.Upvalues.Length);
        if (!State.Meter.TryCharge(size)) return FailMemory();
        var made = new LuaClosure(child, closure.Environment);
        for (int n = 0; n < child.Upvalues.Length; n++)
        {
            UpvalueSource source = child.Upvalues[n];
            made.Upvalues[n] = source.FromRegister ? FindUpvalue(@base + source.Index) : closure.Upvalues[source.Index];
        }
        Stack[@base + i.A] = made;
        return !State.Meter.CensusDue || State.TakeCensus();
    }

    private bool CopyVarargs(in Instruction i, Prototype p)
    {
        int extra = Frame.Base - Frame.Callee - 1 - p.Parameters;
        int to = Frame.Base + i.A;
        int count = i.B > 0 ? i.B - 1 : extra;
        if (i.B == 0)
        {
            if (!EnsureStack(to, count)) return false;
            Top = to + count;
            State.Meter.Budget -= count / ValuesPerStep;
        }
        int copied = Math.Min(count, extra);
        Stack.AsSpan(Frame.Base - extra, copied).CopyTo(Stack.AsSpan(to));
        Stack.AsSpan(to + copied, count - copied).Clear();
        return true;
    }

    private bool PrepareFor(in Instruction i, int @base)
    {
        Span<LuaValue> loop = Stack.AsSpan(@base + i.A, 3);
        if (!State.TryConvert(in loop[0], out double start)) return Fail("'for' initial value must be a number");
        if (!State.TryConvert(in loop[1], out double limit)) return Fail("'for' limit must be a number");
        if (!State.TryConvert(in loop[2], out double step)) return Fail("'for' step must be a number");
        loop[0].SetNumber(start - step);
        loop[1].SetNumber(limit);
        loop[2].SetNumber(step);
        Frame.Position = i.B;
        return true;
    }

    /// <summary>
    /// Starts the call of an iterator. A Lua function becomes the topmost frame. Any other value is called immediately.
    /// </summary>
    private bool StartIteratorCall(in Instruction i, int @base)
    {
        int callee = @base + i.A + 3;
        Stack.AsSpan(@base + i.A, 3).CopyTo(Stack.AsSpan(callee));
        Top = callee + 3;
        if (Stack[callee].Tag is not LuaFunction && !InsertCallMethod(callee)) return false;
        if (Stack[callee].Tag is LuaClosure lua) return EnterLua(lua, callee, i.C);
        int count = InvokeHost((LuaHostFunction)Stack[callee].Tag!, callee, i.C);
        if (count == LuaCall.Yield) return FailYield();
        if (count < 0) return false;
        FinishCall(Top - count, count);
        return !State.Meter.CensusDue || State.TakeCensus();
    }
}
