using System.Text;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Tests;

/// <summary>Hostile scripts end with an error, in bounded time and memory, and leave the interpreter usable.</summary>
public sealed class HostileTests
{
    private const int Deep = 100_000;

    public static TheoryData<string, string> NestedForms => new()
    {
        { "return ", "(" }, { "return ", "{" }, { "return ", "not " }, { "return ", "- " }, { "return ", "#" },
        { "return ", "a .. " }, { "return ", "a ^ " }, { "return ", "f(" }, { "return ", "f{" }, { "return ", "a[" },
        { "return ", "function() return " },
        { "", "do " }, { "", "while x do " }, { "", "repeat " }, { "", "if x then " }, { "", "for i = 1, 2 do " },
        { "", "for k in x do " }, { "", "function f() " }, { "", "local function f() " }, { "", "a, " }, { "return ", "{[1] = " },
        { "return ", "{x = " }, { "return ", "a and (" }, { "return ", "1 + (" }, { "x = ", "{{" }, { "return ", "((a)(" },
    };

    [Theory]
    [MemberData(nameof(NestedForms))]
    public void NestingIsLimited(string start, string form)
    {
        string text = start + string.Concat(Enumerable.Repeat(form, Deep));
        string outcome = Interpreter.Outcome(text);
        Assert.Matches(
            "too many syntax levels|expression too complex|200 local variables|has more than \\d+ variables in assignment",
            outcome);
    }

    [Theory]
    [InlineData("return ", "a.", "b")]
    [InlineData("return ", "a:b().", "c")]
    [InlineData("return ", "1 + ", "1")]
    [InlineData("return ", "a and ", "1")]
    [InlineData("return ", "a == ", "1")]
    [InlineData("x = {", "1, ", "}")]
    [InlineData("x = {", "a = 1, ", "}")]
    [InlineData("if x then ", "elseif y then ", "end")]
    [InlineData("", "x = 1 ", "")]
    [InlineData("", "do end ", "")]
    [InlineData("return ", "f() ", "", false)]
    public void LengthIsNotLimited(string start, string part, string end, bool valid = true)
    {
        string outcome = new Interpreter().State.Compile(
            Encoding.Latin1.GetBytes(start + string.Concat(Enumerable.Repeat(part, Deep)) + end),
            "=x",
            out LuaError error) is null
            ? error.Message
            : "";
        Assert.Equal(valid, outcome.Length == 0);
    }

