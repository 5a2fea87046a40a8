using System.Text;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Tests;

/// <summary>
/// After any calls of a script with any arguments, the next script finds the interpreter unchanged: every reachable
/// table and its metatable hold the same values, and every function with a state behaves as before. RC_SEED repeats a
/// run.
/// </summary>
public sealed class IsolationTests
{
    private const int Rounds = 400;

    /// <summary>Prints everything reachable from the globals and from strings, and the value of each setting.</summary>
    private const string Fingerprint = """
        local out, seen, queue = {}, {}, {}
        local function visit(name, t)
          if type(t) == 'table' and not seen[t] then seen[t] = name queue[#queue + 1] = t end
        end
        visit('_G', _G)
        visit('strings', getmetatable(''))
        local at = 1
        while queue[at] do
          local t, keys = queue[at], {}
          at = at + 1
          for k, v in pairs(t) do
            keys[#keys + 1] = tostring(k) .. '=' .. tostring(v)
            visit(tostring(k), v)
          end
          table.sort(keys)
          out[#out + 1] = table.concat({seen[t], tostring(t), tostring(getmetatable(t)), #t, table.concat(keys, ' ')}, ' ')
          visit('metatable', getmetatable(t))
          out[#out + 1] = tostring((pcall(rawset, t, 'planted', 1))) .. tostring((pcall(setmetatable, t, {})))
        end
        for _, name in ipairs{'encode_max_depth', 'decode_max_depth', 'encode_number_precision', 'encode_keep_buffer',
            'encode_invalid_numbers', 'decode_invalid_numbers', 'encode_sparse_array'} do
          out[#out + 1] = name .. ' ' .. cjson.encode({cjson[name]()})
        end
        out[#out + 1] = cjson.encode({1 / 3, {{}}}) .. tostring(coroutine.running()) .. struct.pack('i', 1) .. cmsgpack.pack({1})
        return table.concat(out, '\n')
        """;

    private static readonly string[] s_arguments =
    [
        "nil", "true", "false", "-1", "0", "1", "2", "1e9", "''", "'abc'", "'null'", "'on'", "'%d'", "'x'", "{}", "{1, 2, 3}",
        "_G", "string", "cjson", "getmetatable('')", "getmetatable(_G)", "setmetatable({}, {__index = _G, __newindex = _G})",
        "error", "function(...) return ... end", "function() x = 1 end", "coroutine.create(function() end)", "cjson.null",
        "math", "table",
    ];

    [Fact]
    public void NoCallOfAScriptAffectsTheNextScript()
    {
        Random random = Seed.Random(0);
        var state = new LuaState(64 << 20) { BudgetInterval = 1000 };
        LuaSandbox.RejectUnknownNames(state, state.Globals);
        LuaSandbox.Freeze(state);
        string expected = Run(state, Fingerprint);
        string[] functions = Run(state, """
            local names = {}
            for name, value in pairs(_G) do
              if type(value) == 'function' then names[#names + 1] = name end
              if type(value) == 'table' and value ~= _G then
                for key, f in pairs(value) do if type(f) == 'function' then names[#names + 1] = name .. '.' .. key end end
              end
            end
            return table.concat(names, ' ')
            """).Split(' ');
        for (int i = 0; i < Rounds; i++)
        {
            var program = new StringBuilder();
            foreach (string function in functions)
            {
                string call = function;
                for (int n = random.Next(5); n > 0; n--) call += ", " + s_arguments[random.Next(s_arguments.Length)];
                bool inCoroutine = random.Next(8) == 0;
                program.AppendLine(inCoroutine ? $"coroutine.wrap(function() pcall({call}) end)()" : $"pcall({call})");
            }
            if (random.Next(4) == 0) program.Append("error('ended')");
            int left = 200;
            state.OnBudget = _ => --left < 0 ? LuaString.From("killed") : null;
            LuaFunction? chunk = state.Compile(Encoding.Latin1.GetBytes(program.ToString()), "=x", out LuaError error);
            Assert.True(chunk is not null, error.Message);
            state.Call(chunk, []);
            state.OnBudget = null;
            string actual = Run(state, Fingerprint);
            if (expected == actual) continue;
            Assert.Fail($"{Seed.Note}: {DifferentialTests.FirstDifference(expected, actual)}\n{program}");
        }
    }

    private static string Run(LuaState state, string program)
    {
        LuaFunction? chunk = state.Compile(Encoding.Latin1.GetBytes(program), "=x", out LuaError error);
        Assert.True(chunk is not null, error.Message);
        Assert.True(state.Call(chunk, []) == LuaOutcome.Returned, state.Error.Message);
        return state.Result(0).AsString!.ToString();
    }
}
