using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>
/// The basic functions, without those that access files or standard output. Chunks are compiled from source only. A
/// binary chunk is a syntax error.
/// </summary>
internal static class BaseLibrary
{
    private static readonly LuaString s_loadName = LuaString.From("=(load)");
    private static readonly LuaString s_nilText = LuaString.From("nil");
    private static readonly LuaString s_trueText = LuaString.From("true");
    private static readonly LuaString s_falseText = LuaString.From("false");
    private static readonly LuaString[] s_typeNames =
        [.. Enum.GetValues<LuaType>().Select(t => LuaString.From(LuaTypeNames.Of(t)))];

    private static readonly string[] s_collectOptions =
        ["stop", "restart", "collect", "count", "step", "setpause", "setstepmul"];

    public static void Open(LuaState state)
    {
        LuaTable globals = state.Globals;
        state.SetField(globals, "_G", globals);
        state.SetField(globals, "_VERSION", state.Name("Lua 5.1"));
        Library.Add(
            state,
            globals,
            ("assert", Assert),
            ("collectgarbage", CollectGarbage),
            ("error", Error),
            ("gcinfo", GcInfo),
            ("getmetatable", GetMetatable),
            ("load", Load),
            ("loadstring", LoadString),
            ("next", Next),
            ("pcall", ProtectedCall),
            ("rawequal", RawEqual),
            ("rawget", RawGet),
            ("rawset", RawSet),
            ("select", Select),
            ("setmetatable", SetMetatable),
            ("tonumber", ToNumber),
            ("tostring", ToText),
            ("type", TypeOf),
            ("unpack", Unpack),
            ("xpcall", HandledCall));
        state.NextFunction = globals[state.Name("next")].AsFunction as LuaHostFunction;
        state.NextIndexFunction = new LuaHostFunction(IPairsStep);
        state.SetField(globals, "ipairs", new LuaHostFunction(IPairs, state.NextIndexFunction));
        state.SetField(globals, "pairs", new LuaHostFunction(Pairs, state.NextFunction));
    }

    /// <summary>Returns a value as <c>tostring</c> shows it, without metamethods.</summary>
    internal static LuaString Describe(ref LuaCall call, in LuaValue value)
    {
        switch (value.Type)
        {
            case LuaType.Nil:
                return s_nilText;
            case LuaType.Boolean:
                return value.IsTrue ? s_trueText : s_falseText;
            case LuaType.Number:
                return DescribeNumber(ref call, value.Number);
            case LuaType.String:
                return value.AsString!;
        }
        var o = (LuaObject)value.Tag!;
        string text = ReferenceEquals(o, LuaUserData.NullPointer)
            ? "userdata: (nil)"
            : $"{value.TypeName}: 0x{0x5500_0000_0000 + (32L * o.Identity):x}";
        LuaString? s = call.State.TryNewString(System.Text.Encoding.Latin1.GetBytes(text));
        if (s is null) call.OutOfMemory();
        return s ?? LuaString.Empty;
    }

    private static int Assert(ref LuaCall call)
    {
        call.CheckAny(1);
        if (call.Failed || !call[1].IsFalsy) return call.Count;
        if (call.IsMissing(2)) return call.Error("assertion failed!");
        ReadOnlySpan<byte> message = call.CheckString(2).Span;
        int zero = message.IndexOf((byte)0);
        return call.Error("", zero < 0 ? message : message[..zero], "");
    }

    private static LuaString DescribeNumber(ref LuaCall call, double value)
    {
        if (!call.Meter.TryCharge(LuaString.SizeOf(LuaNumber.MaxText))) call.OutOfMemory();
        return LuaNumber.ToLuaString(value);
    }

    private static int Error(ref LuaCall call)
    {
        int level = call.OptionalInt(2, 1);
        if (call.Failed) return 0;
        LuaValue value = call[1];
        if (level <= 0 || value.Type is not (LuaType.String or LuaType.Number)) return call.Raise(value);
        string where = call.Thread.Where(level);
        if (where.Length == 0 && value.AsString is not null) return call.Raise(value);
        LuaString message = Describe(ref call, in value);
        long length = (long)where.Length + message.Length;
        byte[]? text = length > LuaLimits.StringLength ? null : call.State.TryNewBytes((int)length);
        if (text is null) return call.OutOfMemory();
        System.Text.Encoding.Latin1.GetBytes(where, text);
        message.Span.CopyTo(text.AsSpan(where.Length));
        call.Meter.Work(length);
        return call.Raise(new LuaString(text));
    }

