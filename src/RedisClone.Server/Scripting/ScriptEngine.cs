using System.Buffers;
using System.Diagnostics;
using System.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Lua;
using RedisClone.Protocol;
using RedisClone.Server.Commands;
using RedisClone.Server.Net;

namespace RedisClone.Server.Scripting;

/// <summary>
/// Runs scripts in one interpreter. A script holds every shard, since it may touch keys that it did not declare: so one runs at a time, and
/// nobody sees half of what it does.
/// </summary>
internal sealed class ScriptEngine
{
    private readonly ServerCore _server;
    private readonly RedisLibrary _library;
    private readonly LuaString _keys, _argv;
    private long _startedTicks;
    private volatile bool _running;
    private volatile bool _killed;
    private volatile bool _wrote;

    public ScriptEngine(ServerCore server)
    {
        _server = server;
        State = new LuaState(Limits.ScriptMemory) { OnBudget = OnBudget };
        Replies = new LuaReplies(State);
        _library = new RedisLibrary(this);
        _keys = State.Name("KEYS");
        _argv = State.Name("ARGV");
        State.SetField(State.Globals, "KEYS", LuaValue.Nil);
        LuaSandbox.RejectUnknownNames(State, State.Globals);
        LuaSandbox.Freeze(State);
        Cache = new ScriptCache(this);
        Session = new Session(server, 0, new ReplyWriter(Output)) { Authenticated = true, InTransaction = true };
    }

    public ServerCore Server => _server;

    public LuaState State { get; }

    public LuaReplies Replies { get; }

    public ScriptCache Cache { get; }

    /// <summary>Where the replies of redis.call are captured.</summary>
    public ArrayBufferWriter<byte> Output { get; } = new(4096);

    /// <summary>The session that redis.call runs commands with.</summary>
    public Session Session { get; private set; }

    /// <summary>The client whose script is running.</summary>
    public Session? Caller { get; private set; }

    public Script? Current { get; private set; }

    /// <summary>The running script may not write.</summary>
    public bool ReadOnly { get; private set; }

    public Lane Lane { get; private set; } = null!;

    public long Now { get; private set; }

    /// <summary>A script has run longer than others should wait for: they are told so.</summary>
    public bool IsBusy => _running && Elapsed.TotalMilliseconds > _server.Config.BusyReplyThreshold && _server.Config.BusyReplyThreshold > 0;

    /// <summary>Once a script has written, ending it would leave half of its effects.</summary>
    public bool HasWritten => _wrote;

    public bool IsRunning => _running;

    public TimeSpan Elapsed => Stopwatch.GetElapsedTime(Volatile.Read(ref _startedTicks));

    public void Kill() => _killed = true;

    public void NoteWrite() => _wrote = true;

    /// <summary>Runs a script for a client; all shards are held. The reply is written, or an error latched.</summary>
    public void Run(ref CommandContext c, Script script, int firstKey, int keys, bool readOnly)
    {
        Begin(ref c, script, readOnly);
        if (!SetArguments(c.Args, firstKey, keys))
        {
            c.Fail("ERR not enough memory for the script's arguments");
        }
        else
        {
            LuaOutcome outcome = State.Call(script.Function, []);
            if (outcome == LuaOutcome.Returned) Replies.Write(c.Reply, State.ResultCount > 0 ? State.Result(0) : LuaValue.Nil);
            else FailWith(ref c, State.Error, script.Digest);
        }
        State.Reset();
        _running = false;
        Session.Tracking = null;
        Current = null;
        Caller = null;
    }

    private void Begin(ref CommandContext c, Script script, bool readOnly)
    {
        Current = script;
        Caller = c.Session;
        Lane = c.Lane;
        Now = c.Now;
        ReadOnly = readOnly || (script.Flags & ScriptFlags.NoWrites) != 0;
        Session.Database = c.Session.Database;
        Session.User = c.Session.User;
        Session.Tracking = c.Session.Tracking;
        Session.Reply.Version = 2;
        Session.SeenLsn = c.Session.SeenLsn;
        State.Random.Seed(0);
        _killed = _wrote = false;
        Volatile.Write(ref _startedTicks, Stopwatch.GetTimestamp());
        _running = true;
    }

    private bool SetArguments(in Request request, int firstKey, int keys) =>
        TrySetTable(_keys, request, firstKey, keys) && TrySetTable(_argv, request, firstKey + keys, request.Count - firstKey - keys);

    private bool TrySetTable(LuaString name, in Request request, int first, int count)
    {
        LuaTable? table = State.TryNewTable(count, 0);
        if (table is null) return false;
        for (int i = 0; i < count; i++)
            if (State.TryNewString(request[first + i]) is not { } text || !State.TrySet(table, new LuaValue(i + 1), text)) return false;
        return State.TrySet(State.Globals, name, table);
    }

    private void FailWith(ref CommandContext c, LuaError error, string digest)
    {
        string text;
        if (error.Value.AsTable is { } table && table[Replies.Err].AsString is { } inner) text = Encoding.UTF8.GetString(inner.Span);
        else text = "ERR " + error.Message;
        if (error.Source is { } source && error.Line > 0) text += $" script: {digest}, on {source}:{error.Line}.";
        c.Fail(text);
    }

    /// <summary>Asked every so many steps, on the thread that runs the script.</summary>
    private LuaString? OnBudget(LuaState state)
    {
        if (!_killed) return null;
        _server.Log.LogWarning("Lua script killed by user with SCRIPT KILL.");
        return LuaString.From("Script killed by user with SCRIPT KILL...");
    }
}
