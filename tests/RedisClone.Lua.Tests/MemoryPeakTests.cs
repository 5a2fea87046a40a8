using System.Text;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Tests;

/// <summary>
/// The total memory of a script, including buffers, copies and garbage, stays near its limit. The tests run alone,
/// because they read the size of the heap.
/// </summary>
[Collection(nameof(SourceFuzzTests))]
public sealed class MemoryPeakTests
{
    private const long Limit = 64 << 20;

    /// <summary>
    /// The memory that the runtime allocates before a collection, and the memory of the tests themselves.
    /// </summary>
    private const long Slack = 48 << 20;

    [Theory]
    [InlineData("local s = ('x'):rep(1e5) local t = {} for i = 1, 900 do t[i] = s end for i = 1, 50 do table.concat(t) end")]
    [InlineData(
        "local s = ('x'):rep(1e5) local t, r = {}, {} for i = 1, 250 do t[i] = s end for i = 1, 50 do r[i] = " +
        "table.concat(t) end")]
    [InlineData(
        "local function f(n) local s = ('x'):rep(5e5) .. n return s .. coroutine.wrap(function() return f(n + 1) " +
        "end)() end f(1)")]
    [InlineData(
        "local function f() local function r(n) if n == 0 then return coroutine.wrap(f)() end local a, b, c, d = " +
        "1, 2, 3, 4 return 1 + r(n - 1) end return r(9000) end f()")]
    [InlineData("local r = {} for i = 1, 30 do r[i] = select(2, pcall(string.gsub, ('x'):rep(1e5), '.', ('y'):rep(200))) end")]
    [InlineData(
        "local s = ('x'):rep(1e6) local t, r = {}, {} for i = 1, 30 do t[i] = s end for i = 1, 50 do r[i] = " +
        "cjson.encode(t) end")]
    [InlineData(
        "local s = ('x'):rep(1e6) local t, r = {}, {} for i = 1, 30 do t[i] = s end for i = 1, 50 do r[i] = " +
        "cmsgpack.pack(t) end")]
    [InlineData(
        "local s = ('x'):rep(5e6) local r = {} for i = 1, 50 do r[i] = string.format(('%s'):rep(8), s, s, s, s, " +
        "s, s, s, s) end")]
    [InlineData("local s = '[' .. ('[],'):rep(2e6) .. '1]' return cjson.decode(s)")]
    [InlineData("local s = '{\"a\":[[' .. ('{},'):rep(2e6) .. '1]]}' return cjson.decode(s)")]
    [InlineData("local s = '\\221\\0\\31\\255\\255' .. ('\\144'):rep(2097151) return cmsgpack.unpack(s)")]
    [InlineData("for i = 1, 20 do pcall(error, ('x'):rep(4e7)) pcall(assert, false, ('x'):rep(4e7)) end")]
    [InlineData("for i = 1, 20 do pcall(coroutine.wrap(function() error(('x'):rep(4e7)) end)) end")]
    [InlineData("for i = 1, 20 do pcall(collectgarbage, ('x'):rep(6e7)) end")]
    [InlineData("for i = 1, 4 do loadstring(('x = 1 '):rep(2e6)) end")]
    [InlineData("for i = 1, 4 do loadstring('return {' .. ('{},'):rep(2e6) .. '}') end")]
    [InlineData("for i = 1, 4 do loadstring('return \"' .. ('x\\\\n'):rep(6e6) .. '\"') end")]
    [InlineData("for i = 1, 4 do local n = 0 load(function() n = n + 1 if n < 100 then return ('x'):rep(1e6) end end) end")]
    [InlineData(
        "local t = {} for i = 1, 1e9 do t[i] = loadstring('return function() return function() return \"' .. i .. " +
        "'\" end end') end")]
    [InlineData("for i = 1, 150 do local s = ('x'):rep(5e6) .. i end")]
    [InlineData("for r = 1, 8 do local t = {} for i = 1, 90 do t[i] = ('x'):rep(1e6) .. i end end")]
    [InlineData("for r = 1, 8 do local t = {} for i = 1, 5e5 do t[i] = {i} end end")]
    [InlineData("for r = 1, 6 do local t = {} for i = 1, 2e6 do t[i] = i end end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = cjson.new() end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = ('x'):gmatch('.') end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = coroutine.wrap(function() end) end")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = tostring(i + 0.5) end")]
    [InlineData("local l for i = 1, 1e9 do l = {l} end")]
    [InlineData("local t = {} for i = 1, 1e9 do local a, b, c = 1, 2, 3 t[i] = function() return a, b, c end end")]
    [InlineData(
        "local t = {} for i = 1, 4096 do t['k' .. i] = 1 end for i = 1, 4096 do t['k' .. i] = nil end local s = ('x'):rep(1e6) " +
        "for i = 1, 1000 do local k = s .. i t[k] = 1 t[k] = nil end")]
    [InlineData(
        "local t = {} for i = 1, 4096 do t['k' .. i] = 1 end for i = 1, 4096 do t['k' .. i] = nil end for i = 1, 1000 do " +
        "local k = {('x'):rep(1e6) .. i} t[k] = 1 t[k] = nil end")]
    [InlineData(
        "local keep = {} local function f(n) local s = ('x'):rep(1e5) .. n local function g() return s end if n == 0 then return g end " +
        "local r = f(n - 1) return r end for r = 1, 10 do keep[r] = f(300) end")]
    public void TheHeapStaysNearTheLimit(string program)
    {
        var interpreter = new Interpreter(Limit);
        interpreter.State.SetField(interpreter.State.Globals, "print", LuaValue.Nil);
        LuaSandbox.RejectUnknownNames(interpreter.State, interpreter.State.Globals);
        long before = GC.GetTotalMemory(forceFullCollection: true), most = before;
        using var ended = new ManualResetEventSlim();
        var watch = new Thread(() =>
        {
            while (!ended.Wait(1)) most = Math.Max(most, GC.GetTotalMemory(forceFullCollection: false));
        });
        watch.Start();
        try
        {
            interpreter.TryRun(program);
            // A second run counts the garbage of the first.
            interpreter.State.Recount();
            interpreter.TryRun(program);
        }
        finally
        {
            ended.Set();
            watch.Join();
        }
        Assert.InRange(most - before, 0, (Limit * 13 / 10) + Slack);
        interpreter.State.Reset();
        Assert.Null(interpreter.TryRun("assert(#('x'):rep(1000) == 1000)"));
    }

    /// <summary>A traversal may clear the fields that it visits. Their keys may be collected before it goes on from them.</summary>
    [Theory]
    [InlineData("'key' .. i")]
    [InlineData("{i}")]
    [InlineData("i % 2 == 0 and 'key' .. i or {}")]
    public void ATraversalGoesOnFromARemovedKey(string key)
    {
        string program = "local t = {} for i = 1, 200 do t[" + key + "] = i end local k, n = next(t), 0 while k do t[k] = nil n = n + 1 " +
            "for j = 1, 3 do local s = ('x'):rep(1e6) .. j end k = next(t, k) end assert(n == 200 and next(t) == nil) " +
            "for i = 1, 200 do t[" + key + "] = i end n = 0 for k in next, t do t[k] = nil n = n + 1 " +
            "for j = 1, 3 do local s = ('x'):rep(1e6) .. j end end assert(n == 200 and next(t) == nil)";
        Assert.Null(new Interpreter(16 << 20).TryRun(program));
    }

    [Fact]
    public void MemoryOfAFailedCallIsReleased()
    {
        var interpreter = new Interpreter(Limit);
        for (int i = 0; i < 20; i++)
        {
            interpreter.TryRun("('x'):rep(1e6):gsub('.', ('y'):rep(1000))");
            interpreter.TryRun("('x'):rep(1e5):gsub('.', function() error('z') end)");
            interpreter.TryRun("cjson.encode({('x'):rep(1e6), print})");
            interpreter.TryRun("cjson.decode('[[' .. ('[],'):rep(1e5) .. 'x')");
            interpreter.TryRun("cmsgpack.unpack('\\221\\255\\255\\255\\255' .. ('\\144'):rep(1e5))");
            interpreter.TryRun("loadstring(('x = 1 '):rep(1e5) .. '=')");
        }
        Assert.Null(interpreter.TryRun("assert(#('x'):rep(3e7) == 3e7)"));
        Assert.InRange(interpreter.State.AllocatedBytes, 0, Limit);
    }
}
