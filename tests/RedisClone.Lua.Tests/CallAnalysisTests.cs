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

    /// <summary>
    /// The work is limited also before a function is followed. Without the limit, the first source takes minutes: each closure is looked for
    /// in the code for each of its variables.
    /// </summary>
    [Theory]
    [InlineData("local a, b, c, d, e, f, g, h, i, j = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 local t = {", "function() return a, b, c, d, e, f, g, h, i, j end, ", "}")]
    [InlineData("local f ", "do local a = 1 f = function() return a end end ", "")]
    public void TheWorkOnManyClosuresIsLimited(string head, string part, string tail) =>
        Assert.Null(Find(head + string.Concat(Enumerable.Repeat(part, 60_000)) + tail));

    /// <summary>A function that receives itself, or another function that receives it, is released once. The recursion had no end.</summary>
    [Theory]
    [InlineData("local g = function(x) end g(g) pcall(g) redis.call('get', KEYS[1])")]
    [InlineData("local function g(x) return 1 end g(g) local t = {g} redis.call('get', KEYS[1])")]
    [InlineData("local function g(x) return g end g(g) redis.call('get', KEYS[1]) return g")]
    [InlineData("local f, g = function(x) end, function(x) end f(g) g(f) pcall(f) redis.call('get', KEYS[1])")]
    [InlineData("local f, g = function(x) end, function(x) end f(g) g(f) local h = f if ARGV[1] then h = g end h() redis.call('get', KEYS[1])")]
    [InlineData("local function f(x, y) redis.call('get', KEYS[1]) end f(f, f) f(1, f) pcall(f)")]
    public void AFunctionMayReceiveItself(string source) => Assert.Equal("get K", Find(source));

    /// <summary>What a released function receives may be released in turn. The depth of such a chain costs no stack.</summary>
    [Fact]
    public void AChainOfReleasedFunctionsIsFollowed()
    {
        var source = new StringBuilder();
        const int count = 190;
        for (int i = 0; i < count; i++) source.Append($"local function f{i}(x) return x end ");
        for (int i = 1; i < count; i++) source.Append($"f{i - 1}(f{i}) ");
        source.Append("pcall(f0) redis.call('get', KEYS[1])");
        Assert.Equal("get K", Find(source.ToString()));
    }

    /// <summary>The analysis of programs at random, in which functions receive, return and keep functions, has an end and little depth.</summary>
    [Fact]
    public void FunctionsAtRandomAreFollowed()
    {
        const int programs = 5000;
        string program = "";
        Exception? failure = SmallStack.Run(() =>
        {
            for (int i = 0; i < programs; i++)
            {
                program = RandomFunctions(Seed.Random(i));
                Assert.True(Find(program) is null or "get K", program);
            }
        });
        Assert.True(failure is null, $"{Seed.Note}: {failure}\n{program}");
    }

    private static string RandomFunctions(Random random)
    {
        string[] parts =
        [
            "F(F)", "F(F, F)", "F(F(F))", "local v = F", "v = F", "pcall(F, F)", "t[1] = F", "t.x = F(F)", "local v = F(F, F)", "v(F)", "v(v)", "F = F",
            "if ARGV[1] then v = F end", "for i = 1, 2 do v = F(v) end", "local function F(x, y) return y(x) end", "F(function(x) return F(x, F) end)",
        ];
        var source = new StringBuilder("local t, v = {} local function f1(x, y) return x end local function f2(x) x(x) return f1 end ");
        source.Append("local f3 f3 = function(x, y) return f3(y, x) end ");
        for (int i = random.Next(1, 12); i > 0; i--)
        {
            string[] words = parts[random.Next(parts.Length)].Split('F');
            source.Append(words[0]);
            foreach (string word in words[1..]) source.Append($"f{random.Next(1, 4)}").Append(word);
            source.Append(' ');
        }
        return source.Append("redis.call('get', KEYS[1])").ToString();
    }

    /// <summary>What a released function calls with its parameter is not a key.</summary>
    [Fact]
    public void AReleasedFunctionReceivesAnyValue() =>
        Assert.Equal("get ?", Find("local function f(k) redis.call('get', k) end f(KEYS[1]) pcall(f, 'other')"));

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
    [InlineData("local function get(k) return redis.call('get', k) end return get(KEYS[1]) + get(KEYS[2])", "get K")]
    [InlineData("local function get(k) return redis.call('get', k) end return get(KEYS[1]) + get(ARGV[1])", "get ?")]
    [InlineData("local function get(k) return redis.call('get', k) end return get(KEYS[1]), pcall(get, ARGV[1])", "get ?")]
    [InlineData("local function get(k) return redis.call('get', k) end local t = {get} return get(KEYS[1]), t[1]('x')", "get ?")]
    [InlineData("local function get(k) return redis.call('get', k) end local g = get return g(KEYS[1])", "get K")]
    [InlineData("local g = function(k) return redis.call('get', k) end if ARGV[1] then g = tostring end return g('x')", "get ?")]
    [InlineData("local function f(a, b) redis.call('rename', a, b) end f(unpack(KEYS))", "rename K K")]
    [InlineData("local function f(a, b) redis.call('rename', a, b) end f(KEYS[1], unpack(ARGV))", "rename K ?")]
    [InlineData("local function f(a, b) redis.call('set', a, b) end f(KEYS[1])", "set K K")]
    [InlineData("local function f(keys, i) return redis.call('get', keys[i]) end return f(KEYS, 1)", "get K")]
    [InlineData("local function f(keys) for _, k in ipairs(keys) do redis.call('incr', k) end end f(KEYS)", "incr K")]
    [InlineData("local function run(c, k) return redis.call(c, k) end return run('get', KEYS[1])", "get K")]
    [InlineData("local function run(c, k) return redis.call(c, k) end return run('get', KEYS[1]), run('del', KEYS[1])", "? K")]
    [InlineData("local function run(call, k) return call('get', k) end return run(redis.call, KEYS[1])", "get K")]
    [InlineData("local function dead(k) redis.call('get', k) end return 1", "")]
    [InlineData("local f = function(k) local g = function() redis.call('get', k) end g() end f(KEYS[1])", "get K")]
    [InlineData("local f = function(k) k = k .. 'x' redis.call('get', k) end f(KEYS[1])", "get ?")]
    [InlineData("local f = function(k, n) redis.call('get', k) if n then f(n) end end f(KEYS[1], ARGV[1])", null)]
    [InlineData("local f f = function(k, n) redis.call('get', k) if n then f(n) end end f(KEYS[1], ARGV[1])", "get ?")]
    [InlineData("local function odd(k, n) end local function even(k, n) if n > 0 then odd(k) end redis.call('get', k) end even(KEYS[1])", "get K")]
    [InlineData("local x = coroutine.wrap(function() local function f(k) redis.call('get', k) end f(KEYS[1]) end) x()", "get K")]
    [InlineData("if type(KEYS) == 'table' and table.getn(KEYS) > 0 then redis.call('get', table.concat(KEYS, ',')) end", "get ?*")]
    [InlineData("table.sort(ARGV) return redis.call('get', KEYS[1])", "get K")]
    public void CallsAreFound(string source, string? calls) => Assert.Equal(calls, Find(source));

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
    [InlineData("local function f(...) local k = ... k[1] = 'x' end f(KEYS)")]
    [InlineData("local function f(n) arg[1][1] = 'x' end f(1, KEYS)")]
    [InlineData("local function f(k) return k end f(KEYS)[1] = 'x'")]
    [InlineData("local f = function(k) k[1] = 'x' end local g = f g(KEYS)")]
    [InlineData("local f if ARGV[1] then f = function(k) k[1] = 'x' end else f = function(k) end end f(KEYS)")]
    [InlineData("table.sort(KEYS)")]
    [InlineData("local f = table.insert f(KEYS, 'x')")]
    [InlineData("table[ARGV[1]](KEYS, 'x')")]
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
    [InlineData("local c local function set(v) c = redis.call end local function f() return c('get', 'x') end c = tostring set() return f()")]
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

    /// <summary>The calls of a function that a library returns. It receives the keys and the arguments.</summary>
    private static string? FindInLibrary(string source)
    {
        var state = new LuaState();
        LuaFunction? chunk = state.Compile(Encoding.Latin1.GetBytes(source), "@user_function", out LuaError error);
        Assert.True(chunk is not null, error.Value.AsString?.ToString());
        Assert.Equal(LuaOutcome.Returned, state.Call(chunk, []));
        LuaFunction[] functions = [.. Enumerable.Range(0, state.ResultCount).Select(i => state.Result(i).AsFunction!)];
        return new FunctionGroup(functions).Find(functions[0], s_names) is { } sites ? string.Join("; ", sites.Select(Show)) : null;
    }

    [Theory]
    [InlineData("return function(keys, args) return redis.call('set', keys[1], args[1]) end", "set K ?")]
    [InlineData("return function(keys, args) return redis.call('set', args[1], keys[1]) end", "set ? K")]
    [InlineData("return function(...) local keys = ... return redis.call('get', keys[1]) end", "get ?")]
    [InlineData("return function() return redis.call('ping') end", "ping")]
    [InlineData("local function get(k) return redis.call('get', k) end return function(keys) return get(keys[1]) end", "get K")]
    [InlineData("local function get(k) return redis.call('get', k[2]) end return function(keys) return get(keys) end", "get K")]
    [InlineData("local c, p = 'get', ':x' return function(keys) redis.call(c, keys[1]) return redis.call('get', p) end", "get K; get :x")]
    [InlineData("local f f = function(keys, n) redis.call('get', keys[1]) return f(keys, 1) end return f", "get K")]
    [InlineData("local f = function(keys) return redis.call('get', keys[1]) end return f, function(keys) return f({'x'}) end", "get K")]
    [InlineData("local n = 0 return function(keys) local m = n m = m + 1 return redis.call('get', keys[m]) end", "get K")]
    [InlineData("local a local function b(k) return redis.call('get', k) end a = b return function(keys) return a(keys[1]) end", "get K")]
    [InlineData("local function make(c) return function(keys) return redis.call(c, keys[1]) end end return make('get'), make('del')", "get K")]
    [InlineData("local n = 0 return function(keys) local n = n local f = function() n = n + 1 end f() redis.call('get', keys[n]) end", "get K")]
    public void CallsOfAFunctionAreFound(string source, string calls) => Assert.Equal(calls, FindInLibrary(source));

    [Theory]
    [InlineData("local n = 0 return function(keys) n = n + 1 return redis.call('get', keys[n]) end")]
    [InlineData("local n return function(keys) n = keys[1] end")]
    [InlineData("local n = 0 return function(keys) return redis.call('incrby', keys[1], n) end, function() n = n + 1 end")]
    [InlineData("local n = 0 return function(keys) return n end, function() return function() return function() n = 1 end end end")]
    [InlineData("local n = 0 local t = {f = function() n = 1 end} return function() return n end, function() t.f() end")]
    [InlineData("local n = 0 local s = coroutine.wrap(function() while true do coroutine.yield() n = 1 end end) s() return function() return n end, s")]
    [InlineData("local t = {} return function(keys) t[1] = keys[1] end")]
    [InlineData("local t = {'x'} return function(keys) return redis.call('get', t[1]) end")]
    [InlineData("local f f = function(keys) redis.call('get', keys[1]) return f({'x'}) end return f")]
    [InlineData("local f f = function(keys) redis.call('get', keys[1]) return pcall(f, {'x'}) end return f")]
    [InlineData("return function(keys) keys[1] = 'x' return redis.call('get', keys[1]) end")]
    [InlineData("local function set(k) k[1] = 'x' end return function(keys) set(keys) return redis.call('get', keys[1]) end")]
    [InlineData("local u = unpack return function(keys) return redis.call('get', u(keys)) end")]
    public void AFunctionThatKeepsStateOrUsesGuardedValuesOtherwiseIsRefused(string source) => Assert.Null(FindInLibrary(source));

    [Fact]
    public void ALongChainOfFunctionsIsRefused() =>
        Assert.Null(FindInLibrary("local f for i = 1, 20000 do local g = f f = function(keys) if g then g(keys) end end end return f"));

    [Fact]
    public void AVeryLargeChunkIsRefused()
    {
        var source = new StringBuilder();
        for (int i = 0; i < 100; i++) source.Append(System.Globalization.CultureInfo.InvariantCulture, $"local v{i} = {i} ");
        for (int i = 0; i < 40_000; i++) source.Append("v1 = v2 ");
        Assert.Null(Find(source.ToString()));
    }
}
