using System.Text;

namespace RedisClone.Lua;

/// <summary>
/// One interpreter: its globals, its main coroutine, and the limits on what scripts may use. One thread at a time may
/// use it.
/// </summary>
public sealed partial class LuaState
{
    internal const string OutOfMemoryMessage = "not enough memory";

    internal readonly LuaMeter Meter;
    internal readonly LuaThread Main;
    internal readonly StringPool Names = new();
    internal readonly LuaString OutOfMemory = LuaString.From(OutOfMemoryMessage);
    internal readonly LuaString ErrorInHandler = LuaString.From("error in error handling");

    internal LuaThread Current;
    internal LuaFailure Failure;

    /// <summary>The function that the innermost protected call wants errors to be shown to, and whether it is running.</summary>
    internal LuaValue Handler;
    internal bool InHandler;

    /// <summary>Calls nested on the real stack.</summary>
    internal int HostDepth;

    /// <param name="memoryLimit">The bytes that strings, tables and functions may take.</param>
    public LuaState(long memoryLimit = 1L << 30)
    {
        Meter = new LuaMeter(memoryLimit);
        Globals = new LuaTable();
        Main = Current = new LuaThread(this, Globals) { Status = ThreadStatus.Running };
        Meter.Budget = BudgetInterval;
        Meter.Census = () => CountLive();
        Libraries.Library.OpenAll(this);
        TakeCensus();
    }

    public LuaTable Globals { get; }

    /// <summary>What the host keeps alive from one call to the next, out of scripts' reach, so that its memory counts.</summary>
    public LuaTable Registry { get; } = new();

    /// <summary>Where errors are tables with this field, <c>pcall</c> returns the field; null where it returns errors as they are.</summary>
    public LuaString? CaughtField { get; set; }

    /// <summary>The metatable that all strings share.</summary>
    public LuaTable? StringMetatable { get; set; }

    /// <summary>How many steps (calls, rounds of loops, chunks of work in libraries) pass between two calls of <see cref="OnBudget"/>.</summary>
    public int BudgetInterval { get; set; } = 10_000;

    /// <summary>
    /// Asked every <see cref="BudgetInterval"/> steps: null lets the script go on, a string ends it with that error, which
    /// nothing in the script can catch. It must not use the interpreter.
    /// </summary>
    public Func<LuaState, LuaString?>? OnBudget { get; set; }

    /// <summary>Where <c>math.random</c> gets its numbers. Each call of the host starts at a random place.</summary>
    public LuaRandom Random { get; } = new();

    /// <summary>Tables that are being built and that no other table or stack holds yet: a census counts them.</summary>
    internal readonly List<LuaTable> Building = [];

    /// <summary>Restores the state of libraries that scripts can change; each call of the host begins with it.</summary>
    internal Action? Restoring;

    /// <summary>Bytes in use, as far as known: those found alive at the last census and everything allocated since.</summary>
    public long AllocatedBytes => Meter.Allocated;

    /// <summary>
    /// Says that nothing is left of what was allocated since this many bytes were: between two scripts, of which the first could not
    /// leave anything behind.
    /// </summary>
    public void ForgetSince(long allocatedBytes) => Meter.ForgetSince(allocatedBytes);

    /// <summary>Says how many bytes are in use, where the host knows.</summary>
    public void Settle(long allocatedBytes) => Meter.Settle(Math.Max(0, allocatedBytes));

    /// <summary>Bytes that these functions keep in use, beyond what can be reached from other tables.</summary>
    public static long SizeOf(IEnumerable<LuaFunction> functions, params ReadOnlySpan<LuaTable> others)
    {
        var census = new MemoryCensus();
        foreach (LuaTable other in others) census.Visit(other);
        census.Finish();
        long before = census.Bytes;
        foreach (LuaFunction function in functions) census.Visit(function);
        census.Finish();
        return census.Bytes - before;
    }

    /// <summary>The functions that <c>pairs</c> and <c>ipairs</c> return: loops recognise them.</summary>
    internal LuaHostFunction? NextFunction;
    internal LuaHostFunction? NextIndexFunction;

    /// <summary>The table in which strings find their methods, if it is one.</summary>
    internal LuaTable? StringMethods => StringMetatable?.Get(WellKnown.Events[(int)Lua.Metamethod.Index]).AsTable;

    /// <summary>Compiles a chunk; null after an error, which then says where.</summary>
    /// <param name="chunkName">As in Lua: <c>@</c> and a file's name, <c>=</c> and any name, or the source itself.</param>
    /// <param name="environment">Where it finds its globals, if not in <see cref="Globals"/>.</param>
    public LuaFunction? Compile(ReadOnlySpan<byte> source, string chunkName, out LuaError error, LuaTable? environment = null)
    {
        string? message = OutOfMemoryMessage;
        LuaClosure? function = null;
        if (Meter.TryReserve(source.Length))
        {
            function = Compile(source.ToArray(), LuaString.From(chunkName), environment ?? Globals, out message);
            Meter.Release(source.Length, isGarbage: true);
        }
        error = message is null ? default : new LuaError(LuaString.From(message), null, -1);
        return function;
    }

    internal LuaClosure? Compile(byte[] source, LuaString chunkName, LuaTable environment, out string? error)
    {
        error = OutOfMemoryMessage;
        if (Meter.CensusDue && !TakeCensus()) return null;
        var budget = new CompileBudget(Meter);
        Prototype? main;
        try
        {
            main = Parser.Parse(source, chunkName, Names, budget, HostDepth, out error);
        }
        finally
        {
            budget.Release();
        }
        if (main is null) return null;
        if (Meter.TryCharge(LuaClosure.SizeOf(0) + main.TreeSize)) return new LuaClosure(main, environment);
        error = OutOfMemoryMessage;
        return null;
    }

