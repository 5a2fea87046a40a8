using System.Text;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Tests;

/// <summary>Keys that collide under the hash of Lua do not make a table slow.</summary>
public sealed class CollidingKeysTests
{
    private const int Keys = 20_000;
    private const int Longest = 40;

    private readonly LuaState _state = new();

    /// <summary>Runs a program that returns a table.</summary>
    private LuaTable Build(string program)
    {
        LuaFunction? chunk = _state.Compile(Encoding.Latin1.GetBytes(program), "=x", out LuaError error);
        Assert.True(chunk is not null, error.Message);
        Assert.True(_state.Call(chunk, []) == LuaOutcome.Returned, _state.Error.Message);
        return _state.Result(0).AsTable!;
    }

    [Theory]
    // Lua hashes every second byte of a string of length 40, starting at its end.
    [InlineData("('x'):rep(24) .. ('%08d'):format(i):gsub('.', '%0y')")]
    [InlineData("('x'):rep(64) .. ('%08d'):format(i):gsub('.', 'zz%0zzzzzzzz')")]
    // The sum of the upper and lower halves of the bits is the same for all of these numbers.
    [InlineData("struct.unpack('<d', struct.pack('<I4I4', i, 0x7fe00000 - i))")]
    public void ChainsStayShort(string key)
    {
        LuaTable table = Build($"local t = {{}} for i = 1, {Keys} do local k = {key} t[k] = i end return t");
        Assert.Equal(Keys, table.Count);
        Assert.InRange(table.LongestChain, 1, Longest);
    }

    [Theory]
    [InlineData("cjson.decode(text)")]
    [InlineData("cmsgpack.unpack(cmsgpack.pack(cjson.decode(text)))")]
    public void ClientDataIsReadIntoShortChains(string read)
    {
        LuaTable table = Build(
            $$"""
            local parts = {}
            for i = 1, {{Keys}} do parts[i] = '"' .. ('x'):rep(24) .. ('%08d'):format(i):gsub('.', '%0y') .. '":' .. i end
            local text = '{' .. table.concat(parts, ',') .. '}'
            return {{read}}
            """);
        Assert.Equal(Keys, table.Count);
        Assert.InRange(table.LongestChain, 1, Longest);
    }

    [Fact]
    public void ATableWithCollidingKeysBehavesNormally()
    {
        LuaTable table = Build(
            """
            local function key(i) return (('x'):rep(24) .. ('%08d'):format(i):gsub('.', '%0y')) end
            local t, n = {10, 20, 30, [0] = 'zero', [-1.5] = 'minus', [true] = 'yes', name = 'n'}, 0
            for i = 1, 3000 do t[key(i)] = i end
            for i = 1, 3000 do assert(t[key(i)] == i) end
            for i = 2, 3000, 2 do t[key(i)] = nil end
            for i = 1, 3000 do assert(t[key(i)] == (i % 2 == 1 and i or nil)) end
            for k, v in pairs(t) do n = n + 1 assert(rawequal(t[k], v)) end
            assert(n == 1507 and t[-0] == 'zero' and t[0] == 'zero' and t[-1.5] == 'minus' and t[true] == 'yes' and t.name == 'n')
            local k, seen = nil, 0
            repeat k = next(t, k) seen = seen + 1 until k == nil
            assert(seen == 1508 and #t == 3)
            for i = 4, 5000 do t[i] = i end
            for i = 4, 5000 do assert(t[i] == i) end
            assert(#t == 5000)
            local objects = {}
            for i = 1, 500 do objects[i] = {} t[objects[i]] = i end
            for i = 1, 500 do assert(t[objects[i]] == i) end
            return t
            """);
        Assert.InRange(table.LongestChain, 1, Longest);
    }

    [Fact]
    public void OtherTablesHaveTheTraversalOrderOfLua() =>
        Assert.Equal(RealLua.Run(Order), Interpreter.Run(Order));

    private const string Order = """
        local t = {}
        for i = 1, 3000 do t['key' .. i * 7] = i t[i * 1.5] = i t[-i] = i end
        local seen = {}
        for k in pairs(t) do seen[#seen + 1] = tostring(k) end
        print(table.concat(seen, ' '))
        """;

    [Fact]
    public void LongStringsAreComparedOnce()
    {
        Build(
            """
            local a, b, c = ('x'):rep(1e6) .. 'a', ('x'):rep(1e6) .. 'a', ('x'):rep(5e5) .. 'y' .. ('x'):rep(5e5)
            for i = 1, 3e6 do if a ~= b or a == c or b == c then error('different') end end
            local t = {[a] = 1, [c] = 2}
            for i = 1, 1e6 do if t[b] ~= 1 or t[c] ~= 2 then error('different') end end
            return {}
            """);
    }
}
