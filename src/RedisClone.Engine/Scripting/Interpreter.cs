using System.Diagnostics;
using System.Text;
using RedisClone.Engine.Acl;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Cluster.Redirects;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;
using RedisClone.Protocol;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// One interpreter, and the run of a script or a function in it. It runs one at a time. Interpreters share nothing that scripts
/// can change.
/// </summary>
internal sealed class Interpreter
{
    /// <summary>The length at which an error's text is cut, because its copies do not count as memory of the script.</summary>
    private const int LongestError = 1 << 20;

    /// <summary>The bytes of an array element.</summary>
    private const int LeastValue = 16;

    private readonly ScriptEngine _engine;
    private readonly LuaToReply _toReply;
    private readonly LuaString _keys, _argv;
    private readonly FunctionCopies _copies;

    private long _extraMemory;
    private bool _isBeside;             // runs beside other scripts, which share memory with it
    private long _timeMicroseconds;
    private ShardSet _held;

    /// <summary>The latest known time while a script runs: its start, or the end of its last command.</summary>
    public long Clock;

    /// <param name="server">The server.</param>
    /// <param name="engine">The scripts of the server.</param>
    /// <param name="memory">The bytes that a script may use without those that interpreters share.</param>
    /// <param name="first">The interpreter with the same names; null for the first one.</param>
    public Interpreter(ServerCore server, ScriptEngine engine, long memory, Interpreter? first)
    {
        Server = server;
        _engine = engine;
        State = new LuaState(memory, first?.State) { OnBudget = OnBudget, OnShortage = first is null ? null : TryTakeMemory };
        Output = new CapturedReply(State);
        Fields = new ReplyFields(State);
        ToLua = new ReplyToLua(State, Fields);
        _toReply = new LuaToReply(Fields);
        _keys = State.Name("KEYS");
        _argv = State.Name("ARGV");
        State.CaughtField = Fields.Err;
        Library = new RedisLibrary(this);
        State.SetField(State.Globals, "redis", Library.ForScripts);
        State.SetField(State.Globals, "server", Library.ForScripts);
        Functions = new FunctionEnvironment(State, Library);
        _copies = new FunctionCopies(State, Functions);
        Progress = new ScriptProgress(server, engine.Runs);
        Slots = server.Cluster is { } cluster ? new ScriptSlots(cluster) : null;
        Session = new Session(server, 0, new ReplyWriter(Output)) { Authenticated = true, InTransaction = true, Interpreter = this };
    }

    public ServerCore Server { get; }

    public LuaState State { get; }

    /// <summary>The bytes that the script may still use, those included that it shares with others and has not taken.</summary>
    public long Room => State.Room + (_isBeside ? _engine.FreeMemory : 0);

    public ReplyFields Fields { get; }

    public ReplyToLua ToLua { get; }

    /// <summary>The table `redis` in its forms.</summary>
    public RedisLibrary Library { get; }

    /// <summary>The environment of functions.</summary>
    public FunctionEnvironment Functions { get; }

    /// <summary>Runs instead of the check of a script's progress while a library is loaded; null if the interpreter loads none.</summary>
    public LibraryLoader? Loader { get; set; }

    /// <summary>The state of the running script that other threads can read, and the requests that they can make.</summary>
    public ScriptProgress Progress { get; }

    /// <summary>The buffer that captures the replies of redis.call.</summary>
    public CapturedReply Output { get; }

    /// <summary>The session in which redis.call runs commands.</summary>
    public Session Session { get; }

    /// <summary>The client of the running script, or of the last one.</summary>
    public Session Caller { get; private set; } = null!;

    /// <summary>Whether the running script must not write.</summary>
    public bool IsReadOnly { get; private set; }

    /// <summary>
    /// Whether maxmemory was exceeded when the running script began, and the script did not declare allow-oom.
    /// </summary>
    public bool IsOutOfMemory { get; private set; }

    /// <summary>Whether the running script may use keys of several slots of a cluster.</summary>
    public bool MayCrossSlots { get; private set; }

    /// <summary>The slots of the script in a cluster; null without one.</summary>
    internal ScriptSlots? Slots { get; }

    /// <summary>The rights of the caller when the script began. A change of the user must not end the script halfway.</summary>
    internal Permissions Permissions { get; private set; } = null!;

    /// <summary>Whether the writes of the running script become effects. redis.set_repl can turn this off.</summary>
    public bool Journalled { get; set; }

    /// <summary>Whether the script has written. Ending it would then leave a part of its effects.</summary>
    public bool HasWritten => Progress.HasWritten;

    public Lane Lane { get; private set; } = null!;

    /// <summary>The shards that the running script holds.</summary>
    public ref readonly ShardSet Held => ref _held;

    /// <summary>Whether the running script holds every shard.</summary>
    public bool HoldsAll { get; private set; }