    [Theory]
    [InlineData("string.rep('x', 2147483647)")]
    [InlineData("string.rep('abc', 1e9)")]
    [InlineData("local s = 'x' while true do s = s .. s end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = i end")]
    [InlineData("local t = {} for i = 1, 1e9 do t['k' .. i] = i end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = {} end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = function() return i end end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = coroutine.create(function() end) end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000, i) .. i end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = (('x'):rep(100000) .. i):gmatch('.') end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = cjson.new() end")]
    [InlineData("local t = {} for i = 1, 100 do t[i] = ('x'):rep(1000000) end table.concat(t)")]
    [InlineData("local s = ('x'):rep(1e6) s:gsub('.', s)")]
    [InlineData("local s = ('x'):rep(1e7) string.format(('%s'):rep(10), s, s, s, s, s, s, s, s, s, s)")]
    [InlineData("local s = ('x'):rep(1e7) local t = {} for i = 1, 20 do t[i] = s end cjson.encode(t)")]
    [InlineData("local s = ('x'):rep(1e7) local t = {} for i = 1, 20 do t[i] = s end cmsgpack.pack(t)")]
    [InlineData("assert(loadstring(('x={} '):rep(3e6)))")]
    [InlineData("assert(load(function() return ('x'):rep(100000) end))")]
    [InlineData("local t = {} for i = 1, 26 do t = {t, t} end local u = cmsgpack.pack(t) .. cjson.encode(t)")]
    [InlineData("cjson.decode('[' .. ('[],'):rep(3000000) .. '1]')")]
    [InlineData("cmsgpack.unpack('\\221\\255\\255\\255\\255' .. ('\\144'):rep(3000000))")]
    [InlineData("struct.pack('c1000000000', 'x')", "string too short")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6 + i):upper() end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = ('X'):rep(1e6 + i):lower() end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6 + i):reverse() end")]
    [InlineData("local function f(...) return f(1, ...) end f()", "killed|stack overflow")]
    [InlineData(
        "local function f(n, ...) if n > 0 then return f(n - 1, n, ...) end return select('#', f(1e9, ...)) end f(7000)",
        "stack overflow|not enough memory|killed")]
    public void MemoryIsBounded(string program, string message = "not enough memory")
    {
        Assert.Matches(
            $"^(test:\\d+: )?(.*{message.Replace("|", "|.*", StringComparison.Ordinal)})", Interpreter.Outcome(program, periods: 3_000));
    }

    [Fact]
    public void ReleasedMemoryDoesNotCount()
    {
        Assert.Equal("ok", Interpreter.Outcome(
            "for i = 1, 3000 do local s = ('x'):rep(100000) .. i local t = {s, {s}, function() return s end} end print('ok')",
            100_000));
        Assert.Equal("ok", Interpreter.Outcome(
            "for i = 1, 300 do pcall(string.rep, 'x', 1e9) "
            + "pcall(function() local t = {} for i = 1, 1e4 do t[i] = i end end) end print('ok')",
            100_000));
    }

    [Theory]
    [InlineData("local function f() return 1 + f() end f()", "stack overflow")]
    [InlineData(
        "local function f() return pcall(f) end print(f())",
        "^(true\t)*false\tstack overflow|C stack overflow|error in error handling")]
    [InlineData("local t = {} setmetatable(t, {__index = function(t, k) return t[k] end}) return t.x", "C stack overflow")]
    [InlineData("local t = {} for i = 1, 5e4 do t = setmetatable({}, {__index = t}) end return t.x", "loop in gettable")]
    [InlineData("local t = {} for i = 1, 5e4 do t = setmetatable({}, {__newindex = t}) end t.x = 1", "loop in settable")]
    [InlineData(
        "local a, b = {}, {} setmetatable(a, {__index = b}) setmetatable(b, {__index = a}) return a.x",
        "loop in gettable")]
    [InlineData(
        "local a, b = {}, {} setmetatable(a, {__newindex = b}) setmetatable(b, {__newindex = a}) a.x = 1",
        "loop in settable")]
    [InlineData("local t = setmetatable({}, {}) getmetatable(t).__index = t return t[1]", "loop in gettable")]
    [InlineData("local t = {} for i = 1, 5e4 do t = setmetatable({}, {__call = t}) end return t()", "attempt to call")]
    [InlineData("local function f(n) return n == 0 and 0 or select('#', pcall(f, n - 1)) end print(f(1e5))", "^\\d+$")]
    [InlineData("local function f(co) return coroutine.resume(coroutine.create(f), co) end print(f())", "true|C stack overflow")]
    [InlineData("local function f() local ok, e = pcall(f) error(e, 0) end f()", "stack overflow|error in error handling")]
    [InlineData("local function f() return tostring(setmetatable({}, {__tostring = f})) end f()", "C stack overflow")]
    [InlineData("local t = {} setmetatable(t, {__newindex = function(t, k, v) t[k] = v end}) t.x = 1", "C stack overflow")]
    [InlineData("local t = {} setmetatable(t, {__add = function(a, b) return a + b end}) return t + 1", "C stack overflow")]
    [InlineData("local t = {} setmetatable(t, {__concat = function(a, b) return a .. b end}) return t .. 1", "C stack overflow")]
    [InlineData(
        "local t = {} setmetatable(t, {__eq = function(a, b) return a == b end}) local u = setmetatable({}, " +
        "getmetatable(t)) return t == u",
        "C stack overflow")]
    [InlineData("local t = {} setmetatable(t, {__lt = function(a, b) return a < b end}) return t < t", "C stack overflow")]
    [InlineData("local t = {} setmetatable(t, {__call = function(self) return self() end}) return t()", "killed|stack overflow")]
    [InlineData("local t = {} setmetatable(t, {__call = function(self) return 1 + self() end}) return t()", "stack overflow")]
    [InlineData("local t = {} setmetatable(t, {__call = t}) return t()", "attempt to call")]
    [InlineData(
        "local t = {} setmetatable(t, {__tostring = function(t) return tostring(t) end}) return tostring(t)",
        "C stack overflow")]
    [InlineData("local function f() return (string.gsub('x', 'x', f)) end f()", "C stack overflow")]
    [InlineData("local function f() table.sort({1, 2}, f) end f()", "C stack overflow")]
    [InlineData("local function f() return coroutine.wrap(f)() end f()", "C stack overflow")]
    [InlineData("local function f() return load(f) end print(f())", "C stack overflow|reader|function")]
    [InlineData("local function f() error(f) end xpcall(f, f) print('done')", "done")]
    [InlineData("local function f() return xpcall(f, f) end print(f())", "error in error handling|stack overflow|^true")]
    [InlineData("local function h(m) return h(m) + 1 end print(xpcall(error, h))", "error in error handling|stack overflow")]
    [InlineData("local function f() table.foreach({1}, f) end f()", "C stack overflow")]
    [InlineData("local f f = function() return loadstring('return ...')(f()) end f()", "stack overflow")]
    public void EndlessRecursionIsAnError(string program, string message) => Assert.Matches(message, Interpreter.Outcome(program));

    [Theory]
    [InlineData("cjson.decode(('['):rep(1e6))", "Found too many nested data structures \\(1001\\)")]
    [InlineData("cjson.decode_max_depth(1e9) cjson.decode(('['):rep(1e6))", "Found too many nested data structures")]
    [InlineData("cjson.decode_max_depth(1e9) cjson.decode(('{\"a\":'):rep(1e6))", "Found too many nested data structures")]
    [InlineData("local t = {} for i = 1, 1e5 do t = {t} end cjson.encode(t)", "excessive nesting \\(1001\\)")]
    [InlineData("cjson.encode_max_depth(1e9) local t = {} for i = 1, 1e5 do t = {t} end cjson.encode(t)", "excessive nesting")]
    [InlineData("local t = {} t[1] = t cjson.encode(t)", "excessive nesting \\(1001\\)")]
    [InlineData("cmsgpack.unpack(('\\145'):rep(1e6))", "stack overflow")]
    [InlineData("cmsgpack.unpack(('\\129\\1'):rep(1e6))", "stack overflow")]
    [InlineData("local t = {} t[1] = t return #cmsgpack.pack(t)", "^$")]
    [InlineData("unpack({}, 0, 2147483647)", "too many results to unpack")]
    [InlineData("unpack({}, -2147483648, 2147483647)", "too many results to unpack")]
    [InlineData("unpack({}, 1, 1e8)", "too many results to unpack")]
    [InlineData("string.byte(('x'):rep(1e6), 1, -1)", "string slice too long")]
    [InlineData("cmsgpack.unpack(('\\1'):rep(1e6))", "too many return values")]
    [InlineData("struct.unpack(('b'):rep(1e6), ('x'):rep(1e6))", "too many results")]
    [InlineData("string.find('x', ('('):rep(100))", "too many captures")]
    [InlineData("string.find(('a'):rep(5000), ('a?'):rep(100000))", "pattern too complex")]
    [InlineData("string.find('x', ('('):rep(40) .. (')'):rep(40))", "too many captures")]
    [InlineData(
        "table.sort({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, function(a, b) return true end)",
        "invalid order function|^$|attempt to compare")]
    [InlineData(
        "local t = {} for i = 1, 200 do t[i] = i % 7 end table.sort(t, function(a, b) return math.random() < 0.5 end)",
        "invalid order function|^$|attempt to compare")]
    [InlineData("local t = {} for i = 1, 100 do t[i] = i end table.sort(t, function(a, b) t[#t] = nil return a < b end)", ".*")]
    [InlineData("local s = ('x'):rep(1e6) return s:rep(1e6)", "not enough memory")]
    [InlineData("loadstring('\\27LuaQ\\0\\1\\4')()", "attempt to call a nil value")]
    [InlineData("x = [====[ ]===] ]=====]", "unfinished long string near '<eof>'")]
    [InlineData("--[====[ ]===]", "unfinished long comment near '<eof>'")]
    [InlineData("table.concat({}, 'x', 1, 1e9)", "invalid value \\(nil\\) at index 1")]
    [InlineData("table.insert({}, -2147483648, 1)", "killed|^$|not enough memory|position")]
    [InlineData("for k in pairs({1, 2, 3}) do loadstring('x = 1')() end next({}, {})", "invalid key to 'next'")]
    [InlineData("local t = {1, 2, 3} for k in pairs(t) do for i = 1, 1000 do t[i * 7] = i end end", ".*")]
    [InlineData("string.format(('%99.99f'):rep(1000), unpack({}, 1, 1000))", "number expected, got nil")]
    [InlineData("return ('x'):rep(-1) .. ('x'):rep(-2147483648)", "^$")]
    [InlineData("math.randomseed(1e300) return math.random(2147483647)", "^$")]
    [InlineData("bit.tohex(1, -2147483648) bit.lshift(1e300, -1e300)", "^$")]
    [InlineData("setmetatable(_G, {__index = function(t, k) return _G[k] end}) return zzz", "C stack overflow")]
    public void OtherHostileScriptsEnd(string program, string message) => Assert.Matches(message, Interpreter.Outcome(program));

    [Fact]
    public void ASmallStackIsEnough()
    {
        // Nests in every way that uses the native stack, up to the limit, with the deepest parser and matcher on top.
        const string program = """
            local forms = {
              function(f) pcall(f) end,
              function(f) table.sort({3, 1, 2, 5, 4, 7, 6, 9, 8}, f) end,
              function(f) string.gsub('x', '(x)', f) end,
              function(f) local x = setmetatable({}, {__index = f}).key end,
              function(f) setmetatable({}, {__newindex = f}).key = 1 end,
              function(f) local x = setmetatable({}, {__add = f}) + 1 end,
              function(f) local x = setmetatable({}, {__concat = f}) .. 1 end,
              function(f) local m = {__lt = f} local x = setmetatable({}, m) < setmetatable({}, m) end,
              function(f) tostring(setmetatable({}, {__tostring = f})) end,
              function(f) coroutine.wrap(function() f() end)() end,
              function(f) load(f) end,
              function(f) table.foreach({1}, f) end,
              function(f) xpcall(error, f) end,
              function(f) for k in f do break end end,
            }
            local deepest = 0
            local function nest(form, n)
              if n > deepest then deepest = n end
              loadstring('return ' .. ('('):rep(300))
              loadstring('return ' .. ('function() return '):rep(300))
              pcall(string.find, ('a'):rep(2000), ('a?'):rep(2000))
              pcall(cjson.decode, ('['):rep(2000))
              form(function() nest(forms[1 + (n * 7) % #forms], n + 1) end)
            end
            for _, form in ipairs(forms) do
              pcall(nest, form, 1)
              local function same(n) form(function() same(n + 1) end) end
              pcall(same, 1)
            end
            print(deepest > 50)
            """;
        string outcome = "";
        Assert.Null(SmallStack.Run(() => outcome = Interpreter.Outcome(program, periods: 100_000)));
        Assert.Equal("true", outcome);
    }

    [Theory]
    [InlineData(
        "local t = {} for i = 1, 2 ^ 17 do t['k' .. i] = 1 end local n = 0 while true do n = n + 1 t['k' .. n] = nil " +
        "t['x' .. n] = 1 end")]
    [InlineData("local t = {} for i = 1, 2 ^ 20 do t[i] = 1 end for i = 1, 2 ^ 20 do t[i] = nil end while true do next(t) end")]
    [InlineData(
        "local t = {} for i = 1, 2 ^ 20 do t[i] = 1 end for i = 1, 2 ^ 20 do t[i] = nil end while true do for k in " +
        "pairs(t) do end end")]
    [InlineData("local t = {} for i = 1, 2 ^ 20 do t[i] = 1 end while true do table.maxn(t) end")]
    public void WorkOnLargeTablesIsCounted(string program)
    {
        var interpreter = new Interpreter(512 << 20);
        var clock = System.Diagnostics.Stopwatch.StartNew();
        TimeSpan last = clock.Elapsed, longest = default;
        int left = 100;
        interpreter.State.OnBudget = _ =>
        {
            TimeSpan now = clock.Elapsed;
            if (now - last > longest) longest = now - last;
            last = now;
            return --left < 0 ? Interpreter.Killed : null;
        };
        Assert.Equal("killed", interpreter.TryRun(program));
        Console.WriteLine($"longest time between two questions: {longest.TotalMilliseconds:F0} ms");
    }

    [Fact]
    public void CollidingKeysAreSlowButInterruptible()
    {
        // Lua hashes only 32 bytes of a long string, so these strings all have the same hash.
        string program = """
            local t = {}
            for i = 1, 1e6 do
              local s = ('x'):rep(40) .. ('%08d'):format(i):gsub('.', '%0x') .. ('x'):rep(40)
              t[s] = i
            end
            """;
        Assert.Matches("killed|not enough memory", Interpreter.Outcome(program, periods: 3));
    }
}
