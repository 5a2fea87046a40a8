using System.Diagnostics;
using System.Text;
using RedisClone.Lua;
using RedisClone.Protocol;
using RedisClone.Server.Commands;
using RedisClone.Server.Net;

namespace RedisClone.Server.Scripting;

/// <summary>
/// Runs scripts and functions in one interpreter. Each holds every shard, since it may touch keys that it did not declare: so one runs at a
/// time, and nobody sees half of what it does.
/// </summary>
internal sealed class ScriptEngine
{
    /// <summary>An error's text is cut there: the copies that are made of it do not count as the script's memory.</summary>
    private const int LongestError = 1 << 20;

    /// <summary>Bytes of an element of an array.</summary>
    private const int LeastValue = 16;

    private readonly LuaToReply _toReply;
    private readonly LibraryLoader _loader;
    private readonly LuaString _keys, _argv;

    private long _timeMicroseconds;

    /// <summary>The latest time known while a script runs: its start, then the end of its last command.</summary>
    public long Clock;

    public ScriptEngine(ServerCore server)
    {
        Server = server;
        // At the limit of scripts only the script fails. At the limit of the runtime other work may fail too.
        long half = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / 2;
        State = new LuaState(Math.Min(Limits.ScriptMemory, half)) { OnBudget = OnBudget };
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
        Session = new Session(server, 0, new ReplyWriter(Output)) { Authenticated = true, InTransaction = true };
    }

    public ServerCore Server { get; }

    public LuaState State { get; }

    public ReplyFields Fields { get; }

    public ReplyToLua ToLua { get; }

    public ScriptCache Cache { get; }

    public LibrarySet Libraries { get; }

    /// <summary>What other threads may know of the script that runs, and ask of it.</summary>
    public ScriptProgress Progress { get; }

    /// <summary>Where the replies of redis.call are captured.</summary>
    public CapturedReply Output { get; }

    /// <summary>The session that redis.call runs commands with.</summary>
    public Session Session { get; }

    /// <summary>The client whose script is running, or was the last to run.</summary>
    public Session Caller { get; private set; } = null!;

    /// <summary>The running script may not write.</summary>
    public bool IsReadOnly { get; private set; }

    /// <summary>The data did not fit when the running script began, and it has not said that it does not mind.</summary>
    public bool IsOutOfMemory { get; private set; }

    /// <summary>What the running script writes is an effect; redis.set_repl can turn that off.</summary>
    public bool Journalled { get; set; }

    /// <summary>Once a script has written, ending it would leave half of its effects.</summary>
    public bool HasWritten => Progress.HasWritten;

    public Lane Lane { get; private set; } = null!;

    public long Now { get; private set; }

    /// <summary>Unix time that stands still while a script runs.</summary>
    public long TimeMicroseconds => _timeMicroseconds != 0 ? _timeMicroseconds : _timeMicroseconds = ServerCore.UnixMicroseconds();

    public void NoteWrite() => Progress.NoteWrite();

    /// <summary>Loads a library that is to join others; null with the error.</summary>
    public FunctionLibrary? Load(ReadOnlySpan<byte> source, bool patient, LibrarySet others, bool replace, out string error) =>
        _loader.Load(source, patient, others, replace, out error);

