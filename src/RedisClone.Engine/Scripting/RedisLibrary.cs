using System.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Configuration;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;
using RedisClone.Protocol;

namespace RedisClone.Engine.Scripting;

/// <summary>The table `redis` in three forms: for scripts, for functions, and for libraries that are being loaded.</summary>
internal sealed class RedisLibrary
{
    private static readonly (string Name, LogLevel Level)[] LogLevels =
        [("LOG_DEBUG", LogLevel.Debug), ("LOG_VERBOSE", LogLevel.Debug), ("LOG_NOTICE", LogLevel.Information), ("LOG_WARNING", LogLevel.Warning)];

    private static readonly (string Name, int Value)[] Propagations =
        [("REPL_NONE", 0), ("REPL_AOF", ToJournal), ("REPL_SLAVE", 2), ("REPL_REPLICA", 2), ("REPL_ALL", 3)];

    private const int ToJournal = 1;

    /// <summary>The number of copies of an error's text: the bytes and the script's string.</summary>
    private const long CopiesOfError = 2;

    /// <summary>The memory for each byte of a logged text: two UTF-16 strings, the line, and its bytes.</summary>
    private const long BytesOfLogged = 6;

    private readonly Interpreter _interpreter;
    private readonly ScriptCalls _calls;

    public RedisLibrary(Interpreter interpreter)
    {
        _interpreter = interpreter;
        _calls = new ScriptCalls(interpreter);
        ForFunctions = NewTable();
        ForScripts = NewTable();
        ForLoading = NewTable();
        foreach (LuaTable table in (LuaTable[])[ForFunctions, ForScripts])
        {
            Add(table, "call", _calls.Call);
            Add(table, "pcall", _calls.ProtectedCall);
            Add(table, "sha1hex", Sha1Hex);
            Add(table, "error_reply", ErrorReply);
            Add(table, "status_reply", StatusReply);
            Add(table, "setresp", SetResp);
            Add(table, "set_repl", SetPropagation);
            Add(table, "acl_check_cmd", CheckCommand);
            foreach ((string name, int value) in Propagations) interpreter.State.SetField(table, name, new LuaValue(value));
        }
        Add(ForScripts, "replicate_commands", static (ref LuaCall call) => call.Return(true));
        Add(ForScripts, "breakpoint", static (ref LuaCall call) => call.Return(false));
        Add(ForScripts, "debug", static (ref LuaCall call) => 0);
    }

    public LuaTable ForScripts { get; }

    public LuaTable ForFunctions { get; }

    public LuaTable ForLoading { get; }

    private LuaTable NewTable()
    {
        LuaState state = _interpreter.State;
        LuaTable table = state.TryNewTable()!;
        Add(table, "log", Log);
        for (int i = 0; i < LogLevels.Length; i++) state.SetField(table, LogLevels[i].Name, new LuaValue(i));
        state.SetField(table, "REDIS_VERSION", state.Name(ServerVersion.Redis));
        state.SetField(table, "REDIS_VERSION_NUM", new LuaValue(VersionNumber(ServerVersion.Redis)));
        return table;
    }

    private void Add(LuaTable table, string name, LuaHostBody body) => _interpreter.State.SetField(table, name, new LuaHostFunction(body));

    private static int VersionNumber(string version)
    {
        int[] parts = [.. version.Split('.').Select(int.Parse)];
        return parts[0] << 16 | parts[1] << 8 | parts[2];
    }

    private int Sha1Hex(ref LuaCall call)
    {
        if (call.Count != 1) return _calls.Raise(ref call, "ERR wrong number of arguments");
        ReadOnlySpan<byte> text = call[1].Type is LuaType.String or LuaType.Number ? call.CheckString(1).Span : default;
        call.State.CountWork(4L * text.Length);
        return call.ReturnString(Encoding.ASCII.GetBytes(ScriptDigest.TextOf(text)));
    }

