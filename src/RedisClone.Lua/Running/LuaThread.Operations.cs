using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>
/// The operations of the language on arbitrary values, including metamethods. Each returns false if it failed.
/// </summary>
internal sealed partial class LuaThread
{
    /// <summary>
    /// Computes subject[key]. The register is that of the subject, for the error message, or negative.
    /// </summary>
    public bool Index(LuaValue subject, LuaValue key, int register, out LuaValue result)
    {
        for (int i = 0; i < LuaLimits.MetatableChain; i++)
        {
            LuaValue method;
            if (subject.Tag is LuaTable table)
            {
                result = table.Get(in key);
                if (!result.IsNil || !LuaState.TryMetamethod(table.Metatable, Metamethod.Index, out method)) return true;
            }
            else
            {
                method = State.Metamethod(in subject, Metamethod.Index);
                if (method.IsNil)
                {
                    result = default;
                    return FailType("index", in subject, i == 0 ? register : -1);
                }
            }
            if (method.Tag is LuaFunction) return CallMethod(method, subject, key, default, 2, out result);
            subject = method;
        }
        result = default;
        return Fail("loop in gettable");
    }

    /// <summary>Performs subject[key] = value.</summary>
    public bool SetIndex(LuaValue subject, LuaValue key, LuaValue value, int register)
    {
        for (int i = 0; i < LuaLimits.MetatableChain; i++)
        {
            LuaValue method;
            if (subject.Tag is LuaTable table)
            {
                if (table.Frozen) return FailFrozen();
                ref LuaValue cell = ref table.Slot(State.Meter, in key, out StoreResult result);
                if (result != StoreResult.Stored) return FailStore(result);
                if (!cell.IsNil || !LuaState.TryMetamethod(table.Metatable, Metamethod.NewIndex, out method))
                {
                    cell.Set(in value);
                    return true;
                }
            }
            else
            {
                method = State.Metamethod(in subject, Metamethod.NewIndex);
                if (method.IsNil) return FailType("index", in subject, i == 0 ? register : -1);
            }
            if (method.Tag is LuaFunction) return CallMethod(method, subject, key, value, 3, out _);
            subject = method;
        }
        return Fail("loop in settable");
    }

    public bool Arithmetic(Metamethod operation, LuaValue a, LuaValue b, int registerA, int registerB, out LuaValue result)
    {
        bool isNumber = State.TryConvert(in a, out double x);
        if (isNumber && State.TryConvert(in b, out double y))
        {
            result = operation switch
            {
                Metamethod.Add => x + y,
                Metamethod.Subtract => x - y,
                Metamethod.Multiply => x * y,
                Metamethod.Divide => x / y,
                Metamethod.Modulo => x - (Math.Floor(x / y) * y),
                Metamethod.Power => Math.Pow(x, y),
                _ => -x,
            };
            return true;
        }
        if (TryBinaryMethod(operation, in a, in b, out LuaValue method)) return CallMethod(method, a, b, default, 2, out result);
        result = default;
        return isNumber
            ? FailType("perform arithmetic on", in b, registerB)
            : FailType("perform arithmetic on", in a, registerA);
    }

    public bool Length(LuaValue value, int register, out LuaValue result)
    {
        result = default;
        if (value.Tag is LuaTable table)
        {
            result = table.Length;
            return true;
        }
        if (value.Tag is LuaString s)
        {
            result = s.Length;
            return true;
        }
        LuaValue method = State.Metamethod(in value, Metamethod.Length);
        return method.IsNil
            ? FailType("get length of", in value, register)
            : CallMethod(method, value, default, default, 2, out result);
    }

    public bool AreEqual(LuaValue a, LuaValue b, out bool result)
    {
        result = LuaValue.RawEquals(in a, in b);
        if (result) return true;
        (LuaTable? first, LuaTable? second) = (a.Tag, b.Tag) switch
        {
            (LuaTable x, LuaTable y) => (x.Metatable, y.Metatable),
            _ => (null, null),
        };
        if (!LuaState.TryMetamethod(first, Metamethod.Equal, out LuaValue method)) return true;
        if (first != second)
        {
            if (!LuaState.TryMetamethod(second, Metamethod.Equal, out LuaValue other)) return true;
            if (!LuaValue.RawEquals(in method, in other)) return true;
        }
        if (!CallMethod(method, a, b, default, 2, out LuaValue answer)) return false;
        result = !answer.IsFalsy;
        return true;
    }

    public bool IsLess(LuaValue a, LuaValue b, out bool result)
    {
        result = false;
        if (a.IsNumber && b.IsNumber)
        {
            result = a.Number < b.Number;
            return true;
        }
        if (a.Tag is LuaString s && b.Tag is LuaString t)
        {
            State.Meter.Work(Math.Min(s.Length, t.Length));
            result = s.Span.SequenceCompareTo(t.Span) < 0;
            return true;
        }
        if (a.Type != b.Type) return FailCompare(in a, in b);
        return TryOrderMethod(Metamethod.Less, in a, in b, out LuaValue method)
            ? CallForTruth(method, a, b, out result)
            : FailCompare(in a, in b);
    }