    public long Now { get; private set; }

    /// <summary>The Unix time, which does not advance while a script runs.</summary>
    public long TimeMicroseconds => _timeMicroseconds != 0 ? _timeMicroseconds : _timeMicroseconds = ServerCore.UnixMicroseconds();

    /// <summary>Ends the set-up: from here on, no script can change what the next one sees.</summary>
    public void Seal()
    {
        LuaSandbox.RejectUnknownNames(State, State.Globals);
        LuaSandbox.Freeze(State);
        State.Recount();
    }

    /// <summary>
    /// Runs a script or a function for a client. The caller holds the shards that it needs. The method writes the reply or latches
    /// an error.
    /// </summary>
    /// <param name="c">The client's command.</param>
    /// <param name="routine">The script or function.</param>
    /// <param name="keys">The number of keys, which begin at the fourth argument.</param>
    /// <param name="readOnly">Whether the command must not write, whatever the script declares.</param>
    public void Run(ref CommandContext c, Routine routine, int keys, bool readOnly)
    {
        if (Refuse(ref c, routine, readOnly) is { } refusal)
        {
            c.Fail(refusal);
            return;
        }
        LuaFunction body = BodyOf(routine);
        long allocated = State.AllocatedBytes, started;
        try
        {
            started = Begin(ref c, routine, keys, readOnly);
            if (Call(ref c, routine, body, keys) is not { } outcome) c.Fail("ERR not enough memory for the script's arguments");
            else if (outcome == LuaOutcome.Returned) Answer(ref c);
            else FailWith(ref c, routine);
        }
        finally
        {
            End(routine, allocated);
        }
        routine.Took(Clock - started);
    }

    /// <summary>
    /// Ends a run, also after an exception. Progress.Done comes first, because other clients wait for it. The rest removes all
    /// state that the next run must not see.
    /// </summary>
    private void End(Routine routine, long allocated)
    {
        Progress.Done(Lane);
        Lane.Effects.IsMuted = false;
        Session.Tracking = null;
        try
        {
            State.Reset();
            State.TrySet(State.Globals, _keys, LuaValue.Nil);
            State.TrySet(State.Globals, _argv, LuaValue.Nil);
        }
        finally
        {
            Output.Clear();
            if (routine.KeepsToKeys || routine.Body.IsStateless) State.ForgetSince(allocated);
            _engine.ReturnMemory(_extraMemory);
            _extraMemory = 0;
            if (_isBeside) _engine.LeaveBeside();
            _isBeside = false;
        }
    }

    private string? Refuse(ref CommandContext c, Routine routine, bool readOnly)
    {
        if ((routine.Flags & ScriptFlags.NoCluster) != 0 && Server.Cluster is not null)
            return "ERR Can not run script on cluster, 'no-cluster' flag is set.";
        bool mayWrite = (routine.Flags & ScriptFlags.NoWrites) == 0;
        if (routine.IsDeclared && mayWrite)
        {
            if (Server.DiskRefusal is { } refusal && !c.Session.IsPrimary)
            {
                return Server.Journal is { WriteRefusal.Length: > 0 } journal
                    ? "MISCONF Redis is configured to persist data to AOF, but it's currently unable to persist to disk. " +
                        $"Writable scripts are blocked. Use 'no-writes' flag for read only scripts. AOF error: {Errors.Spell(journal.WriteRefusal)}"
                    : Server.RoleFile.Failure is not null && !Server.Snapshots.RefusesWrites ? refusal
                    : "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. " +
                        "Writable scripts are blocked. Use 'no-writes' flag for read only scripts.";
            }
            if (readOnly) return "ERR Can not execute a script with write flag using *_ro command.";
        }
        bool allowed = (routine.Flags & ScriptFlags.AllowOom) != 0 || routine.IsDeclared && !mayWrite;
        IsOutOfMemory = !allowed && Server.Config.MaxMemoryBytes > 0 && c.LacksMemory;
        return IsOutOfMemory && routine.IsDeclared
            ? "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'"
            : null;
    }

    private long Begin(ref CommandContext c, Routine routine, int keys, bool readOnly)
    {
        Lane = c.Lane;
        Now = c.Now;
        IsReadOnly = readOnly || (routine.Flags & ScriptFlags.NoWrites) != 0;
        MayCrossSlots = (routine.Flags & (ScriptFlags.AllowCrossSlotKeys | ScriptFlags.Compatible)) != 0;
        Slots?.Begin(keys > 0 ? KeySlot.Of(c.Args[3]) : -1);
        Permissions = c.Session.User.Permissions;
        Journalled = true;
        _held = c.Held;
        HoldsAll = _held.ContainsAll(Server.Shards.All);
        Session.Database = c.Session.Database;
        Session.User = c.Session.User;
        Session.Tracking = c.Session.Tracking;
        Caller = c.Session;
        Session.NoTouch = c.Session.NoTouch;
        Session.Reply.Version = 2;
        Session.SeenLsn = c.Session.SeenLsn;
        _timeMicroseconds = 0;
        if (this != _engine.Main)
        {
            State.MemoryLimit = State.AllocatedBytes + _engine.EnterBeside();
            _isBeside = true;
        }
        else if (Server.Shards.Budget.LimitsClients) State.MemoryLimit = _engine.MemoryFor(State.AllocatedBytes);
        return Clock = Progress.Begin(c.Session, routine, _held, HoldsAll);
    }

