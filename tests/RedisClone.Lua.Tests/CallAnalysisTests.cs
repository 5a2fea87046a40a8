using System.Text;
using RedisClone.Lua.Analysis;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Tests;

/// <summary>Which calls the analysis finds in a chunk, what it knows about their arguments, and which chunks it refuses.</summary>
public sealed class CallAnalysisTests
{
    private static readonly AnalysisNames s_names = new("KEYS", ["redis", "server"], ["call", "pcall"], ["ARGV"]);

    /// <summary>The calls as text: <c>K</c> for a key, <c>?</c> for an unknown value, a constant as it is, <c>*</c> after the kind of the rest.</summary>
    private static string? Find(string source)
    {
        var state = new LuaState();
        LuaFunction? chunk = state.Compile(Encoding.Latin1.GetBytes(source), "@user_script", out LuaError error);
        Assert.True(chunk is not null, error.Value.AsString?.ToString());
        return CallAnalysis.Find(chunk, s_names) is { } sites ? string.Join("; ", sites.Select(Show)) : null;
    }

    private static string Show(CallSite site)
    {
        IEnumerable<string> shown = site.Arguments.Select(static a => a.Kind switch
        {
            ArgumentOrigin.Key => "K",
            ArgumentOrigin.Constant => a.Constant.AsString?.ToString() ?? FormattableString.Invariant($"{a.Constant.AsNumber}"),
            _ => "?",
        });
        if (site.Rest is { } rest) shown = shown.Append(rest == ArgumentOrigin.Key ? "K*" : "?*");
        return string.Join(' ', shown);
    }

    [Theory]
    [InlineData("return 1", "")]
    [InlineData("return redis.call('get', KEYS[1])", "get K")]
    [InlineData("return server.pcall('get', KEYS[ARGV[1]])", "get K")]
    [InlineData("redis.call('set', KEYS[1], ARGV[1]) redis.call('expire', KEYS[1], 5)", "set K ?; expire K 5")]
    [InlineData("local k = KEYS[1] return redis.call('get', k)", "get K")]
    [InlineData("local k, v = KEYS[1], ARGV[1] return redis.call('set', k, v, 'EX', '10')", "set K ? EX 10")]
    [InlineData("local call = redis.call local c = 'get' return call(c, KEYS[1])", "get K")]
    [InlineData("local r = redis local keys = KEYS r.call('get', keys[2])", "get K")]
    [InlineData("local k if ARGV[1] == '1' then k = KEYS[1] else k = KEYS[2] end return redis.call('get', k)", "get K")]
    [InlineData("return redis.call('get', KEYS[2] or KEYS[1])", "get K")]
    [InlineData("for i, k in ipairs(KEYS) do redis.call('incr', k) end", "incr K")]
    [InlineData("for _, k in pairs(KEYS) do if redis.call('exists', k) == 1 then break end end", "exists K")]
    [InlineData("for i = 1, #KEYS do redis.call('del', KEYS[i]) end", "del K")]
    [InlineData("return redis.call('del', unpack(KEYS))", "del K*")]
    [InlineData("return redis.call('mget', KEYS[1], unpack(KEYS, 2, #KEYS))", "mget K K*")]
    [InlineData("return redis.call('mset', unpack(ARGV))", "mset ?*")]
    [InlineData("local a, b = unpack(KEYS) return redis.call('rename', a, b)", "rename K K")]
    [InlineData("return redis.call('zunionstore', KEYS[1], 2, KEYS[2], KEYS[3])", "zunionstore K 2 K K")]
    [InlineData("return redis.call('get', KEYS[1] .. ':x')", "get ?")]
    [InlineData("return redis.call('get', 'literal')", "get literal")]
    [InlineData("return redis.call(ARGV[1], KEYS[1])", "? K")]
    [InlineData("local call = redis.call local function f() return call('get', KEYS[1]) end return f()", "get K")]
    [InlineData("local k = KEYS[1] return pcall(function() return redis.call('get', k) end)", "get K")]
    [InlineData("local function f(n) if n > 0 then redis.call('incr', KEYS[n]) return f(n - 1) end end f(3)", "incr K")]
    [InlineData("return string.gsub('a', 'a', function(m) return redis.call('get', m) end)", "get ?")]
    [InlineData("return coroutine.wrap(function(k) return redis.call('get', k) end)(KEYS[1])", "get ?")]
    [InlineData("local t = setmetatable({}, {__index = function(t, k) return redis.call('get', k) end}) return t[KEYS[1]]", "get ?")]
    [InlineData("local k = KEYS[1] k = ARGV[1] return redis.call('get', k)", "get ?")]
    [InlineData("local k = KEYS[1] local function f() k = ARGV[1] end f() return redis.call('get', k)", "get ?")]
    [InlineData("local k = KEYS[1] local function f() return redis.call('get', k) end k = ARGV[1] return f()", "get ?")]
    [InlineData("local k = KEYS[1] while ARGV[1] do redis.call('get', k) k = ARGV[2] end", "get ?")]
    [InlineData("local k = KEYS[1] for i = 1, 2 do local g = function() return k end redis.call('get', g()) end", "get ?*")]
    [InlineData("local k = KEYS[1] do local k = 'x' redis.call('get', k) end redis.call('get', k)", "get x; get K")]
    [InlineData("local f f = function() return f end local g local h = function() g = KEYS[1] end h() redis.call('get', g)", "get K")]
    [InlineData("local t = {KEYS[1]} t[1] = 'x' return redis.call('get', t[1])", "get ?")]
    [InlineData("local k = KEYS[1] local a = {} a.k, k = k, 'z' redis.call('get', k)", "get z")]
    [InlineData("repeat local k = KEYS[1] local f = function() return k end until redis.call('get', k)", "get K")]
    [InlineData("return redis.sha1hex(redis.call('get', KEYS[1]))", "get K")]
    [InlineData("local t = redis.call('time') return redis.call('set', KEYS[1], t[1])", "time; set K ?")]
    [InlineData("local function f(...) return redis.call('get', ...) end return f(KEYS[1])", "get ?*")]
    [InlineData("local k = ARGV[1] and KEYS[1] return redis.call('get', k)", "get ?")]
    public void CallsAreFound(string source, string calls) => Assert.Equal(calls, Find(source));