    public bool IsLessOrEqual(LuaValue a, LuaValue b, out bool result)
    {
        result = false;
        if (a.IsNumber && b.IsNumber)
        {
            result = a.Number <= b.Number;
            return true;
        }
        if (a.Tag is LuaString s && b.Tag is LuaString t)
        {
            State.Meter.Work(Math.Min(s.Length, t.Length));
            result = s.Span.SequenceCompareTo(t.Span) <= 0;
            return true;
        }
        if (a.Type != b.Type) return FailCompare(in a, in b);
        if (TryOrderMethod(Metamethod.LessEqual, in a, in b, out LuaValue method)) return CallForTruth(method, a, b, out result);
        if (!TryOrderMethod(Metamethod.Less, in b, in a, out method)) return FailCompare(in a, in b);
        if (!CallForTruth(method, b, a, out result)) return false;
        result = !result;
        return true;
    }

    /// <summary>
    /// Concatenates the values between two stack indexes from right to left. The result is at the first index.
    /// </summary>
    public bool Concat(int first, int last)
    {
        while (last > first)
        {
            if (!IsText(in Stack[last - 1]) || !IsText(in Stack[last]))
            {
                LuaValue a = Stack[last - 1], b = Stack[last];
                if (!TryBinaryMethod(Metamethod.Concat, in a, in b, out LuaValue method))
                {
                    bool aFits = IsText(in a);
                    int index = aFits ? last : last - 1;
                    return FailType("concatenate", in Stack[index], Frame.IsLua ? index - Frame.Base : -1);
                }
                if (!CallMethod(method, a, b, default, 2, out LuaValue result)) return false;
                Stack[--last] = result;
                continue;
            }
            int from = last - 1;
            while (from > first && IsText(in Stack[from - 1])) from--;
            if (!ConcatTexts(from, last)) return false;
            last = from;
        }
        return true;
    }

    /// <summary>Calls a metamethod above all values in use and returns its first result.</summary>
    public bool CallMethod(LuaValue method, LuaValue a, LuaValue b, LuaValue c, int arguments, out LuaValue result)
    {
        result = default;
        int callee = FrameCount > 0 && Frame.IsLua ? Frame.Limit : Top;
        if (!EnsureStack(callee, 4)) return false;
        Stack[callee] = method;
        Stack[callee + 1] = a;
        Stack[callee + 2] = b;
        Stack[callee + 3] = c;
        Top = callee + 1 + arguments;
        if (!Call(callee, 1)) return false;
        result = Stack[callee];
        Top = callee;
        return true;
    }

    private static bool IsText(in LuaValue value) => value.IsNumber || value.Tag is LuaString;

    private bool ConcatTexts(int from, int to)
    {
        long total = 0;
        Span<byte> number = stackalloc byte[LuaNumber.MaxText];
        for (int i = from; i <= to; i++)
        {
            total += Stack[i].Tag is LuaString s ? s.Length : LuaNumber.Format(Stack[i].Number, number);
        }
        if (total > LuaLimits.StringLength) return Fail("string length overflow");
        byte[]? bytes = State.TryNewBytes((int)total);
        if (bytes is null) return FailMemory();
        int at = 0;
        for (int i = from; i <= to; i++)
        {
            if (Stack[i].Tag is LuaString s)
            {
                s.Span.CopyTo(bytes.AsSpan(at));
                at += s.Length;
            }
            else
            {
                at += LuaNumber.Format(Stack[i].Number, bytes.AsSpan(at));
            }
        }
        Stack[from] = new LuaString(bytes);
        return State.Spend((int)(total >> 6));
    }

    private bool TryBinaryMethod(Metamethod operation, in LuaValue a, ref readonly LuaValue b, out LuaValue method)
    {
        method = State.Metamethod(in a, operation);
        if (method.IsNil) method = State.Metamethod(in b, operation);
        return !method.IsNil;
    }

    private bool TryOrderMethod(Metamethod operation, in LuaValue a, ref readonly LuaValue b, out LuaValue method)
    {
        method = State.Metamethod(in a, operation);
        if (method.IsNil) return false;
        LuaValue other = State.Metamethod(in b, operation);
        return LuaValue.RawEquals(in method, in other);
    }

    private bool CallForTruth(LuaValue method, LuaValue a, LuaValue b, out bool result)
    {
        bool done = CallMethod(method, a, b, default, 2, out LuaValue answer);
        result = !answer.IsFalsy;
        return done;
    }
}