    /// <summary>
    /// Passes the arguments as globals to a script, or as parameters to a function. Returns null if there is no memory for them.
    /// </summary>
    private LuaOutcome? Call(ref CommandContext c, Routine routine, LuaFunction body, int keys)
    {
        const int firstKey = 3;
        LuaTable? names = NewTable(c.Args, firstKey, keys);
        LuaTable? arguments = NewTable(c.Args, firstKey + keys, c.Args.Count - firstKey - keys);
        if (names is null || arguments is null) return null;
        if (routine is LibraryFunction) return State.Call(body, [names, arguments]);
        if (!State.TrySet(State.Globals, _keys, names) || !State.TrySet(State.Globals, _argv, arguments)) return null;
        return State.Call(body, []);
    }

    /// <summary>The routine's function in this interpreter. Scripts are compiled and libraries are loaded in the main one.</summary>
    private LuaFunction BodyOf(Routine routine)
    {
        if (this == _engine.Main) return routine.Body;
        return routine is LibraryFunction function ? _copies.Of(function, _engine.Libraries) : LuaState.Copy(routine.Body, State.Globals);
    }

    private LuaTable? NewTable(in Request request, int first, int count)
    {
        LuaTable? table = State.TryNewTable(count, 0);
        if (table is null) return null;
        // The following call ends the protection of the table, which is then reachable as a global or an argument.
        State.BeginBuilding(table);
        for (int i = 0; i < count; i++)
            if (State.TryNewString(request[first + i]) is not { } text || !State.TrySet(table, new LuaValue(i + 1), text)) return null;
        return table;
    }

    private void Answer(ref CommandContext c)
    {
        LuaValue value = State.ResultCount > 0 ? State.Result(0) : LuaValue.Nil;
        // Unless a table is written repeatedly, the reply has no more elements than there are values in memory.
        long elements = Math.Max(Limits.ReplyElements, State.AllocatedBytes / LeastValue);
        if (_toReply.Write(c.Reply, value, Session.Reply.Version, State.Room, elements))
        {
            NoteCounted(ref c, _toReply.CountedErrors);
            return;
        }
        if (!c.Reply.Rollback(c.Reply.LatestMark)) c.Reply.Overflow();
        c.Fail("ERR not enough memory for the script's reply");
    }

    /// <summary>
    /// Notes errors of the reply that the failed commands already counted. The script counts as failed, but the errors are not
    /// counted again.
    /// </summary>
    private static void NoteCounted(ref CommandContext c, int errors)
    {
        if (errors == 0) return;
        c.CountedErrors += errors;
        c.FailsWithPart = true;
    }

    private void FailWith(ref CommandContext c, Routine routine)
    {
        LuaError error = State.Error;
        string text;
        bool counted = false;
        if (error.Value.AsTable is { } table && table[Fields.Err].AsString is { } inner)
        {
            text = Shown(inner);
            counted = table[Fields.IgnoreStatistics].IsTrue;
        }
        else
        {
            text = "ERR " + Shown(State.Describe(error.Value));
        }
        if (error.Source is { } source && error.Line > 0) text += $" script: {routine.Name}, on {source}:{error.Line}.";
        c.Reply.Error(text);
        NoteCounted(ref c, counted ? 1 : 0);
    }

    /// <summary>The text of an error as Redis shows it: it ends at the first zero byte.</summary>
    public static string Shown(LuaString text)
    {
        ReadOnlySpan<byte> bytes = text.Span[..Math.Min(text.Length, LongestError)];
        int zero = bytes.IndexOf((byte)0);
        return Encoding.Latin1.GetString(zero < 0 ? bytes : bytes[..zero]);
    }

    private bool TryTakeMemory(long bytes)
    {
        if (!_engine.TryTakeMemory(bytes)) return false;
        _extraMemory += bytes;
        return true;
    }

    /// <summary>Called periodically on the thread that runs the script.</summary>
    private LuaString? OnBudget(LuaState state)
    {
        if (Loader is { IsLoading: true } loader) return loader.Interrupt();
        Clock = Stopwatch.GetTimestamp();
        return Progress.Check(Clock);
    }
}