    [Theory]
    [InlineData("KEYS[1] = 'x' return redis.call('get', KEYS[1])")]
    [InlineData("KEYS.x = 1")]
    [InlineData("KEYS = {'x'} return redis.call('get', KEYS[1])")]
    [InlineData("local k = KEYS k[1] = 'x' return redis.call('get', KEYS[1])")]
    [InlineData("table.insert(KEYS, 1, 'x') return redis.call('get', KEYS[1])")]
    [InlineData("rawset(KEYS, 1, 'x') return redis.call('get', KEYS[1])")]
    [InlineData("setmetatable(KEYS, {__index = function() return 'x' end}) return redis.call('get', KEYS[9])")]
    [InlineData("local t = {KEYS} t[1][1] = 'x' return redis.call('get', KEYS[1])")]
    [InlineData("local function f(t) t[1] = 'x' end f(KEYS) return redis.call('get', KEYS[1])")]
    [InlineData("local function f() return KEYS end f()[1] = 'x'")]
    [InlineData("local t = {} t.keys = KEYS")]
    [InlineData("local k = ARGV[1] and KEYS or {} return redis.call('get', k[1])")]
    [InlineData("local k = {} if ARGV[1] then k = KEYS end return redis.call('get', k[1])")]
    [InlineData("return loadstring(\"return redis.call('get', 'x')\")()")]
    [InlineData("return load(function() return nil end)")]
    [InlineData("return _G.redis.call('get', 'x')")]
    [InlineData("return _G['KEYS']")]
    [InlineData("return redis[ARGV[1]]('get', 'x')")]
    [InlineData("return rawget(redis, 'call')('get', 'x')")]
    [InlineData("return pcall(redis.call, 'get', 'x')")]
    [InlineData("return xpcall(redis.call, error)")]
    [InlineData("local t = {call = redis.call} return t.call('get', 'x')")]
    [InlineData("local t = {redis.call} return t[1]('get', 'x')")]
    [InlineData("local t = setmetatable({}, {__call = redis.call}) return t('get', 'x')")]
    [InlineData("local t = setmetatable({}, {__index = redis}) return t.call('get', 'x')")]
    [InlineData("return string.gsub('x', 'x', redis.call)")]
    [InlineData("return coroutine.wrap(redis.call)('get', 'x')")]
    [InlineData("local c = redis.call if ARGV[1] then c = tostring end return c('get', KEYS[1])")]
    [InlineData("local c = tostring local function f() return c('get', 'x') end c = redis.call return f()")]
    [InlineData("local c local function set(v) c = redis.call end local function f() return c('get', 'x') end c = tostring return f()")]
    [InlineData("local function f() return redis.call end return f()('get', 'x')")]
    [InlineData("local function f() return redis end return f().call('get', 'x')")]
    [InlineData("return (function(...) return ... end)(redis.call)")]
    [InlineData("for k, f in pairs(redis) do f('get', 'x') end")]
    [InlineData("for k, v in next, KEYS do redis.call('get', v) end")]
    [InlineData("local a, b, c = pairs(KEYS) b[1] = 'x'")]
    [InlineData("local t = {pairs(KEYS)} t[2][1] = 'x'")]
    [InlineData("local t = {ipairs(KEYS)} return t")]
    [InlineData("redis.call = tostring")]
    [InlineData("function call() end")]
    [InlineData("return redis:call('get')")]
    [InlineData("return unknown")]
    [InlineData("return getfenv(1)")]
    [InlineData("local p = ipairs if ARGV[1] then p = pairs end for _, k in (p or next)(KEYS) do redis.call('get', k) end return KEYS")]
    [InlineData("error(KEYS)")]
    [InlineData("coroutine.yield(KEYS)")]
    public void AChunkThatUsesGuardedValuesOtherwiseIsRefused(string source) => Assert.Null(Find(source));

    [Fact]
    public void AVeryLargeChunkIsRefused()
    {
        var source = new StringBuilder();
        for (int i = 0; i < 100; i++) source.Append(System.Globalization.CultureInfo.InvariantCulture, $"local v{i} = {i} ");
        for (int i = 0; i < 40_000; i++) source.Append("v1 = v2 ");
        Assert.Null(Find(source.ToString()));
    }
}
