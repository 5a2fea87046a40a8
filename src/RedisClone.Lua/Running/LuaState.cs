using System.Text;
using RedisClone.Lua.Compiling;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Running;

/// <summary>
/// One interpreter: its globals, its main coroutine and the limits for scripts. It is not thread-safe.
/// </summary>
public sealed partial class LuaState
{
    internal const string OutOfMemoryMessage = "not enough memory";

    internal readonly LuaMeter Meter;
    internal readonly LuaThread Main;
    internal readonly StringPool Names;
    internal readonly LuaString OutOfMemory = LuaString.From(OutOfMemoryMessage);
    internal readonly LuaString ErrorInHandler = LuaString.From("error in error handling");

    internal LuaThread Current;
    internal LuaFailure Failure;

    /// <summary>
    /// The error handler of the innermost protected call. <see cref="InHandler"/> is true while it runs.
    /// </summary>
    internal LuaValue Handler;
    internal bool InHandler;

    /// <summary>The number of nested calls on the native stack.</summary>
    internal int HostDepth;

    /// <param name="memoryLimit">The maximum size of strings, tables and functions in bytes.</param>
    /// <param name="first">
    /// Another interpreter with the same names, which can then run functions that this one compiled; see <see cref="Copy"/>.
    /// </param>
    public LuaState(long memoryLimit = 1L << 30, LuaState? first = null)
    {
        Names = first?.Names.Share() ?? new StringPool();
        Meter = new LuaMeter(memoryLimit);
        Globals = new LuaTable();
        Main = Current = new LuaThread(this, Globals) { Status = ThreadStatus.Running };
        Meter.Budget = BudgetInterval;
        Meter.Census = () => CountLive();
        Libraries.Library.OpenAll(this);
        TakeCensus();
    }

    public LuaTable Globals { get; }

    /// <summary>
    /// Objects that the host keeps between calls and that scripts cannot reach. Their memory is counted.
    /// </summary>
    public LuaTable Registry { get; } = new();

    private const int LeastForgotten = 16;

    private int _forgotten;     // the objects that were removed from the registry since it was rehashed

    /// <summary>
    /// The field that contains the text of an error, for a host whose errors are tables. <c>pcall</c> then returns the
    /// field. Null if <c>pcall</c> returns errors unchanged.
    /// </summary>
    public LuaString? CaughtField { get; set; }

    /// <summary>The metatable of all strings.</summary>
    public LuaTable? StringMetatable { get; set; }

    /// <summary>
    /// The number of steps (calls, loop iterations, portions of work in libraries) between two calls of
    /// <see cref="OnBudget"/>.
    /// </summary>
    public int BudgetInterval { get; set; } = 10_000;

    /// <summary>
    /// Called every <see cref="BudgetInterval"/> steps. If it returns null, the script continues. If it returns a
    /// string, the script ends with that error, which the script cannot catch. The function must not use the
    /// interpreter.
    /// </summary>
    public Func<LuaState, LuaString?>? OnBudget { get; set; }

    /// <summary>The generator of <c>math.random</c>. Each call by the host starts at a random position.</summary>
    public LuaRandom Random { get; } = new();

    /// <summary>Tables under construction that no other table or stack references yet. A census counts them.</summary>
    internal readonly List<LuaTable> Building = [];

    /// <summary>
    /// Restores the state of libraries that scripts can change. Invoked before each call by the host.
    /// </summary>
    internal Action? Restoring;

    /// <summary>
    /// The estimated number of bytes in use: the live bytes at the last census and all bytes allocated since.
    /// </summary>
    public long AllocatedBytes => Meter.Allocated;

    /// <summary>The maximum size of strings, tables and functions in bytes. It may be set while no script runs.</summary>
    public long MemoryLimit
    {
        get => Meter.Limit;
        set => Meter.Limit = value;
    }

    /// <summary>
    /// Called if a script needs more bytes than <see cref="MemoryLimit"/>. True raises the limit by that number. Null means that the
    /// limit is fixed.
    /// </summary>
    public Func<long, bool>? OnShortage
    {
        get => Meter.OnShortage;
        init => Meter.OnShortage = value;
    }

