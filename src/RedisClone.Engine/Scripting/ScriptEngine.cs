using RedisClone.Engine.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// The scripts and functions of one server. A script or function that provably keeps to its keys holds their shards only, and runs
/// beside others in an interpreter of its own. Every other one holds all shards and runs in the main interpreter.
/// </summary>
internal sealed class ScriptEngine
{
    private readonly LibraryLoader _loader;
    private readonly InterpreterPool _pool;
    private readonly long _mostMemory;
    private readonly KeptMemory _kept = new();
    private long _takenMemory;
    private int _runningBeside;

    public ScriptEngine(ServerCore server)
    {
        Server = server;
        Runs = new ScriptRuns(server);
        // At the limit of scripts only the script fails. At the limit of the runtime other work may fail too.
        long half = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / 2;
        _mostMemory = Math.Min(Limits.ScriptMemory, half);
        Main = new Interpreter(server, this, _mostMemory, first: null);
        Main.Loader = _loader = new LibraryLoader(server.Commands, Main);
        Main.Seal();
        Cache = new ScriptCache(this);
        Libraries = new LibrarySet(Main.State, CountKept);
        _pool = new InterpreterPool(this);
    }

    public ServerCore Server { get; }

    /// <summary>
    /// The interpreter in which scripts are compiled and functions live. Only a thread that holds all shards uses it.
    /// </summary>
    public Interpreter Main { get; }

    /// <summary>The state of the main interpreter.</summary>
    public Lua.Running.LuaState State => Main.State;

    public ScriptCache Cache { get; }

    public LibrarySet Libraries { get; }

    /// <summary>The scripts that run now.</summary>
    public ScriptRuns Runs { get; }

    /// <summary>The bytes that all interpreters use.</summary>
    public long InterpreterBytes => Main.State.AllocatedBytes + _pool.AllocatedBytes + Volatile.Read(ref _takenMemory);

    /// <summary>The bytes of the interpreters and of the texts of scripts and libraries. Any thread may call it.</summary>
    public long AllocatedBytes => InterpreterBytes + Cache.SourceBytes + Libraries.SourceBytes;

    /// <summary>
    /// Whether scripts and libraries keep as much of a heap with a limit as they may. Scripts that came with EVAL give way first. The caller
    /// holds all shards.
    /// </summary>
    public bool LacksRoom()
    {
        while (KeepsMost && Cache.TryEvict()) CountKept();
        return KeepsMost;
    }

    /// <summary>Counts the memory of scripts and libraries again after a change. The caller holds all shards.</summary>
    public void CountKept() => _kept.Set(Server.Shards.Budget, Cache.Bytes + Libraries.Bytes);

    private bool KeepsMost => Server.Shards.Budget.LimitsClients && _kept.Bytes > Limits.KeptScriptMemory;

    /// <summary>Loads a library that will join others. Returns null, with the error, if that fails.</summary>
    public FunctionLibrary? Load(ReadOnlySpan<byte> source, bool patient, LibrarySet others, bool replace, out string error) =>
        _loader.Load(source, patient, others, replace, out error);

    /// <summary>Loads a library that was loaded successfully before, and adds it. Returns null, or the error.</summary>
    public string? Restore(ReadOnlySpan<byte> source, bool replace) =>
        Load(source, patient: true, Libraries, replace, out string error) is { } library ? Libraries.Add([library], replace) : error;

    /// <summary>
    /// Runs a script or a function for a client, or asks for the shards that it needs. The method writes the reply or latches an
    /// error.
    /// </summary>
    /// <param name="c">The client's command.</param>
    /// <param name="routine">The script or function.</param>
    /// <param name="keys">The number of keys, which begin at the fourth argument.</param>
    /// <param name="readOnly">Whether the command must not write, whatever the script declares.</param>
    public void Run(ref CommandContext c, Routine routine, int keys, bool readOnly)
    {
        // Only an event loop can run further rounds while a script occupies its thread.
        if ((routine.IsSlow || c.Session.Connection is { Loop: null }) && c.MoveToWorker(long.MaxValue)) return;
        // The script may have been removed and loaded again after the shards were chosen.
        if (!routine.KeepsToKeys && c.NeedsAllShards()) return;
        if (c.HoldsAllShards)
        {
            c.Lane.ScriptsOnAllShards++;
            Main.Run(ref c, routine, keys, readOnly);
            return;
        }
        c.Lane.ScriptsOnTheirKeys++;
        Interpreter interpreter = _pool.Take();
        interpreter.Run(ref c, routine, keys, readOnly);
        // After an exception, the interpreter may contain something of this script. It is left to the garbage collector.
        _pool.Return(interpreter);
    }

    /// <summary>
    /// The most bytes of an interpreter that uses <paramref name="allocated"/>. A script may use half of what data and clients
    /// leave, so that its limit is reached before the limit of the heap, also if clients take more while it runs.
    /// </summary>
    public long MemoryFor(long allocated)
    {
        HeapBudget budget = Server.Shards.Budget;
        return budget.LimitsClients ? Math.Min(_mostMemory, Math.Max(allocated + Limits.LeastScriptMemory, budget.Left / 2)) : _mostMemory;
    }

    /// <summary>
    /// Takes memory for a script that runs beside others. All of them together take no more than one that runs alone may use.
    /// </summary>
    public bool TryTakeMemory(long bytes)
    {
        if (Interlocked.Add(ref _takenMemory, bytes) <= MemoryFor(0)) return true;
        ReturnMemory(bytes);
        return false;
    }

    /// <summary>The memory that scripts which run beside others may still take.</summary>
    public long FreeMemory => Math.Max(0, MemoryFor(0) - Interlocked.Read(ref _takenMemory));

    /// <summary>
    /// Notes that a script runs beside others, and returns the bytes that it may use without those that these scripts share. Many at
    /// once have only the shared bytes, so that all of them together are bounded.
    /// </summary>
    public long EnterBeside() => Interlocked.Increment(ref _runningBeside) <= Limits.ScriptsWithOwnMemory ? Limits.OwnScriptMemory : 0;

    public void LeaveBeside() => Interlocked.Decrement(ref _runningBeside);

    public void ReturnMemory(long bytes)
    {
        if (bytes > 0) Interlocked.Add(ref _takenMemory, -bytes);
    }
}