    private int ErrorReply(ref LuaCall call)
    {
        if (call.Count != 1 || call[1].AsString is not { } text) return _calls.ReturnError(ref call, "ERR wrong number or type of arguments"u8);
        ReadOnlySpan<byte> words = text.Span;
        call.State.CountWork(CopiesOfError * words.Length);
        int zero = words.IndexOf((byte)0);
        if (zero >= 0) words = words[..zero];
        if (words.StartsWith("-"u8)) words = words[1..];
        // The first of several words is the error code. A single word is not a code.
        int blank = words.IndexOf((byte)' ');
        ReadOnlySpan<byte> code = blank < 0 ? "ERR"u8 : words[..blank];
        if (!call.State.TryReserve(CopiesOfError * words.Length)) return call.Error("not enough memory");
        call.State.Release(CopiesOfError * words.Length);
        return _calls.ReturnError(ref call, [.. code, (byte)' ', .. words[(blank + 1)..].Trim("\r\n"u8)]);
    }

    private int StatusReply(ref LuaCall call)
    {
        if (call.Count != 1 || call[1].AsString is not { } text) return _calls.ReturnError(ref call, "ERR wrong number or type of arguments"u8);
        LuaTable? table = call.State.TryNewTable(0, 1);
        if (table is null || !call.State.TrySet(table, _interpreter.Fields.Ok, text)) return call.Error("not enough memory");
        return call.Return(table);
    }

    private int Log(ref LuaCall call)
    {
        if (call.Count < 2) return _calls.Raise(ref call, "ERR redis.log() requires two arguments or more.");
        if (!RedisNumberOf(ref call, out double number))
            return _calls.Raise(ref call, "ERR First argument must be a number (log level).");
        int level = double.IsNaN(number) ? -1 : (int)Math.Clamp(number, -1, LogLevels.Length);
        if (level < 0 || level >= LogLevels.Length) return _calls.Raise(ref call, "ERR Invalid log level.");
        if (!_interpreter.Server.Log.IsEnabled(LogLevels[level].Level)) return 0;
        long length = 0;
        for (int i = 2; i <= call.Count; i++) length += call[i].AsString?.Length ?? 0;
        call.State.CountWork(BytesOfLogged * length);
        if (!call.State.TryReserve(BytesOfLogged * length)) return call.Error("not enough memory");
        call.State.Release(BytesOfLogged * length);
        var words = new List<string>();
        for (int i = 2; i <= call.Count; i++) words.Add(call[i].Type is LuaType.Number or LuaType.String ? call.CheckString(i).ToString() : "");
        _interpreter.Server.Log.Log(LogLevels[level].Level, "{Text}", string.Join(' ', words));
        return 0;
    }

    private int SetResp(ref LuaCall call)
    {
        if (call.Count != 1) return _calls.Raise(ref call, "ERR redis.setresp() requires one argument.");
        if (!RedisNumberOf(ref call, out double version) || (int)version is not (2 or 3))
            return _calls.Raise(ref call, "ERR RESP version must be 2 or 3.");
        _interpreter.Session.Reply.Version = (int)version;
        return 0;
    }

    private int SetPropagation(ref LuaCall call)
    {
        if (call.Count != 1) return _calls.Raise(ref call, "ERR redis.set_repl() requires one argument.");
        int flags = RedisNumberOf(ref call, out double number) ? (int)number : 0;
        if ((flags & ~3) != 0) return _calls.Raise(ref call, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
        _interpreter.Journalled = (flags & ToJournal) != 0;
        return 0;
    }

    private int CheckCommand(ref LuaCall call)
    {
        try
        {
            if (!_calls.TryRead(ref call, out string problem)) return _calls.Raise(ref call, problem);
            if (_calls.Resolve() is not { } row)
                return _calls.Raise(ref call, "ERR Invalid command passed to redis.acl_check_cmd()");
            return call.Return(_interpreter.Session.User.Check(row, _calls.Request).IsAllowed);
        }
        finally
        {
            _calls.Forget();
        }
    }

    /// <summary>Reads the first argument as a number or as a text that is one. Parsing a text counts as work.</summary>
    private static bool RedisNumberOf(ref LuaCall call, out double number)
    {
        LuaValue value = call[1];
        number = value.AsNumber;
        if (value.AsString is not { } text) return value.IsNumber;
        call.State.CountWork(text.Length);
        return RedisNumber.TryParseDouble(text.Span, out number);
    }
}