    private static int ProtectedCall(ref LuaCall call)
    {
        call.CheckAny(1);
        if (call.Failed) return 0;
        int from = call.StackIndex(1);
        LuaOutcome outcome = call.ProtectedCall(call.Count - 1, CallFrame.AllResults);
        if (outcome == LuaOutcome.Failed && call.State.CaughtField is { } name) UnwrapError(ref call, name);
        return call.ReturnOutcome(outcome, from);
    }

    /// <summary>
    /// Replaces an error table with the text in its field. If the field is not a text, its value is returned in
    /// addition to the table.
    /// </summary>
    private static void UnwrapError(ref LuaCall call, LuaString name)
    {
        ref LuaValue error = ref call.Thread.Stack[call.Thread.Top - 1];
        if (error.Tag is not LuaTable table) return;
        LuaValue text = table.Get(name);
        if (text.Type is LuaType.String or LuaType.Number) error = text;
        else call.Push(text);
    }

    private static int HandledCall(ref LuaCall call)
    {
        call.CheckAny(2);
        if (call.Failed) return 0;
        LuaValue function = call[1];
        call.Thread.Top = call.StackIndex(3);
        call.Push(function);
        LuaOutcome outcome = call.ProtectedCall(0, CallFrame.AllResults, call[2]);
        return call.ReturnOutcome(outcome, call.StackIndex(3));
    }

    private static int LoadString(ref LuaCall call)
    {
        LuaString source = call.CheckString(1);
        LuaString name = call.OptionalString(2, source);
        return call.Failed ? 0 : Compile(ref call, source.Bytes, name);
    }

    private static int Load(ref LuaCall call)
    {
        LuaString name = call.OptionalString(2, s_loadName);
        call.CheckFunction(1);
        if (call.Failed) return 0;
        var source = new TextBuilder(call.Meter);
        int results = ReadSource(ref call, ref source);
        if (results == 0 && !call.Failed)
        {
            byte[]? bytes = call.State.TryNewBytes(source.Length);
            if (bytes is null) results = ReturnNilAnd(ref call, call.State.OutOfMemory);
            else source.Written.CopyTo(bytes);
            source.Dispose();
            return bytes is null ? results : Compile(ref call, bytes, name);
        }
        source.Dispose();
        return results;
    }

    /// <summary>
    /// Calls the reader function until it returns no more text. Returns the number of pushed results after a failure,
    /// or 0.
    /// </summary>
    private static int ReadSource(ref LuaCall call, ref TextBuilder source)
    {
        while (true)
        {
            call.Push(call[1]);
            switch (call.ProtectedCall(0, 1, call.State.Handler))
            {
                case LuaOutcome.Aborted:
                    return 0;
                case LuaOutcome.Failed:
                    return ReturnNilAnd(ref call, call.Pop());
            }
            LuaValue piece = call.Pop();
            if (piece.IsNil) return 0;
            if (piece.Type is not (LuaType.String or LuaType.Number))
                return ReturnNilAnd(ref call, LuaString.From(call.Thread.Where(1) + "reader function must return a string"));
            LuaString text = Describe(ref call, in piece);
            if (text.Length == 0) return 0;
            source.Append(text.Span);
            if (source.Overflowed) return ReturnNilAnd(ref call, call.State.OutOfMemory);
        }
    }

    private static int Compile(ref LuaCall call, byte[] source, LuaString name)
    {
        if (!call.Spend(source.Length)) return 0;
        LuaClosure? function = call.State.Compile(source, name, call.Thread.Globals, out string? error);
        return function is not null
            ? call.Return(function)
            : ReturnNilAnd(ref call, LuaString.From(error!));
    }

    private static int ReturnNilAnd(ref LuaCall call, LuaValue value)
    {
        call.Push(LuaValue.Nil);
        call.Push(value);
        return 2;
    }

    private static int GetMetatable(ref LuaCall call)
    {
        call.CheckAny(1);
        LuaTable? table = call.State.MetatableOf(in call[1]);
        if (table is null) return call.Return(LuaValue.Nil);
        LuaValue shown = table.Get(WellKnown.MetatableName);
        return call.Return(shown.IsNil ? table : shown);
    }

    private static int SetMetatable(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        call.Check(call.Count >= 2 && call[2].Type is LuaType.Nil or LuaType.Table, 2, "nil or table expected");
        if (call.Failed) return 0;
        if (table.Metatable is { } old && !old.Get(WellKnown.MetatableName).IsNil)
            return call.Error("cannot change a protected metatable");
        if (table.Frozen)
        {
            call.Thread.FailFrozen();
            return call.Propagate();
        }
        table.Metatable = call[2].AsTable;
        return call.Return(table);
    }

    private static int RawEqual(ref LuaCall call)
    {
        call.CheckAny(1);
        call.CheckAny(2);
        return call.Return(LuaValue.RawEquals(in call[1], in call[2]));
    }