    /// <summary>
    /// Declares everything allocated since <see cref="AllocatedBytes"/> had this value to be garbage. The host calls
    /// this after a script that could not keep any objects.
    /// </summary>
    public void ForgetSince(long allocatedBytes) => Meter.ForgetSince(allocatedBytes);

    /// <summary>Sets the number of bytes in use, for a host that knows it.</summary>
    public void Settle(long allocatedBytes) => Meter.Settle(Math.Max(0, allocatedBytes));

    /// <summary>
    /// Returns the number of bytes that these functions keep in use, without objects that are reachable from other
    /// tables.
    /// </summary>
    public static long SizeOf(IEnumerable<LuaFunction> functions, params ReadOnlySpan<LuaTable> others)
    {
        using Lock.Scope scope = MemoryCensus.Gate.EnterScope();
        var census = new MemoryCensus();
        foreach (LuaTable other in others) census.Visit(other);
        census.Finish();
        long before = census.Bytes;
        foreach (LuaFunction function in functions) census.Visit(function);
        census.Finish();
        return census.Bytes - before;
    }

    /// <summary>The iterators that <c>pairs</c> and <c>ipairs</c> return. Loops recognize them.</summary>
    internal LuaHostFunction? NextFunction;
    internal LuaHostFunction? NextIndexFunction;

    /// <summary>
    /// The table that contains the methods of strings. Null if the __index of strings is not a table.
    /// </summary>
    internal LuaTable? StringMethods => StringMetatable?.Get(WellKnown.Events[(int)Running.Metamethod.Index]).AsTable;

    /// <summary>Compiles a chunk. Returns null after an error, which contains the position.</summary>
    /// <param name="source">The source text.</param>
    /// <param name="chunkName">
    /// The name as in Lua: <c>@</c> and a file name, <c>=</c> and any name, or the source itself.
    /// </param>
    /// <param name="error">The error, if the result is null.</param>
    /// <param name="environment">The table of its global variables. The default is <see cref="Globals"/>.</param>
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

    /// <summary>
    /// Returns a copy, for this interpreter, of a function of the first interpreter. The code is immutable, so any number of
    /// interpreters may run it at the same time. Variables that the function shares with others are copied with the functions in
    /// them. A variable with a table is nil in the copy, so no function of which <see cref="Analysis.FunctionGroup"/> finds the calls
    /// uses it.
    /// </summary>
    /// <param name="function">The function.</param>
    /// <param name="environment">The table of the global variables of the copy.</param>
    public static LuaFunction Copy(LuaFunction function, LuaTable environment)
    {
        if (function is not LuaClosure first) throw new ArgumentException("Only a function written in Lua can be copied.", nameof(function));
        if (first.Upvalues.Length == 0) return new LuaClosure(first.Prototype, environment);
        var copies = new Dictionary<LuaClosure, LuaClosure>();
        var pending = new Stack<LuaClosure>();
        LuaClosure copied = CopyOf(first);
        while (pending.TryPop(out LuaClosure? next))
            for (int i = 0; i < next.Upvalues.Length; i++) copies[next].Upvalues[i] = new UpValue { Value = ValueOf(next.Upvalues[i].Value) };
        return copied;

        LuaClosure CopyOf(LuaClosure closure)
        {
            if (copies.TryGetValue(closure, out LuaClosure? known)) return known;
            pending.Push(closure);
            return copies[closure] = new LuaClosure(closure.Prototype, environment);
        }

        LuaValue ValueOf(LuaValue value) =>
            value.Tag is LuaClosure closure ? CopyOf(closure) : value.Type is LuaType.Boolean or LuaType.Number or LuaType.String ? value : default;
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

    /// <summary>Returns a new string, which is counted, or null if the memory limit is reached.</summary>
    public LuaString? TryNewString(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length == 0) return LuaString.Empty;
        if (bytes.Length == 1) return LuaString.Single(bytes[0]);
        return Meter.TryCharge(LuaString.SizeOf(bytes.Length)) ? new LuaString(bytes.ToArray()) : null;
    }

    /// <summary>
    /// Returns the uninitialized bytes of a new string, already counted, or null if the memory limit is reached.
    /// </summary>
    internal byte[]? TryNewBytes(int length) =>
        Meter.TryCharge(LuaString.SizeOf(length)) ? GC.AllocateUninitializedArray<byte>(length) : null;

