using RedisClone.Engine.Scripting;
using RedisClone.Lua.Libraries;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Scripting;

/// <summary>A script or function leaves no state that a later script or function can see, independent of the users.</summary>
public sealed class ScriptIsolationTests
{
    /// <summary>Reports the behaviour of each stateful part of the interpreter.</summary>
    private const string Probe = """
        local function show(f, ...)
          local ok, a, b, c = pcall(f, ...)
          local function text(v) return type(v) == 'number' and v or type(v) == 'string' and v or type(v) end
          return tostring(ok) .. ' ' .. text(a) .. ' ' .. text(b) .. ' ' .. text(c)
        end
        local seen = {}
        for _, name in ipairs{'encode_max_depth', 'decode_max_depth', 'encode_number_precision', 'encode_keep_buffer',
            'encode_invalid_numbers', 'decode_invalid_numbers', 'encode_sparse_array'} do
          seen[#seen + 1] = name .. ' ' .. show(cjson[name])
        end
        seen[#seen + 1] = show(cjson.encode, {{{1}}})
        seen[#seen + 1] = show(cjson.encode, {[1000] = 1})
        seen[#seen + 1] = show(cjson.encode, {1 / 3})
        seen[#seen + 1] = show(cjson.encode, {1 / 0})
        seen[#seen + 1] = show(cjson.decode, '[[[1]]]')
        seen[#seen + 1] = show(('x').rep, 'x', 2)
        seen[#seen + 1] = show(loadstring, 'return redis ~= nil and planted == nil')
        seen[#seen + 1] = show(loadstring('return redis.call ~= nil and rawget(_G, "planted") == nil'))
        seen[#seen + 1] = show(loadstring('return rawget(_G, "KEYS") and #KEYS, rawget(_G, "ARGV") and #ARGV'))
        seen[#seen + 1] = tostring(coroutine.running()) .. tostring(redis.call('get', 'p'))
        return table.concat(seen, '\n')
        """;

    private static string Library(string name, string body) =>
        $"#!lua name={name}\nredis.register_function('{name}', function(keys, args) {body} end)";

    public static TheoryData<string> Attacks =>
    [
        "setfenv(0, {redis = {call = function() return 'stolen' end}, planted = 1})",
        "setfenv(1, {redis = {call = function() return 'stolen' end}})",
        "getfenv(0).planted = 1",
        "getfenv(redis.call).planted = 1",
        "coroutine.wrap(function() setfenv(0, {}) end)()",
        "return tostring(newproxy(true))",
        "cjson.encode_max_depth(1)",
        "cjson.decode_max_depth(1)",
        "cjson.encode_number_precision(3)",
        "cjson.encode_keep_buffer(false)",
        "cjson.encode_invalid_numbers('null')",
        "cjson.decode_invalid_numbers(false)",
        "cjson.encode_sparse_array(true, 1, 1)",
        "pcall(cjson.encode_max_depth, 1) error('x')",
        "cjson.encode_max_depth(1) coroutine.wrap(function() error('x') end)()",
        "redis.setresp(3) redis.set_repl(redis.REPL_NONE) math.randomseed(1)",
        "xpcall(function() error(1) end, function() cjson.encode_max_depth(1) error(2) end)",
        "loadstring('planted = 1')()",
        "rawset(_G, 'planted', 1)",
        "table.insert(_G, 1)",
        "table.sort(KEYS or {}, function() planted = 1 end)",
        "setmetatable(_G, {__index = function() return 'stolen' end})",
        "setmetatable(cjson, {__index = function() return 'stolen' end})",
        "getmetatable(_G).__index = function() return 'stolen' end",
        "for _, t in ipairs{string, table, math, bit, struct, cjson, cmsgpack, os, redis, server} do t.planted = 1 end",
    ];

    [Theory]
    [MemberData(nameof(Attacks))]
    public async Task AnAttackIsNotVisibleToTheNextUser(string attack)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient victim = server.Connect(), attacker = server.Connect();
        victim.Run("SET p secret");
        victim.Call("FUNCTION", "LOAD", Library("probe", Probe));
        victim.Call("FUNCTION", "LOAD", Library("attack", attack));
        Assert.Equal("OK", victim.Run("ACL SETUSER u on >p ~k +eval +evalsha +script|load +fcall +get"));
        Assert.Equal("OK", attacker.Run("AUTH u p"));
        string evaluated = victim.Call("EVAL", Probe, "1", "k", "a"), called = victim.Run("FCALL probe 1 k a");
        Assert.Contains("secret", evaluated, StringComparison.Ordinal);

        attacker.Call("EVAL", attack, "0");
        attacker.Call("EVAL", attack, "1", "k", "v");
        attacker.Run("FCALL attack 0");
        attacker.Run($"EVALSHA {attacker.Call("SCRIPT", "LOAD", attack)} 0");

