using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>
/// A call of a host function: its arguments, numbered from 1, and the functions to return results, to fail and to call
/// back. The first failure is recorded. After it, arguments read as defaults, and the call fails whatever the function
/// returns.
/// </summary>
public ref struct LuaCall
{
    internal const int Failure = -1;
    internal const int Yield = -2;

    internal readonly LuaThread Thread;
    internal readonly LuaHostFunction Function;
    private readonly int _base;

    internal LuaCall(LuaThread thread, LuaHostFunction function, int @base, int count)
    {
        Thread = thread;
        Function = function;
        _base = @base;
        Count = count;
    }

    /// <summary>The number of arguments.</summary>
    public readonly int Count { get; }

    public readonly LuaState State => Thread.State;

    /// <summary>True after a failure. The function should return at once, with any result.</summary>
    public bool Failed { get; private set; }

    /// <summary>Returns an argument, or nil beyond the last one.</summary>
    public readonly ref readonly LuaValue this[int index] =>
        ref (uint)(index - 1) < (uint)Count ? ref Thread.Stack[_base + index - 1] : ref LuaValue.NilCell[0];

    public readonly bool IsMissing(int index) => index > Count || this[index].IsNil;

    internal readonly LuaMeter Meter => Thread.State.Meter;

    internal readonly ref LuaValue Slot(int index) => ref Thread.Stack[_base + index - 1];

    internal readonly int StackIndex(int index) => _base + index - 1;

    // ---- Reading arguments

    public double CheckNumber(int index)
    {
        ref readonly LuaValue value = ref this[index];
        if (value.IsNumber) return value.Number;
        if (!State.TryConvert(in value, out double number)) WrongType(index, "number");
        return number;
    }

    /// <summary>Returns a number truncated to an integer, as in C.</summary>
    public long CheckInteger(int index) => LuaNumber.ToInt64(CheckNumber(index));

    public long OptionalInteger(int index, long otherwise) => IsMissing(index) ? otherwise : CheckInteger(index);

    public int CheckInt(int index) => (int)CheckInteger(index);

    public int OptionalInt(int index, int otherwise) => IsMissing(index) ? otherwise : CheckInt(index);

    /// <summary>Returns a string. A number is converted.</summary>
    public LuaString CheckString(int index)
    {
        ref readonly LuaValue value = ref this[index];
        if (value.Tag is LuaString s) return s;
        if (value.IsNumber) return Convert(index);
        WrongType(index, "string");
        return LuaString.Empty;
    }

    public LuaString OptionalString(int index, LuaString otherwise) => IsMissing(index) ? otherwise : CheckString(index);

    public LuaTable CheckTable(int index)
    {
        if (this[index].Tag is LuaTable table) return table;
        WrongType(index, "table");
        return new LuaTable();
    }

    public void CheckFunction(int index)
    {
        if (this[index].Type != LuaType.Function) WrongType(index, "function");
    }

    public void CheckAny(int index)
    {
        if (index > Count) ArgumentError(index, "value expected");
    }

    /// <summary>Returns the index of a string argument in the options.</summary>
    internal int CheckOption(int index, string? otherwise, string[] options)
    {
        string name = otherwise is not null && IsMissing(index) ? otherwise : Start(CheckString(index));
        int found = Array.IndexOf(options, name);
        if (found < 0) ArgumentError(index, $"invalid option '{name}'");
        return Math.Max(found, 0);
    }

    /// <summary>Returns the start of a name, which is longer than every option.</summary>
    private static string Start(LuaString name)
    {
        const int most = 1024;
        return System.Text.Encoding.Latin1.GetString(name.Span[..Math.Min(name.Length, most)]);
    }

    // ---- Returning

    public readonly int Return(LuaValue value)
    {
        Thread.Push(in value);
        return 1;
    }

    public int ReturnString(scoped ReadOnlySpan<byte> bytes)
    {
        Push(bytes);
        return 1;
    }

    /// <summary>Pushes one of several results. More than 20 results require <see cref="EnsureRoom"/>.</summary>
    public readonly void Push(LuaValue value) => Thread.Push(in value);

    public void Push(scoped ReadOnlySpan<byte> bytes)
    {
        Meter.Work(bytes.Length);
        LuaString? s = State.TryNewString(bytes);
        if (s is null) OutOfMemory();
        Thread.Push(s);
    }

    /// <summary>
    /// Makes room for <paramref name="count"/> pushes. Returns false without an error if this exceeds the limit of a
    /// function.
    /// </summary>
    internal bool TryEnsureRoom(int count)
    {
        if (count > LuaLimits.HostSlots || Thread.Top - _base + count > LuaLimits.HostSlots) return false;
        if (!Thread.EnsureStack(Thread.Top, count + LuaLimits.HostMinimum)) Failed = true;
        return !Failed;
    }

    public void EnsureRoom(int count, string message)
    {
        if (!TryEnsureRoom(count) && !Failed) Error($"stack overflow ({message})");
    }

    // ---- Failing

    /// <summary>Fails with a message, prefixed with the position of the calling Lua function.</summary>
    public int Error(string message)
    {
        if (!Failed) Thread.FailInHost(message);
        Failed = true;
        return Failure;
    }

    /// <summary>Fails with a message that contains a text of the script, which may have any length.</summary>
    public int Error(string before, ReadOnlySpan<byte> text, string after)
    {
        if (!Failed) Thread.FailInHost(before, text, after);
        Failed = true;
        return Failure;
    }

    /// <summary>Fails with an arbitrary value.</summary>
    public int Raise(LuaValue value)
    {
        if (!Failed) Thread.Raise(value);
        Failed = true;
        return Failure;
    }

    /// <summary>Propagates a failure that an operation has raised.</summary>
    internal int Propagate()
    {
        Failed = true;
        return Failure;
    }

    internal int OutOfMemory()
    {
        if (!Failed) Thread.FailMemory();
        Failed = true;
        return Failure;
    }

    public int ArgumentError(int index, string message)
    {
        if (Failed) return Failure;
        (string Kind, string Name)? called = Thread.CalledName();
        if (called is { Kind: "method" } method)
        {
            index--;
            if (index == 0) return Error($"calling '{method.Name}' on bad self ({message})");
        }
        return Error($"bad argument #{index} to '{called?.Name ?? "?"}' ({message})");
    }

    public void Check(bool condition, int index, string message)
    {
        if (!condition) ArgumentError(index, message);
    }

    internal int WrongType(int index, string expected) =>
        ArgumentError(index, $"{expected} expected, got {(index > Count ? "no value" : this[index].TypeName)}");

    /// <summary>Counts the work of a long operation. Returns false if the host ends the script.</summary>
    internal bool Spend(int steps)
    {
        if (!State.Spend(steps)) Failed = true;
        return !Failed;
    }

    /// <summary>Stores into a table without metamethods. A frozen table is an error.</summary>
    internal bool Store(LuaTable table, LuaValue key, LuaValue value)
    {
        if (table.Frozen) Failed |= !Thread.FailFrozen();
        else Stored(table.Set(Meter, in key, in value));
        return !Failed;
    }

    internal bool Store(LuaTable table, int key, in LuaValue value)
    {
        if (table.Frozen) Failed |= !Thread.FailFrozen();
        else Stored(table.Set(Meter, key, in value));
        return !Failed;
    }

    internal LuaTable NewTable(int arraySize = 0, int hashSize = 0)
    {
        LuaTable? table = State.TryNewTable(arraySize, hashSize);
        if (table is null) OutOfMemory();
        return table ?? new LuaTable();
    }

    // ---- Calling back

    /// <summary>
    /// Calls the function below the topmost arguments. The results replace the function and the arguments.
    /// </summary>
    public bool Call(int arguments, int wanted)
    {
        if (!Thread.EnsureStack(Thread.Top, LuaLimits.HostMinimum) || !Thread.Call(Thread.Top - arguments - 1, wanted))
            Failed = true;
        return !Failed;
    }

    /// <summary>
    /// Calls like <see cref="Call"/> and catches errors. After an error, its value is the only result. An abort fails
    /// this call.
    /// </summary>
    public LuaOutcome ProtectedCall(int arguments, int wanted, LuaValue handler = default)
    {
        LuaOutcome outcome = Thread.ProtectedCall(Thread.Top - arguments - 1, wanted, handler);
        if (outcome == LuaOutcome.Aborted) Failed = true;
        return outcome;
    }

    /// <summary>Returns the success of a protected call, followed by all values above a stack index.</summary>
    internal int ReturnOutcome(LuaOutcome outcome, int from)
    {
        if (outcome == LuaOutcome.Aborted || !Thread.EnsureStack(Thread.Top, 1)) return Propagate();
        LuaValue[] stack = Thread.Stack;
        stack.AsSpan(from, Thread.Top - from).CopyTo(stack.AsSpan(from + 1));
        stack[from] = outcome == LuaOutcome.Returned;
        Thread.Top++;
        return Thread.Top - from;
    }

    public readonly LuaValue Pop() => Thread.Pop();

    /// <summary>The number of results above the arguments.</summary>
    public readonly int ResultCount => Thread.Top - _base - Count;

    private void Stored(StoreResult result)
    {
        if (result != StoreResult.Stored) Failed |= !Thread.FailStore(result);
    }

    private LuaString Convert(int index)
    {
        Span<byte> text = stackalloc byte[LuaNumber.MaxText];
        LuaString? s = State.TryNewString(text[..LuaNumber.Format(this[index].Number, text)]);
        if (s is null) OutOfMemory();
        else Slot(index) = s;
        return s ?? LuaString.Empty;
    }
}