    /// <summary>A string that counts; null if there is no memory for it.</summary>
    public LuaString? TryNewString(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length == 0) return LuaString.Empty;
        if (bytes.Length == 1) return LuaString.Single(bytes[0]);
        return Meter.TryCharge(LuaString.SizeOf(bytes.Length)) ? new LuaString(bytes.ToArray()) : null;
    }

    /// <summary>The bytes of a string to be, already counted.</summary>
    internal byte[]? TryNewBytes(int length) =>
        Meter.TryCharge(LuaString.SizeOf(length)) ? GC.AllocateUninitializedArray<byte>(length) : null;

    /// <summary>
    /// Counts memory of the host's that serves the script, until <see cref="Release"/> or the end of the call; false if there
    /// is none.
    /// </summary>
    public bool TryReserve(long bytes) => Meter.TryReserve(bytes);

    public void Release(long bytes) => Meter.Release(bytes, isGarbage: true);

    /// <summary>Counts a table of the host's as reachable while it is being built; until <see cref="EndBuilding"/>.</summary>
    public void BeginBuilding(LuaTable table) => Building.Add(table);

    /// <summary>The table built last is reachable by itself, or no longer needed.</summary>
    public void EndBuilding() => Building.RemoveAt(Building.Count - 1);

    /// <summary>Bytes that the script may still take.</summary>
    public long Room => Meter.Room;

    /// <summary>Counts work of the host on so many bytes as steps of the script.</summary>
    public void CountWork(long bytes) => Meter.Work(bytes);

    /// <summary>A table that counts; null if there is no memory for it.</summary>
    public LuaTable? TryNewTable(int arraySize = 0, int hashSize = 0)
    {
        return Meter.TryCharge(LuaTable.SizeOf(arraySize, hashSize)) ? new LuaTable(arraySize, hashSize) : null;
    }

    /// <summary>Stores into a table as the host: no metamethods, frozen or not. False if there is no memory or no such key.</summary>
    public bool TrySet(LuaTable table, LuaValue key, LuaValue value) =>
        table.Set(Meter, in key, in value) == StoreResult.Stored;

    /// <summary>A value as <c>tostring</c> shows it, metamethods aside.</summary>
    public LuaString Describe(LuaValue value)
    {
        var call = new LuaCall(Current, null!, 0, 0);
        return Libraries.BaseLibrary.Describe(ref call, in value);
    }

    /// <summary>The string object that the interpreter itself uses for a name: lookups with it are the fastest.</summary>
    public LuaString Name(string text) => Names.Intern(Encoding.Latin1.GetBytes(text));

    /// <summary>Sets a named field of a table, as when setting up a library.</summary>
    public void SetField(LuaTable table, string name, LuaValue value)
    {
        if (!TrySet(table, Name(name), value)) throw new InvalidOperationException("The memory limit is too low to set up libraries.");
    }

    /// <summary>The field of a value's metatable for an event, nil if there is none.</summary>
    internal LuaValue Metamethod(in LuaValue value, Metamethod name)
    {
        LuaTable? table = MetatableOf(in value);
        return table is null ? default : table.Get(WellKnown.Events[(int)name]);
    }

    internal LuaTable? MetatableOf(in LuaValue value) => value.Tag switch
    {
        LuaTable t => t.Metatable,
        LuaString => StringMetatable,
        _ => null,
    };

    /// <summary>The same for one of the events whose absence tables remember.</summary>
    internal static bool TryMetamethod(LuaTable? metatable, Metamethod name, out LuaValue method)
    {
        method = default;
        if (metatable is null) return false;
        int bit = 1 << (int)name;
        if ((metatable.AbsentEvents & bit) != 0) return false;
        method = metatable.Get(WellKnown.Events[(int)name]);
        if (method.IsNil) metatable.AbsentEvents |= (byte)bit;
        return !method.IsNil;
    }

    /// <summary>Counts work that a library does at length; false if the host ends the script.</summary>
    internal bool Spend(int steps)
    {
        Meter.Budget -= steps;
        return Meter.Budget >= 0 || RenewBudget();
    }

    /// <summary>A value as a number; reading a long text counts as work.</summary>
    internal bool TryConvert(in LuaValue value, out double number)
    {
        if (value.Tag is LuaString s) Meter.Work(s.Length);
        return LuaNumber.TryConvert(in value, out number);
    }

    internal bool RenewBudget()
    {
        Meter.Budget = BudgetInterval;
        return OnBudget?.Invoke(this) is not { } reason || Current.Raise(reason, FailureKind.Abort);
    }

    /// <summary>Counts anew what is in use, when the host has let go of much; between two calls only.</summary>
    public void Recount() => TakeCensus();

    internal bool TakeCensus() => (CountLive() || Current.FailMemory()) && Spend(0);

    /// <summary>
    /// Counts what is reachable; false if that is too much. It changes nothing else, so it may be taken during any allocation: at
    /// worst, values that a library holds outside the stack are left out.
    /// </summary>
    private bool CountLive()
    {
        var census = new MemoryCensus();
        census.Visit(Globals);
        census.Visit(Registry);
        census.Visit(StringMetatable);
        foreach (LuaTable table in Building) census.Visit(table);
        census.Visit(Main);
        census.Visit(Current);
        census.Visit(in Handler);
        census.Visit(in Failure.Value);
        census.Finish();
        Meter.Budget -= (int)Math.Min(census.Work / 16, 1 << 24);
        return Meter.CensusTaken(census.Bytes);
    }
}
