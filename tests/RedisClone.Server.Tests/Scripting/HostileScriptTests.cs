using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Scripting;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Scripting;

/// <summary>Hostile scripts from clients. Each script gets an error or a limited result, and other clients are served.</summary>
public sealed class HostileScriptTests
{
    [Fact]
    public async Task EachAttackGetsItsReplyAndTheServerContinues()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        (string Script, string Answer)[] attacks =
        [
            ("local function f() return 1 + f() end return f()", "stack overflow"),
            ("return string.rep('x', 2147483647)", "not enough memory"),
            ("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end", "not enough memory"),
            ("return unpack({}, 0, 2147483647)", "too many results to unpack"),
            ("return loadstring(string.dump(function() end))()", "attempt to call a nil value"),
            ("return loadstring('\\27Lua\\81\\0')()", "attempt to call a nil value"),
            ("return cjson.decode(('['):rep(1e6))", "Found too many nested data structures (1001)"),
            ("return cmsgpack.unpack('\\221\\255\\255\\255\\255')", "Missing bytes in input."),
            ("return [===[ ]==]", "unfinished long string"),
            ("return redis.error_reply('E x\\r\\n+OK\\r\\n')", "E x  +OK"),
            ("return redis.status_reply('x\\r\\n-ERR y')", "x  -ERR y"),
            ("return {err = 'E x\\r\\n:1'}", "E x  :1"),
            ("local t = {} t[1] = t return {t[1] == t, #t}", "[1 1]"),
            ("return redis.call('keys', ('*?'):rep(50000))", "[]"),
            ("return string.find(('a'):rep(5000), ('a?'):rep(100000))", "pattern too complex"),
            ("return redis.call(unpack({}, 1, 7000))", "arguments must be strings or integers"),
            ("redis.call('eval', 'return 1', 0)", "This Redis command is not allowed from script"),
            ("return redis.call('multi')", "This Redis command is not allowed from script"),
            ("return redis.call('himport', 'prepare', 'list', 'field')", "This Redis command is not allowed from script"),
            ("return redis.call('himport', 'set', 'key', 'list', 'value')", "This Redis command is not allowed from script"),
            ("getmetatable('').__index = function() return 'stolen' end", "Attempt to modify a readonly table"),
        ];
        client.Run("SET k v");
        foreach ((string script, string answer) in attacks)
        {
            Assert.Contains(answer, client.Call("EVAL", script, "0"), StringComparison.Ordinal);
            Assert.Equal("v", client.Run("GET k"));
        }
    }

    [Fact]
    public async Task EndlesslyNestedTablesAreCutAtTheDepthOfRedis()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), other = server.Connect();
        client.Send("EVAL", "local t = {} t[1] = t return t", "0");
        client.SendRaw("QUIT\r\n");
        string reply = client.ReadToEnd();
        Assert.EndsWith("*1\r\n-ERR reached lua stack limit\r\n+OK\r\n", reply, StringComparison.Ordinal);
        Assert.Equal("PONG", other.Run("PING"));
    }

    [Theory]
    [InlineData("local t = {} t[1] = t t[2] = t return t")]
    [InlineData("local t = {1} for i = 1, 60 do t = {t, t} end return t")]
    [InlineData("local s = ('x'):rep(1e7) local t = {} for i = 1, 1000 do t[i] = s end return t")]
    [InlineData("local s = ('x'):rep(1e7) local t = {} for i = 1, 1000 do t[i] = {ok = s} end return t")]
    [InlineData("local t = {} t.map = {a = t, b = t} return t")]
    public async Task AnEndlessReplyIsAnError(string script)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal("ERR not enough memory for the script's reply", client.Call("EVAL", script, "0"));
        Assert.Equal("PONG", client.Run("PING"));
        Assert.Equal("OK", client.Run("MULTI"));
        client.Call("EVAL", script, "0");
        client.Run("SET k v");
        Assert.Equal("[ERR not enough memory for the script's reply OK]", client.Run("EXEC"));
    }

    [Fact]
    public async Task ALongReplyIsComplete()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Send("EVAL", "local t = {} for i = 1, 5e6 do t[i] = 1 end return t", "0");
        client.SendRaw("QUIT\r\n");
        string reply = client.ReadToEnd();
        Assert.StartsWith("*5000000\r\n:1\r\n", reply, StringComparison.Ordinal);
        Assert.Equal("*5000000\r\n".Length + 5_000_000 * ":1\r\n".Length + "+OK\r\n".Length, reply.Length);
    }

    [Fact]
    public async Task RepliesAndArgumentsOfCommandsCountAsMemory()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        const string fill = "for i = 1, 200 do redis.call('rpush', 'l', ('x'):rep(1e6)) end return redis.call('llen', 'l')";
        const string keepAll = "local t = {} for i = 1, 20 do t[i] = redis.call('lrange', 'l', 0, -1) end";
        Assert.Equal("200", client.Call("EVAL", fill, "0"));
        Assert.Contains("not enough memory", client.Call("EVAL", keepAll, "0"), StringComparison.Ordinal);
        Assert.Equal("200", client.Call("EVAL", "return #redis.call('lrange', 'l', 0, -1)", "0"));
        // After a truncated reply, the next reply is complete.
        Assert.Equal("[false 200 x]", client.Call("EVAL", """
            local s = ('x'):rep(9e8)
            local ok = pcall(redis.call, 'lrange', 'l', 0, -1)
            s = nil
            collectgarbage()
            return {tostring(ok), #redis.call('lrange', 'l', 0, -1), redis.call('getrange', 'k', 0, -1) .. 'x'}
            """, "0"));
        Assert.Equal("OK", client.Call("EVAL", "return redis.call('set', 'k', ('x'):rep(3e7))", "0"));
        Assert.Equal("30000000", client.Run("STRLEN k"));
    }

    [Theory]
    [InlineData("redis.error_reply(s)")]
    [InlineData("redis.error_reply(s .. ' x')")]
    [InlineData("redis.log(redis.LOG_WARNING, s)")]
    [InlineData("redis.log(redis.LOG_WARNING, 'a', s, 1)")]
    [InlineData("pcall(redis.log, s, 'a')")]
    [InlineData("pcall(redis.setresp, s)")]
    [InlineData("pcall(redis.set_repl, s)")]
    [InlineData("redis.sha1hex(s)")]
    [InlineData("pcall(redis.acl_check_cmd, 'get', s)")]
    [InlineData("pcall(redis.acl_check_cmd, s)")]
    [InlineData("redis.pcall(s)")]
    [InlineData("redis.pcall('ping', s)")]
    public async Task CallsCountTheLengthOfTheirArgumentsAsSteps(string call)
    {
        const int calls = 20;
        await using RunningServer server = await StartWithLogAsync();
        using TestClient client = server.Connect();
        // Each call counts as more steps than one budget period.
        string script = $"local s = ('1'):rep({1 << 20}) for i = 1, {calls} do {call} end return 'done'";
        Assert.InRange(PeriodsOf(server, () => Assert.Equal("done", client.Call("EVAL", script, "0"))), calls, int.MaxValue);
    }

    [Fact]
    public async Task RegistrationsCountTheLengthOfTheirTextsAsSteps()
    {
        const int calls = 20;
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        string library = $$"""
            #!lua name=l
            local text, none = ('x'):rep(1e6), function() end
            for i = 1, {{calls}} do redis.register_function{function_name = 'f' .. i, description = text, callback = none} end
            """;
        Assert.InRange(PeriodsOf(server, () => Assert.Equal("l", client.Call("FUNCTION", "LOAD", library))), calls, int.MaxValue);
    }

    [Fact]
    public async Task AMessageBelowTheLogLevelTakesNoMemory()
    {
        await using RunningServer server = await StartWithLogAsync();
        using TestClient client = server.Connect();
        const string script = """
            local s, t = ('x'):rep(1e6), {}
            for i = 1, 1000 do t[i] = s end
            return {tostring(pcall(redis.log, redis[ARGV[1]], unpack(t)))}
            """;
        Assert.Equal("[true]", client.Call("EVAL", script, "0", "LOG_NOTICE"));
        Assert.Equal("[false]", client.Call("EVAL", script, "0", "LOG_WARNING"));
        Assert.Contains("Invalid log level", client.Call("EVAL", "redis.log(4, 'x')", "0"), StringComparison.Ordinal);
    }

    /// <summary>Starts a server that logs warnings to /dev/null.</summary>
    private static Task<RunningServer> StartWithLogAsync() => RunningServer.StartAsync(TransportKind.EventLoop, config =>
    {
        config.LogLevel = ServerLogLevel.Warning;
        config.LogFile = "/dev/null";
    });

    /// <summary>Returns how many times the budget callback of scripts is called during an action.</summary>
    private static int PeriodsOf(RunningServer server, Action action)
    {
        LuaState state = server.Core.Scripts.State;
        Func<LuaState, LuaString?> ask = state.OnBudget!;
        int periods = 0;
        state.OnBudget = _ =>
        {
            periods++;
            return null;
        };
        action();
        state.OnBudget = ask;
        return periods;
    }

    [Fact]
    public async Task ScriptsOfEvalReplaceEachOtherInTheCache()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        string kept = client.Run("SCRIPT LOAD return'kept'");
        for (int i = 0; i < 3 * Limits.PassingScripts; i++) Assert.Equal($"{i}", client.Call("EVAL", $"return {i}", "0"));
        Assert.InRange(server.Core.Scripts.Cache.Count, Limits.PassingScripts, Limits.PassingScripts + 1);
        Assert.Equal("kept", client.Run($"EVALSHA {kept} 0"));
        Assert.Equal("return'kept'", client.Run($"SCRIPT SHOW {kept.ToUpperInvariant()}"));
        Assert.Equal("[1 0]", client.Run($"SCRIPT EXISTS {kept} {new string('0', 40)}"));
        Assert.Equal("OK", client.Run("SCRIPT FLUSH"));
        Assert.Equal("NOSCRIPT No matching script. Please use EVAL.", client.Run($"EVALSHA {kept} 0"));
    }
}
