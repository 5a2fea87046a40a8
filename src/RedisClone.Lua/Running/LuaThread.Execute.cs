using System.Runtime.CompilerServices;
using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>
/// The instruction loop. It handles only the frequent and simple cases, which end with <c>continue</c>. All other cases
/// leave the switch with <c>break</c> and are handled by <see cref="ExecuteSlow"/>, which implements the full
/// semantics.
/// </summary>
internal sealed partial class LuaThread
{
    /// <summary>
    /// Runs the topmost frame, and the frames that it pushes, until frame number <paramref name="entry"/> returns.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private RunResult Execute(int entry)
    {
        LuaState state = State;
        LuaMeter meter = state.Meter;
    enter:
        ref CallFrame frame = ref Frames[FrameCount - 1];
        var closure = (LuaClosure)frame.Function;
        Prototype prototype = closure.Prototype;
        Instruction[] code = prototype.Code;
        LuaValue[] constants = prototype.Constants;
        Span<LuaValue> r = Stack.AsSpan(frame.Base, prototype.StackSize);
        int pc = frame.Position;

        while (true)
        {
            ref readonly Instruction i = ref code[pc++];
            switch (i.Op)
            {
                case Op.Move:
                    r[i.A].Set(in r[i.B]);
                    continue;
                case Op.LoadConstant:
                    r[i.A].Set(in constants[i.B]);
                    continue;
                case Op.LoadTrue:
                    r[i.A].Tag = LuaValue.TrueTag;
                    continue;
                case Op.LoadFalse:
                    r[i.A].Tag = LuaValue.FalseTag;
                    continue;
                case Op.LoadFalseSkip:
                    r[i.A].Tag = LuaValue.FalseTag;
                    pc++;
                    continue;
                case Op.LoadNil:
                    r[i.A..(i.B + 1)].Clear();
                    continue;
                case Op.GetUpvalue:
                    closure.Upvalues[i.B].Get(ref r[i.A]);
                    continue;
                case Op.SetUpvalue:
                    closure.Upvalues[i.B].Set(in r[i.A]);
                    continue;

                case Op.GetGlobal:
                {
                    ref readonly LuaValue value = ref closure.Environment.Get(prototype.Names[i.B]);
                    if (value.IsNil)
                    {
                        value = ref GetInherited(closure.Environment, prototype.Names[i.B]);
                        if (value.IsNil) break;
                    }
                    r[i.A].Set(in value);
                    continue;
                }
                case Op.SetGlobal:
                    if (closure.Environment.TryStore(prototype.Names[i.B], in r[i.A])) continue;
                    break;
                case Op.GetTable:
                {
                    if (r[i.B].Tag is not LuaTable table) break;
                    ref LuaValue key = ref r[i.C];
                    ref readonly LuaValue value = ref LuaValue.NilCell[0];
                    int index;
                    if (key.Tag == LuaValue.NumberTag && (index = double.ConvertToIntegerNative<int>(key.Number)) == key.Number)
                        value = ref table.Get(index);
                    else value = ref table.Get(in key);
                    if (value.IsNil && table.Metatable is not null) break;
                    r[i.A].Set(in value);
                    continue;
                }
                case Op.GetField:
                {
                    if (r[i.B].Tag is not LuaTable table) break;
                    ref readonly LuaValue value = ref table.Get(prototype.Names[i.C]);
                    if (value.IsNil && table.Metatable is not null)
                    {
                        value = ref GetInherited(table, prototype.Names[i.C]);
                        if (value.IsNil) break;
                    }
                    r[i.A].Set(in value);
                    continue;
                }
                case Op.GetConstant:
                {
                    if (r[i.B].Tag is not LuaTable table) break;
                    ref readonly LuaValue value = ref table.Get(in constants[i.C]);
                    if (value.IsNil && table.Metatable is not null) break;
                    r[i.A].Set(in value);
                    continue;
                }
                case Op.SetTable:
                {
                    if (r[i.A].Tag is not LuaTable table) break;
                    ref LuaValue key = ref r[i.B];
                    ref readonly LuaValue value = ref i.C >= 0 ? ref r[i.C] : ref constants[~i.C];
                    if (key.Tag == LuaValue.NumberTag)
                    {
                        int index = double.ConvertToIntegerNative<int>(key.Number);
                        if (index == key.Number && table.TryStore(index, in value)) continue;
                    }
                    else if (key.Tag is LuaString name && table.TryStore(name, in value))
                    {
                        continue;
                    }
                    break;
                }
                case Op.SetField:
                {
                    if (r[i.A].Tag is not LuaTable table) break;
                    ref readonly LuaValue value = ref i.C >= 0 ? ref r[i.C] : ref constants[~i.C];
                    if (table.TryStore(prototype.Names[i.B], in value)) continue;
                    break;
                }
                case Op.SetConstant:
                {
                    if (r[i.A].Tag is not LuaTable table) break;
                    ref LuaValue key = ref constants[i.B];
                    ref readonly LuaValue value = ref i.C >= 0 ? ref r[i.C] : ref constants[~i.C];
                    int index = double.ConvertToIntegerNative<int>(key.Number);
                    if (key.Tag == LuaValue.NumberTag && index == key.Number && table.TryStore(index, in value)) continue;
                    break;
                }
                case Op.Self:
                {
                    if (i.C >= 0) break;
                    ref LuaValue subject = ref r[i.B];
                    object? tag = subject.Tag;
                    if (tag is not LuaTable table)
                    {
                        if (tag is not LuaString || state.StringMethods is not { } methods) break;
                        table = methods;
                    }
                    LuaString name = prototype.Names[~i.C];
                    ref readonly LuaValue value = ref table.Get(name);
                    if (value.IsNil && table.Metatable is not null)
                    {
                        value = ref GetInherited(table, name);
                        if (value.IsNil) break;
                    }
                    r[i.A + 1].Tag = tag;
                    r[i.A].Set(in value);
                    continue;
                }

                case Op.Add:
                {
                    ref LuaValue b = ref r[i.B];
                    ref LuaValue c = ref r[i.C];
                    if (b.Tag != LuaValue.NumberTag || c.Tag != LuaValue.NumberTag) break;
                    r[i.A].SetNumber(b.Number + c.Number);
                    continue;
                }
                case Op.AddConstant:
                {
                    ref LuaValue b = ref r[i.B];
                    if (b.Tag != LuaValue.NumberTag) break;
                    r[i.A].SetNumber(b.Number + constants[i.C].Number);
                    continue;
                }
                case Op.Subtract:
                {
                    ref LuaValue b = ref r[i.B];
                    ref LuaValue c = ref r[i.C];
                    if (b.Tag != LuaValue.NumberTag || c.Tag != LuaValue.NumberTag) break;
                    r[i.A].SetNumber(b.Number - c.Number);
                    continue;
                }
                case Op.SubtractConstant:
                {
                    ref LuaValue b = ref r[i.B];
                    if (b.Tag != LuaValue.NumberTag) break;
                    r[i.A].SetNumber(b.Number - constants[i.C].Number);
                    continue;
                }
                case Op.Multiply:
                {
                    ref LuaValue b = ref r[i.B];
                    ref LuaValue c = ref r[i.C];
                    if (b.Tag != LuaValue.NumberTag || c.Tag != LuaValue.NumberTag) break;
                    r[i.A].SetNumber(b.Number * c.Number);
                    continue;
                }
                case Op.MultiplyConstant:
                {
                    ref LuaValue b = ref r[i.B];
                    if (b.Tag != LuaValue.NumberTag) break;
                    r[i.A].SetNumber(b.Number * constants[i.C].Number);
                    continue;
                }
                case Op.Divide:
                {
                    ref LuaValue b = ref r[i.B];
                    ref LuaValue c = ref r[i.C];
                    if (b.Tag != LuaValue.NumberTag || c.Tag != LuaValue.NumberTag) break;
                    r[i.A].SetNumber(b.Number / c.Number);
                    continue;
                }
                case Op.DivideConstant:
                {
                    ref LuaValue b = ref r[i.B];
                    if (b.Tag != LuaValue.NumberTag) break;
                    r[i.A].SetNumber(b.Number / constants[i.C].Number);
                    continue;
                }
                case Op.Modulo:
                {
                    ref LuaValue b = ref r[i.B];
                    ref LuaValue c = ref r[i.C];
                    if (b.Tag != LuaValue.NumberTag || c.Tag != LuaValue.NumberTag) break;
                    r[i.A].SetNumber(b.Number - (Math.Floor(b.Number / c.Number) * c.Number));
                    continue;
                }
                case Op.ModuloConstant:
                {
                    ref LuaValue b = ref r[i.B];
                    if (b.Tag != LuaValue.NumberTag) break;
                    double divisor = constants[i.C].Number;
                    r[i.A].SetNumber(b.Number - (Math.Floor(b.Number / divisor) * divisor));
                    continue;
                }
                case Op.Negate:
                    if (r[i.B].Tag != LuaValue.NumberTag) break;
                    r[i.A].SetNumber(-r[i.B].Number);
                    continue;
                case Op.Not:
                    r[i.A].Tag = r[i.B].IsFalsy ? LuaValue.TrueTag : LuaValue.FalseTag;
                    continue;
                case Op.Length:
                {
                    if (r[i.B].Tag is not LuaTable table) break;
                    r[i.A].SetNumber(table.Length);
                    continue;
                }

                case Op.Equal:
                {
                    ref LuaValue a = ref r[i.A];
                    if (LuaValue.RawEquals(in a, in r[i.C])) pc = i.B;
                    else if (MayDefineEquality(a.Tag)) break;
                    continue;
                }
                case Op.NotEqual:
                {
                    ref LuaValue a = ref r[i.A];
                    if (LuaValue.RawEquals(in a, in r[i.C])) continue;
                    if (MayDefineEquality(a.Tag)) break;
                    pc = i.B;
                    continue;
                }
                case Op.EqualConstant:
                    if (LuaValue.RawEquals(in r[i.A], in constants[i.C])) pc = i.B;
                    continue;
                case Op.NotEqualConstant:
                    if (!LuaValue.RawEquals(in r[i.A], in constants[i.C])) pc = i.B;
                    continue;
                case Op.Less or Op.NotLess:
                {
                    ref LuaValue a = ref r[i.A];
                    ref LuaValue c = ref r[i.C];
                    if (a.Tag != LuaValue.NumberTag || c.Tag != LuaValue.NumberTag) break;
                    if (a.Number < c.Number == (i.Op == Op.Less)) pc = i.B;
                    continue;
                }
                case Op.LessEqual or Op.NotLessEqual:
                {
                    ref LuaValue a = ref r[i.A];
                    ref LuaValue c = ref r[i.C];
                    if (a.Tag != LuaValue.NumberTag || c.Tag != LuaValue.NumberTag) break;
                    if (a.Number <= c.Number == (i.Op == Op.LessEqual)) pc = i.B;
                    continue;
                }
                case Op.LessConstant or Op.NotLessConstant:
                {
                    ref LuaValue a = ref r[i.A];
                    ref LuaValue c = ref constants[i.C];
                    if (a.Tag != LuaValue.NumberTag || c.Tag != LuaValue.NumberTag) break;
                    if (a.Number < c.Number == (i.Op == Op.LessConstant)) pc = i.B;
                    continue;
                }
                case Op.ConstantLess or Op.NotConstantLess:
                {
                    ref LuaValue a = ref r[i.A];
                    ref LuaValue c = ref constants[i.C];
                    if (a.Tag != LuaValue.NumberTag || c.Tag != LuaValue.NumberTag) break;
                    if (c.Number < a.Number == (i.Op == Op.ConstantLess)) pc = i.B;
                    continue;
                }
                case Op.LessEqualConstant or Op.NotLessEqualConstant:
                {
                    ref LuaValue a = ref r[i.A];
                    ref LuaValue c = ref constants[i.C];
                    if (a.Tag != LuaValue.NumberTag || c.Tag != LuaValue.NumberTag) break;
                    if (a.Number <= c.Number == (i.Op == Op.LessEqualConstant)) pc = i.B;
                    continue;
                }
                case Op.ConstantLessEqual or Op.NotConstantLessEqual:
                {
                    ref LuaValue a = ref r[i.A];
                    ref LuaValue c = ref constants[i.C];
                    if (a.Tag != LuaValue.NumberTag || c.Tag != LuaValue.NumberTag) break;
                    if (c.Number <= a.Number == (i.Op == Op.ConstantLessEqual)) pc = i.B;
                    continue;
                }
                case Op.Test:
                    if (!r[i.A].IsFalsy) pc = i.B;
                    continue;
                case Op.TestNot:
                    if (r[i.A].IsFalsy) pc = i.B;
                    continue;
                case Op.TestSet:
                    if (r[i.C].IsFalsy) continue;
                    r[i.A].Set(in r[i.C]);
                    pc = i.B;
                    continue;
                case Op.TestSetNot:
                    if (!r[i.C].IsFalsy) continue;
                    r[i.A].Set(in r[i.C]);
                    pc = i.B;
                    continue;
                case Op.Jump:
                    pc = i.B;
                    continue;
                case Op.JumpBack:
                    pc = i.B;
                    if (--meter.Budget >= 0) continue;
                    goto spent;
                case Op.Tick:
                    if (--meter.Budget >= 0) continue;
                    goto spent;
                case Op.ForLoop:
                {
                    Span<LuaValue> loop = r.Slice(i.A, 4);
                    double step = loop[2].Number;
                    double next = loop[0].Number + step;
                    if (step > 0 ? !(next <= loop[1].Number) : !(loop[1].Number <= next)) continue;
                    loop[0].Number = next;
                    loop[3].SetNumber(next);
                    pc = i.B;
                    if (--meter.Budget >= 0) continue;
                    goto spent;
                }
                case Op.IterateCall:
                {
                    Span<LuaValue> loop = r.Slice(i.A, 5);
                    if (i.C > 2 || loop[1].Tag is not LuaTable table) break;
                    if (loop[0].Tag == state.NextFunction)
                    {
                        if (!TryNext(table, loop, meter)) break;
                    }
                    else if (loop[0].Tag == state.NextIndexFunction && loop[2].IsNumber)
                    {
                        StepIndex(table, loop);
                    }
                    else
                    {
                        break;
                    }
                    pc = loop[3].IsNil ? pc + 1 : code[pc].B;
                    if (--meter.Budget >= 0) continue;
                    goto spent;
                }
                case Op.IterateLoop:
                {
                    Span<LuaValue> loop = r.Slice(i.A, 4);
                    if (loop[3].IsNil) continue;
                    loop[2].Set(in loop[3]);
                    pc = i.B;
                    if (--meter.Budget >= 0) continue;
                    goto spent;
                }

                case Op.Call:
                {
                    int callee = frame.Base + i.A;
                    if (i.B > 0) Top = callee + i.B;
                    frame.Position = pc;
                    if (--meter.Budget < 0 && !state.RenewBudget()) return RunResult.Failed;
                    object? function = r[i.A].Tag;
                    if (function is LuaClosure lua)
                    {
                        if (!EnterLua(lua, callee, i.C - 1)) return RunResult.Failed;
                        goto enter;
                    }
                    if (function is not LuaHostFunction host)
                    {
                        if (!InsertCallMethod(callee)) return RunResult.Failed;
                        if (Stack[callee].Tag is LuaClosure method)
                        {
                            if (!EnterLua(method, callee, i.C - 1)) return RunResult.Failed;
                            goto enter;
                        }
                        host = (LuaHostFunction)Stack[callee].Tag!;
                    }
                    int count = InvokeHost(host, callee, i.C - 1);
                    if (count < 0) return count == LuaCall.Yield ? RunResult.Yielded : RunResult.Failed;
                    FinishCall(Top - count, count);
                    if (meter.CensusDue && !state.TakeCensus()) return RunResult.Failed;
                    frame = ref Frames[FrameCount - 1];
                    r = Stack.AsSpan(frame.Base, prototype.StackSize);
                    continue;
                }
                case Op.TailCall:
                {
                    int callee = frame.Base + i.A;
                    if (i.B > 0) Top = callee + i.B;
                    frame.Position = pc;
                    if (--meter.Budget < 0 && !state.RenewBudget()) return RunResult.Failed;
                    if (r[i.A].Tag is not LuaFunction && !InsertCallMethod(callee)) return RunResult.Failed;
                    if (Stack[callee].Tag is LuaClosure lua)
                    {
                        if (!ReplaceFrame(lua, callee)) return RunResult.Failed;
                        goto enter;
                    }
                    int count = InvokeHost((LuaHostFunction)Stack[callee].Tag!, callee, CallFrame.AllResults);
                    if (count < 0) return count == LuaCall.Yield ? RunResult.Yielded : RunResult.Failed;
                    FinishCall(Top - count, count);
                    frame = ref Frames[FrameCount - 1];
                    r = Stack.AsSpan(frame.Base, prototype.StackSize);
                    continue;
                }
                case Op.Return:
                {
                    int first = frame.Base + i.A;
                    CloseUpvalues(frame.Base);
                    FinishCall(first, i.B > 0 ? i.B - 1 : Top - first);
                    if (FrameCount < entry) return RunResult.Done;
                    goto enter;
                }
            }

            frame.Position = pc;
            if (!ExecuteSlow(in i)) return RunResult.Failed;
            frame = ref Frames[FrameCount - 1];
            if (frame.Function != closure) goto enter;
            pc = frame.Position;
            r = Stack.AsSpan(frame.Base, prototype.StackSize);
            continue;

        spent:
            frame.Position = pc;
            if (!state.RenewBudget()) return RunResult.Failed;
        }
    }
}