    /// <summary>
    /// Counts memory that the host uses for the script, until <see cref="Release"/> or the end of the call. Returns
    /// false if the memory limit is reached.
    /// </summary>
    public bool TryReserve(long bytes) => Meter.TryReserve(bytes);

    public void Release(long bytes) => Meter.Release(bytes, isGarbage: true);

    /// <summary>
    /// Counts a table of the host as reachable while it is under construction, until <see cref="EndBuilding"/>.
    /// </summary>
    public void BeginBuilding(LuaTable table) => Building.Add(table);

    /// <summary>
    /// Ends the construction of the last table: it is reachable from other objects or no longer needed.
    /// </summary>
    public void EndBuilding() => Building.RemoveAt(Building.Count - 1);

    /// <summary>The number of bytes that the script may still allocate.</summary>
    public long Room => Meter.Room;

    /// <summary>Counts work of the host on <paramref name="bytes"/> bytes as steps of the script.</summary>
    public void CountWork(long bytes) => Meter.Work(bytes);

    /// <summary>Returns a new table, which is counted, or null if the memory limit is reached.</summary>
    public LuaTable? TryNewTable(int arraySize = 0, int hashSize = 0)
    {
        return Meter.TryCharge(LuaTable.SizeOf(arraySize, hashSize)) ? new LuaTable(arraySize, hashSize) : null;
    }

    /// <summary>
    /// Stores into a table on behalf of the host: without metamethods, and even if the table is frozen. Returns false
    /// if the memory limit is reached or the key is not valid.
    /// </summary>
    public bool TrySet(LuaTable table, LuaValue key, LuaValue value) =>
        table.Set(Meter, in key, in value) == StoreResult.Stored;

    /// <summary>Returns a value as <c>tostring</c> shows it, without metamethods.</summary>
    public LuaString Describe(LuaValue value)
    {
        var call = new LuaCall(Current, null!, 0, 0);
        return Libraries.BaseLibrary.Describe(ref call, in value);
    }

    /// <summary>
    /// Returns the string object that the interpreter uses for a name. Lookups with it are the fastest.
    /// </summary>
    public LuaString Name(string text) => Names.Intern(Encoding.Latin1.GetBytes(text));

    /// <summary>Sets a named field of a table while a library is set up.</summary>
    public void SetField(LuaTable table, string name, LuaValue value)
    {
        if (!TrySet(table, Name(name), value))
            throw new InvalidOperationException("The memory limit is too low to set up libraries.");
    }

    /// <summary>Returns the metamethod of a value for an event, or nil.</summary>
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

    /// <summary>Returns the metamethod for one of the events whose absence tables cache.</summary>
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

    /// <summary>Counts the work of a long library operation. Returns false if the host ends the script.</summary>
    internal bool Spend(int steps)
    {
        Meter.Budget -= steps;
        return Meter.Budget >= 0 || RenewBudget();
    }

    /// <summary>Converts a value to a number. Reading a long text counts as work.</summary>
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

    /// <summary>
    /// Counts the memory in use again, after the host has released much of it. Only valid between two calls.
    /// </summary>
    public void Recount()
    {
        Registry.Compact(Meter);
        _forgotten = 0;
        TakeCensus();
    }

    /// <summary>Removes an object from <see cref="Registry"/>.</summary>
    public void Forget(in LuaValue key)
    {
        TrySet(Registry, key, LuaValue.Nil);
        // The table keeps the keys of removed fields.
        if (++_forgotten <= Math.Max(LeastForgotten, Registry.SlotCount / 4)) return;
        Registry.Compact(Meter);
        _forgotten = 0;
    }

    internal bool TakeCensus() => (CountLive() || Current.FailMemory()) && Spend(0);

    /// <summary>
    /// Counts all reachable objects. Returns false if they exceed the limit. It changes nothing else, so it may run
    /// during any allocation. In the worst case it misses values that a library holds outside of the stack.
    /// </summary>
    private bool CountLive()
    {
        using Lock.Scope scope = MemoryCensus.Gate.EnterScope();
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
