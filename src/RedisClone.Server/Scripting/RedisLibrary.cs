using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Lua;
using RedisClone.Protocol;
using RedisClone.Server.Admin;
using RedisClone.Server.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Scripting;

/// <summary>The table `redis` of scripts: how they call commands and speak to the server.</summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "Lives as long as the server.")]
internal sealed class RedisLibrary
{
    private static readonly (string Name, LogLevel Level)[] LogLevels =
        [("LOG_DEBUG", LogLevel.Debug), ("LOG_VERBOSE", LogLevel.Debug), ("LOG_NOTICE", LogLevel.Information), ("LOG_WARNING", LogLevel.Warning)];

    private const string BadArguments = "ERR Lua redis lib command arguments must be strings or integers";

    private readonly ScriptEngine _engine;
    private readonly OwnedRequest _request = new();

    public RedisLibrary(ScriptEngine engine)
    {
        _engine = engine;
        LuaState state = engine.State;
        LuaTable redis = state.TryNewTable()!;
        Add("call", Call);
        Add("pcall", ProtectedCall);
        Add("sha1hex", Sha1Hex);
        Add("error_reply", ErrorReply);
        Add("status_reply", StatusReply);
        Add("log", Log);
        Add("setresp", SetResp);
        Add("replicate_commands", static (ref LuaCall call) => call.Return(true));
        Add("set_repl", static (ref LuaCall call) => 0);
        Add("acl_check_cmd", CheckCommand);
        Add("breakpoint", static (ref LuaCall call) => call.Return(false));
        Add("debug", static (ref LuaCall call) => 0);
        for (int i = 0; i < LogLevels.Length; i++) state.SetField(redis, LogLevels[i].Name, new LuaValue(i));
        (string Name, int Value)[] replication = [("REPL_NONE", 0), ("REPL_AOF", 1), ("REPL_SLAVE", 2), ("REPL_REPLICA", 2), ("REPL_ALL", 3)];
        foreach ((string name, int value) in replication) state.SetField(redis, name, new LuaValue(value));
        state.SetField(redis, "REDIS_VERSION", state.Name(ServerVersion.Redis));
        state.SetField(redis, "REDIS_VERSION_NUM", new LuaValue(VersionNumber(ServerVersion.Redis)));
        state.SetField(state.Globals, "redis", redis);
        state.SetField(state.Globals, "server", redis);

        void Add(string name, LuaHostBody body) => state.SetField(redis, name, new LuaHostFunction(body));
    }

    private static int VersionNumber(string version)
    {
        int[] parts = [.. version.Split('.').Select(int.Parse)];
        return parts[0] << 16 | parts[1] << 8 | parts[2];
    }

    private int Call(ref LuaCall call) => Command(ref call, raise: true);

    private int ProtectedCall(ref LuaCall call) => Command(ref call, raise: false);

    private int Command(ref LuaCall call, bool raise)
    {
        if (call.Count == 0) return Fail(ref call, raise, "ERR Please specify at least one argument for this redis lib call");
        if (!TryReadArguments(ref call)) return Fail(ref call, raise, BadArguments);
        if (Refuse(_request.AsRequest(), out CommandRow? row) is { } refusal) return Fail(ref call, raise, refusal);
        return Run(ref call, raise, row!);
    }

    /// <summary>Takes the call's arguments as a request's; false where one is neither a string nor a number.</summary>
    private bool TryReadArguments(ref LuaCall call)
    {
        _request.Reset();
        Span<byte> digits = stackalloc byte[64];
        for (int i = 1; i <= call.Count; i++)
        {
            LuaValue argument = call[i];
            if (argument.AsString is { } text) _request.Append(text.Span);
            else if (argument.IsNumber) _request.Append(digits[..Encoding.ASCII.GetBytes(LuaReplies.Argument(argument.AsNumber), digits)]);
            else return false;
        }
        return true;
    }

    private string? Refuse(in Request request, out CommandRow? row)
    {
        row = _engine.Server.Commands.Resolve(request);
        if (row is null) return "ERR Unknown Redis command called from script";
        if (row.Handler is null || !row.ArityFits(request.Count)) return "ERR Wrong number of args calling Redis command from script";
        if (row.Has(CommandFlags.NoScript)) return "ERR This Redis command is not allowed from script";
        if (!_engine.Caller!.User.IsUnrestricted && _engine.Server.Access.RefuseInScript(_engine.Caller, row, request) is { } denial) return denial;
        if (row.IsWrite && _engine.ReadOnly) return "ERR Write commands are not allowed from read-only scripts.";
        bool mayOverflow = (_engine.Current!.Flags & ScriptFlags.AllowOom) != 0 || _engine.HasWritten;
        return row.Has(CommandFlags.DenyOom) && !mayOverflow && _engine.Server.Eviction.MustRefuse ? Errors.OutOfMemory : null;
    }

