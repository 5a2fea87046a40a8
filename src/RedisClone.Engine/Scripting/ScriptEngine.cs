using System.Diagnostics;
using System.Text;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;
using RedisClone.Protocol;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// Runs scripts and functions in one interpreter. Each run holds every shard, because it may use keys that it did not declare.
/// So only one runs at a time, and no other command sees a part of its changes.
/// </summary>
internal sealed class ScriptEngine
{
    /// <summary>The length at which an error's text is cut, because its copies do not count as memory of the script.</summary>
    private const int LongestError = 1 << 20;

    /// <summary>The bytes of an array element.</summary>
    private const int LeastValue = 16;

    private readonly LuaToReply _toReply;
    private readonly LibraryLoader _loader;
    private readonly LuaString _keys, _argv;

    private readonly long _mostMemory;
    private long _timeMicroseconds;

    /// <summary>The latest known time while a script runs: its start, or the end of its last command.</summary>
    public long Clock;

    public ScriptEngine(ServerCore server)
    {
        Server = server;
        // At the limit of scripts only the script fails. At the limit of the runtime other work may fail too.
        long half = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / 2;
        _mostMemory = Math.Min(Limits.ScriptMemory, half);
        State = new LuaState(_mostMemory) { OnBudget = OnBudget };
        Output = new CapturedReply(State);
        Fields = new ReplyFields(State);
        ToLua = new ReplyToLua(State, Fields);
        _toReply = new LuaToReply(Fields);
        _keys = State.Name("KEYS");
        _argv = State.Name("ARGV");
        State.CaughtField = Fields.Err;
        var library = new RedisLibrary(this);
        _loader = new LibraryLoader(State, Fields, library);
        State.SetField(State.Globals, "redis", library.ForScripts);
        State.SetField(State.Globals, "server", library.ForScripts);
        LuaSandbox.RejectUnknownNames(State, State.Globals);
        LuaSandbox.Freeze(State);
        State.Recount();
        Cache = new ScriptCache(State);
        Libraries = new LibrarySet(State);
        Progress = new ScriptProgress(server);
        Session = new Session(server, 0, new ReplyWriter(Output)) { Authenticated = true, InTransaction = true, IsScript = true };
    }

    public ServerCore Server { get; }

    public LuaState State { get; }

    public ReplyFields Fields { get; }

    public ReplyToLua ToLua { get; }

    public ScriptCache Cache { get; }

    public LibrarySet Libraries { get; }

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

    /// <summary>The slot of the keys of the running script; -1 while none was used.</summary>
    internal int Slot = -1;

    /// <summary>Whether the writes of the running script become effects. redis.set_repl can turn this off.</summary>
    public bool Journalled { get; set; }

    /// <summary>Whether the script has written. Ending it would then leave a part of its effects.</summary>
    public bool HasWritten => Progress.HasWritten;

    public Lane Lane { get; private set; } = null!;

    public long Now { get; private set; }

    /// <summary>The Unix time, which does not advance while a script runs.</summary>
    public long TimeMicroseconds => _timeMicroseconds != 0 ? _timeMicroseconds : _timeMicroseconds = ServerCore.UnixMicroseconds();

    public void NoteWrite() => Progress.NoteWrite();

    /// <summary>Loads a library that will join others. Returns null, with the error, if that fails.</summary>
    public FunctionLibrary? Load(ReadOnlySpan<byte> source, bool patient, LibrarySet others, bool replace, out string error) =>
        _loader.Load(source, patient, others, replace, out error);

    /// <summary>Loads a library that was loaded successfully before, and adds it. Returns null, or the error.</summary>
    public string? Restore(ReadOnlySpan<byte> source, bool replace) =>
        Load(source, patient: true, Libraries, replace, out string error) is { } library ? Libraries.Add([library], replace) : error;

    /// <summary>
    /// Runs a script or a function for a client. The caller holds all shards. The method writes the reply or latches an error.
    /// </summary>
    /// <param name="c">The client's command.</param>
    /// <param name="routine">The script or function.</param>
    /// <param name="keys">The number of keys, which begin at the fourth argument.</param>
    /// <param name="readOnly">Whether the command must not write, whatever the script declares.</param>
    public void Run(ref CommandContext c, Routine routine, int keys, bool readOnly)
    {
        // Only an event loop can run further rounds while a script occupies its thread.
        if ((routine.IsSlow || c.Session.Connection is { Loop: null }) && c.MoveToWorker(long.MaxValue)) return;
        if (Refuse(ref c, routine, readOnly) is { } refusal)
        {
            c.Fail(refusal);
            return;
        }
        long allocated = State.AllocatedBytes, started;
        try
        {
            started = Begin(ref c, routine, keys, readOnly);
            if (Call(ref c, routine, keys) is not { } outcome) c.Fail("ERR not enough memory for the script's arguments");
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
            if (routine.Body.IsStateless) State.ForgetSince(allocated);
        }
    }

    private string? Refuse(ref CommandContext c, Routine routine, bool readOnly)
    {
        if ((routine.Flags & ScriptFlags.NoCluster) != 0 && Server.Cluster is not null)
            return "ERR Can not run script on cluster, 'no-cluster' flag is set.";
        bool mayWrite = (routine.Flags & ScriptFlags.NoWrites) == 0;
        if (routine.IsDeclared && mayWrite)
        {
            if (Server.DiskRefusal is not null)
            {
                return Server.Journal is { WriteRefusal.Length: > 0 } journal
                    ? "MISCONF Redis is configured to persist data to AOF, but it's currently unable to persist to disk. " +
                        $"Writable scripts are blocked. Use 'no-writes' flag for read only scripts. AOF error: {Errors.Spell(journal.WriteRefusal)}"
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
        Slot = Server.Cluster is not null && keys > 0 ? KeySlot.Of(c.Args[3]) : -1;
        Journalled = true;
        Session.Database = c.Session.Database;
        Session.User = c.Session.User;
        Session.Tracking = c.Session.Tracking;
        Caller = c.Session;
        Session.NoTouch = c.Session.NoTouch;
        Session.Reply.Version = 2;
        Session.SeenLsn = c.Session.SeenLsn;
        _timeMicroseconds = 0;
        // A script may use half of what data and clients leave, so that its limit is reached before the limit of the heap, also if
        // clients take more while it runs.
        HeapBudget budget = Server.Shards.Budget;
        if (budget.LimitsClients)
            State.MemoryLimit = Math.Min(_mostMemory, Math.Max(State.AllocatedBytes + Limits.LeastScriptMemory, budget.Left / 2));
        return Clock = Progress.Begin(c.Session, routine);
    }

    /// <summary>
    /// Passes the arguments as globals to a script, or as parameters to a function. Returns null if there is no memory for them.
    /// </summary>
    private LuaOutcome? Call(ref CommandContext c, Routine routine, int keys)
    {
        const int firstKey = 3;
        LuaTable? names = NewTable(c.Args, firstKey, keys);
        LuaTable? arguments = NewTable(c.Args, firstKey + keys, c.Args.Count - firstKey - keys);
        if (names is null || arguments is null) return null;
        if (routine is LibraryFunction) return State.Call(routine.Body, [names, arguments]);
        if (!State.TrySet(State.Globals, _keys, names) || !State.TrySet(State.Globals, _argv, arguments)) return null;
        return State.Call(routine.Body, []);
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

    /// <summary>Called periodically on the thread that runs the script.</summary>
    private LuaString? OnBudget(LuaState state)
    {
        if (_loader.IsLoading) return _loader.Interrupt();
        Clock = Stopwatch.GetTimestamp();
        return Progress.Check(Clock);
    }
}