        Assert.Equal(evaluated, victim.Call("EVAL", Probe, "1", "k", "a"));
        Assert.Equal(evaluated, victim.Call("EVAL", Probe + "\n-- compiled anew", "1", "k", "a"));
        Assert.Equal(called, victim.Run("FCALL probe 1 k a"));
        Assert.Equal("OK", victim.Run("SCRIPT FLUSH"));
        Assert.Equal(evaluated, victim.Call("EVAL", Probe, "1", "k", "a"));
    }

    [Theory]
    [InlineData("setfenv")]
    [InlineData("getfenv")]
    [InlineData("newproxy")]
    [InlineData("debug")]
    [InlineData("package")]
    [InlineData("require")]
    [InlineData("module")]
    [InlineData("dofile")]
    [InlineData("loadfile")]
    [InlineData("print")]
    [InlineData("io")]
    public async Task NamesThatRedisDoesNotExposeDoNotExist(string name)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Call("FUNCTION", "LOAD", Library("f", $"return {name}"));
        string expected = $"Script attempted to access nonexistent global variable '{name}'";
        Assert.Contains(expected, client.Call("EVAL", $"return {name}", "0"), StringComparison.Ordinal);
        Assert.Contains(expected, client.Run("FCALL f 0"), StringComparison.Ordinal);
        Assert.Equal("nil", client.Call("EVAL", $"return rawget(_G, '{name}')", "0"));
    }

    [Fact]
    public async Task AFunctionDoesNotSeeTheKeysAndArgumentsOfAnEarlierScript()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Call("FUNCTION", "LOAD", Library("f", "return loadstring('return ARGV[1]')()"));
        client.Call("FUNCTION", "LOAD", Library("g", "return loadstring('return _G.KEYS')()"));
        client.Call("FUNCTION", "LOAD", Library("same", "return loadstring('return _G')() == _G"));
        const string made = "return coroutine.wrap(function() return loadstring('return _G')() == _G end)()";
        client.Call("FUNCTION", "LOAD", Library("made", made));
        Assert.Equal("nil", client.Call("EVAL", "return redis.call('get', KEYS[1])", "1", "k", "secret"));
        Assert.Contains("nonexistent global variable 'ARGV'", client.Run("FCALL f 0"), StringComparison.Ordinal);
        Assert.Contains("nonexistent global variable 'KEYS'", client.Run("FCALL g 0"), StringComparison.Ordinal);
        Assert.Equal("1", client.Run("FCALL same 0"));
        Assert.Equal("1", client.Run("FCALL made 0"));
        Assert.Equal("secret", client.Call("EVAL", "return loadstring('return ARGV[1]')()", "1", "k", "secret"));
    }

    [Fact]
    public async Task RandomNumbersOfAScriptDoNotDependOnEarlierScripts()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        const string seeded = "math.randomseed(7) return tostring(math.random())", draw = "return tostring(math.random())";
        client.Call("FUNCTION", "LOAD", Library("draw", draw));
        string first = client.Call("EVAL", seeded, "0");
        Assert.Equal(first, client.Call("EVAL", seeded, "0"));
        string second = client.Call("EVAL", "math.randomseed(7) math.random() return tostring(math.random())", "0");
        client.Call("EVAL", seeded, "0");
        string next = client.Call("EVAL", draw, "0");
        Assert.NotEqual(second, next);
        client.Call("EVAL", seeded, "0");
        Assert.NotEqual(second, client.Run("FCALL draw 0"));
        // As in Redis 7, two runs draw different numbers.
        Assert.NotEqual(next, client.Call("EVAL", draw, "0"));
    }

    [Fact]
    public async Task TheVariablesOfALibraryArePrivate()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Call("FUNCTION", "LOAD", """
            #!lua name=counter
            local n, json = 0, nil
            redis.register_function('count', function() n = n + 1 return n end)
            redis.register_function('own', function()
              json = json or cjson.new()
              local before = json.encode_max_depth()
              json.encode_max_depth(7)
              return {before, cjson.encode_max_depth()}
            end)
            local steps
            redis.register_function('step', function()
              steps = steps or coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
              return steps()
            end)
            """);
        Assert.Equal("1", client.Run("FCALL count 0"));
        Assert.Equal("2", client.Run("FCALL count 0"));
        Assert.Equal("[1000 1000]", client.Run("FCALL own 0"));
        Assert.Equal("[7 1000]", client.Run("FCALL own 0"));
        Assert.Equal("1", client.Run("FCALL step 0"));
        client.Call("EVAL", "error('x')", "0");
        Assert.Equal("2", client.Run("FCALL step 0"));
        const string depths = "return {cjson.encode_max_depth(), cjson.new().encode_max_depth()}";
        Assert.Equal("[1000 1000]", client.Call("EVAL", depths, "0"));
    }
}