    private static int RawGet(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        call.CheckAny(2);
        return call.Return(table.Get(in call[2]));
    }

    private static int RawSet(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        call.CheckAny(2);
        call.CheckAny(3);
        if (!call.Failed) call.Store(table, call[2], call[3]);
        return call.Return(table);
    }

    private static int Next(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        if (call.Failed) return 0;
        int at = table.FindTraversed(in call[2]);
        if (at < -1)
        {
            call.Thread.Fail("invalid key to 'next'");
            return call.Propagate();
        }
        int from = at;
        bool found = table.Advance(ref at, out LuaValue key, out LuaValue value);
        if (!call.Spend((at - from) / 8)) return 0;
        if (!found) return call.Return(LuaValue.Nil);
        call.Push(key);
        call.Push(value);
        return 2;
    }

    private static int Pairs(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        call.Push(call.Function.Upvalues[0]);
        call.Push(table);
        call.Push(LuaValue.Nil);
        return 3;
    }

    private static int IPairs(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        call.Push(call.Function.Upvalues[0]);
        call.Push(table);
        call.Push(0);
        return 3;
    }

    private static int IPairsStep(ref LuaCall call)
    {
        int index = call.CheckInt(2);
        LuaTable table = call.CheckTable(1);
        if (call.Failed) return 0;
        index++;
        LuaValue value = table.Get(index);
        if (value.IsNil) return 0;
        call.Push(index);
        call.Push(value);
        return 2;
    }

    private static int Select(ref LuaCall call)
    {
        int count = call.Count;
        if (call[1].Tag is LuaString { Length: > 0 } s && s.Span[0] == '#') return call.Return(count - 1);
        int index = call.CheckInt(1);
        if (index < 0) index += count;
        else if (index > count) index = count;
        call.Check(index >= 1, 1, "index out of range");
        return count - index;
    }

    private static int Unpack(ref LuaCall call)
    {
        LuaTable table = call.CheckTable(1);
        int first = call.OptionalInt(2, 1);
        int last = call.IsMissing(3) ? table.Length : call.CheckInt(3);
        if (call.Failed || first > last) return 0;
        long count = (long)last - first + 1;
        if (count > int.MaxValue || !call.TryEnsureRoom((int)count)) return call.Error("too many results to unpack");
        if (!call.Spend((int)count / 16)) return 0;
        for (long i = first; i <= last; i++) call.Push(table.Get((int)i));
        return (int)count;
    }

    private static int ToNumber(ref LuaCall call)
    {
        int radix = call.OptionalInt(2, 10);
        if (radix == 10)
        {
            call.CheckAny(1);
            return call.Return(call.State.TryConvert(in call[1], out double value) ? value : LuaValue.Nil);
        }
        LuaString text = call.CheckString(1);
        call.Check(radix is >= 2 and <= 36, 2, "base out of range");
        if (call.Failed) return 0;
        ReadOnlySpan<byte> bytes = text.Span;
        call.Meter.Work(8L * bytes.Length);
        int zero = bytes.IndexOf((byte)0);
        if (zero >= 0) bytes = bytes[..zero];
        int used = LuaNumber.ParseUnsigned(bytes, radix, out double number);
        bool whole = used > 0 && LuaNumber.SkipSpace(bytes, used) == bytes.Length;
        return call.Return(whole ? number : LuaValue.Nil);
    }

    private static int ToText(ref LuaCall call)
    {
        call.CheckAny(1);
        if (call.Failed) return 0;
        LuaTable? metatable = call.State.MetatableOf(in call[1]);
        LuaValue method = metatable is null ? default : metatable.Get(WellKnown.ToStringName);
        if (method.IsNil) return call.Return(Describe(ref call, in call[1]));
        call.Push(method);
        call.Push(call[1]);
        call.Call(1, 1);
        return 1;
    }

    private static int TypeOf(ref LuaCall call)
    {
        call.CheckAny(1);
        return call.Return(s_typeNames[(int)call[1].Type]);
    }

    private static int GcInfo(ref LuaCall call) => call.Return(call.State.AllocatedBytes >> 10);

    private static int CollectGarbage(ref LuaCall call)
    {
        int option = call.CheckOption(
            1, "collect", s_collectOptions);
        call.OptionalInt(2, 0);
        if (call.Failed) return 0;
        switch (option)
        {
            case 2 or 4:
                // Only a census is taken. The runtime's garbage collector frees the memory at a time of its choice.
                if (!call.State.TakeCensus()) return call.Propagate();
                return call.Return(option == 4 ? true : (LuaValue)0);
            case 3:
                return call.Return(call.State.AllocatedBytes / 1024.0);
            case 5 or 6:
                return call.Return(200);
            default:
                return call.Return(0);
        }
    }
}