    private int Run(ref LuaCall call, bool raise, CommandRow row)
    {
        Request request = _request.AsRequest();
        long started = Stopwatch.GetTimestamp();
        ulong hash = row.FirstKey > 0 && row.FirstKey < request.Count ? KeyHash.Of(request[row.FirstKey]) : 0;
        _engine.Output.ResetWrittenCount();
        _engine.Server.Monitors.Show(_engine.Session, "lua", row, request);
        if (row.IsWrite) _engine.NoteWrite();
        _engine.Server.Executor.RunPart(_engine.Session, row, request, hash, _engine.Now, _engine.Lane, onWorker: true, ref started);
        _engine.Session.Reply.Commit();
        if (_engine.Replies.ToLua(_engine.Output.WrittenSpan) is not { } value) return call.Error("not enough memory");
        if (raise && value.AsTable is { } table && !table[_engine.Replies.Err].IsNil) return call.Raise(value);
        return call.Return(value);
    }

    private int Fail(ref LuaCall call, bool raise, string error)
    {
        LuaTable? table = call.State.TryNewTable(0, 1);
        if (table is null || !call.State.TrySet(table, _engine.Replies.Err, LuaString.From(error))) return call.Error("not enough memory");
        return raise ? call.Raise(table) : call.Return(table);
    }

    private static int Sha1Hex(ref LuaCall call)
    {
        if (call.Count != 1) return call.Error("wrong number of arguments");
        string digest = Script.DigestOf(call.CheckString(1).Span);
        return call.Failed ? 0 : call.Return(LuaString.From(digest));
    }

    private int ErrorReply(ref LuaCall call)
    {
        if (call.Count != 1 || call[1].AsString is not { } text) return Fail(ref call, raise: false, "ERR wrong number or type of arguments");
        string words = text.ToString();
        if (words.StartsWith('-')) words = words[1..];
        // The first of several words is the error's code; a single word has none.
        if (!words.Contains(' ', StringComparison.Ordinal)) words = "ERR " + words;
        return Fail(ref call, raise: false, words);
    }

    private int StatusReply(ref LuaCall call)
    {
        if (call.Count != 1 || call[1].AsString is not { } text) return Fail(ref call, raise: false, "ERR wrong number or type of arguments");
        LuaTable? table = call.State.TryNewTable(0, 1);
        if (table is null || !call.State.TrySet(table, _engine.Replies.Ok, text)) return call.Error("not enough memory");
        return call.Return(table);
    }

    private int Log(ref LuaCall call)
    {
        if (call.Count < 2) return call.Error("redis.log() requires two arguments or more.");
        if (!call[1].IsNumber) return call.Error("First argument must be a number (log level).");
        int level = call.CheckInt(1);
        if (level < 0 || level >= LogLevels.Length) return call.Error("Invalid log level.");
        var words = new List<string>();
        for (int i = 2; i <= call.Count; i++) words.Add(call[i].IsNumber || call[i].AsString is not null ? call.CheckString(i).ToString() : "");
#pragma warning disable CA2254 // The text is the script's own.
        _engine.Server.Log.Log(LogLevels[level].Level, "{Text}", string.Join(' ', words));
#pragma warning restore CA2254
        return 0;
    }

    private int SetResp(ref LuaCall call)
    {
        if (call.Count != 1) return call.Error("redis.setresp() requires one argument.");
        int version = call.CheckInt(1);
        if (version is not (2 or 3)) return call.Error("RESP version must be 2 or 3.");
        _engine.Session.Reply.Version = version;
        return 0;
    }

    private int CheckCommand(ref LuaCall call)
    {
        if (call.Count == 0) return Fail(ref call, raise: true, "ERR Please specify at least one argument for this redis lib call");
        if (!TryReadArguments(ref call)) return Fail(ref call, raise: true, BadArguments);
        Request request = _request.AsRequest();
        if (_engine.Server.Commands.Resolve(request) is not { } row) return Fail(ref call, raise: true, "ERR Invalid command passed to redis.acl_check_cmd()");
        return call.Return(_engine.Session.User.Check(row, request).IsAllowed);
    }
}