    /// <summary>Runs a script or a function for a client; all shards are held. The reply is written, or an error latched.</summary>
    /// <param name="c">The client's command.</param>
    /// <param name="routine">What is to be run.</param>
    /// <param name="keys">How many keys stand behind their number, from the fourth argument on.</param>
    /// <param name="readOnly">The command is one that does not write, whatever the script says.</param>
    public void Run(ref CommandContext c, Routine routine, int keys, bool readOnly)
    {
        // Only an event loop can go on while a script takes its thread.
        if ((routine.IsSlow || c.Session.Connection is { Loop: null }) && c.MoveToWorker(long.MaxValue)) return;
        if (Refuse(ref c, routine, readOnly) is { } refusal)
        {
            c.Fail(refusal);
            return;
        }
        long allocated = State.AllocatedBytes, started;
        try
        {
            started = Begin(ref c, routine, readOnly);
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
    /// Ends a run, also one that an exception ended. Other clients wait for <see cref="ScriptProgress.Done"/>, so it comes first.
    /// The next run must not meet what this one left.
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
        bool mayWrite = (routine.Flags & ScriptFlags.NoWrites) == 0;
        if (routine.IsDeclared && mayWrite)
        {
            if (Server.DiskRefusal is not null)
            {
                return Server.Journal is { Failure.Length: > 0 } journal
                    ? "MISCONF Redis is configured to persist data to AOF, but it's currently unable to persist to disk. " +
                        $"Writable scripts are blocked. Use 'no-writes' flag for read only scripts. AOF error: {Errors.Spell(journal.Failure)}"
                    : "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. " +
                        "Writable scripts are blocked. Use 'no-writes' flag for read only scripts.";
            }
            if (readOnly) return "ERR Can not execute a script with write flag using *_ro command.";
        }
        bool allowed = (routine.Flags & ScriptFlags.AllowOom) != 0 || routine.IsDeclared && !mayWrite;
        IsOutOfMemory = !allowed && Server.Config.MaxMemoryBytes > 0 && c.Session.LacksMemory;
        return IsOutOfMemory && routine.IsDeclared
            ? "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'"
            : null;
    }

    private long Begin(ref CommandContext c, Routine routine, bool readOnly)
    {
        Lane = c.Lane;
        Now = c.Now;
        IsReadOnly = readOnly || (routine.Flags & ScriptFlags.NoWrites) != 0;
        Journalled = true;
        Session.Database = c.Session.Database;
        Session.User = c.Session.User;
        Session.Tracking = c.Session.Tracking;
        Caller = c.Session;
        Session.NoTouch = c.Session.NoTouch;
        Session.Reply.Version = 2;
        Session.SeenLsn = c.Session.SeenLsn;
        _timeMicroseconds = 0;
        return Clock = Progress.Begin(c.Session, routine);
    }

    /// <summary>Null where there is no memory for the arguments: a script's are globals, a function's its parameters.</summary>
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
        // The call that follows forgets it: then it is a global or an argument.
        State.BeginBuilding(table);
        for (int i = 0; i < count; i++)
            if (State.TryNewString(request[first + i]) is not { } text || !State.TrySet(table, new LuaValue(i + 1), text)) return null;
        return table;
    }

    private void Answer(ref CommandContext c)
    {
        LuaValue value = State.ResultCount > 0 ? State.Result(0) : LuaValue.Nil;
        // Where no table is written twice, there are no more elements than values in memory.
        long elements = Math.Max(Limits.ReplyElements, State.AllocatedBytes / LeastValue);
        if (_toReply.Write(c.Reply, value, Session.Reply.Version, State.Room, elements))
        {
            NoteCounted(ref c, _toReply.CountedErrors);
            return;
        }
        if (!c.Reply.Rollback(c.Reply.LatestMark)) c.Reply.Overflow();
        c.Fail("ERR not enough memory for the script's reply");
    }

    /// <summary>So many errors of the reply were counted by the commands that they came from: the script has failed by them, but they are no others.</summary>
    private static void NoteCounted(ref CommandContext c, int errors)
    {
        if (errors == 0) return;
        c.Session.ErrorsCounted += errors;
        if (c.Reply.Errors == c.Session.ErrorsCounted) c.Lane.Calls[c.Row.Id].Failed++;
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

    /// <summary>Redis takes the text of an error as C's: it ends at the first zero.</summary>
    public static string Shown(LuaString text)
    {
        ReadOnlySpan<byte> bytes = text.Span[..Math.Min(text.Length, LongestError)];
        int zero = bytes.IndexOf((byte)0);
        return Encoding.Latin1.GetString(zero < 0 ? bytes : bytes[..zero]);
    }

    /// <summary>Asked every so many steps, on the thread that runs the script.</summary>
    private LuaString? OnBudget(LuaState state)
    {
        if (_loader.IsLoading) return _loader.Interrupt();
        Clock = Stopwatch.GetTimestamp();
        return Progress.Check(Clock);
    }
}
