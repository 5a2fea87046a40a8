using System.Text;
using RedisClone.Lua.Compiling;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;
using Xunit.Abstractions;

namespace RedisClone.Lua.Tests;

/// <summary>
/// Compiles source texts that are programs, almost programs or random text, and runs them for a short time with little
/// memory on a small stack. No source harms the process, exceeds its limits or ignores the end of its budget.
/// <c>tests/fuzz lua</c> runs it for a long time. The tests run alone, because they read the size of the whole heap.
/// </summary>
[Collection(nameof(SourceFuzzTests))]
[CollectionDefinition(nameof(SourceFuzzTests), DisableParallelization = true)]
public sealed class SourceFuzzTests(ITestOutputHelper output)
{
    private const long MemoryLimit = 16 << 20;
    private const int Periods = 20;
    private const int SourcesPerState = 50;

    private static readonly LuaString s_killed = LuaString.From("killed");

    private static readonly string[] s_tokens =
    [
        "end", "(", ")", "{", "}", "[", "]", "=", "==", "~=", ",", ";", ":", ".", "..", "...", "do", "function", "local", "if",
        "then", "else", "elseif", "for", "in", "while", "repeat", "until", "return",
        "break", "and", "or", "not", "nil", "true", "x", "y", "x", "f", "#", "+", "-", "*", "/", "%", "^", "<", ">=", "1", "0x",
        "1e", "1e309", "'a'", "\"", "'", "[[", "]]", "[==[", "--", "--[[", "\\", "\\300", "\n", "\0", "\u00e9", "@",
    ];

    private static readonly string[] s_arguments =
    [
        "nil", "true", "-1", "0", "1", "2", "2^31", "-2^31", "2^53", "1e308", "0/0", "1/0", "''", "'abc'", "'%d'", "'%99.99f'",
        "'(a*)*b'", "'%f[a]'", "'[^'", "('x'):rep(1000)", "'[1,{\"a\":2}]'", "'\\0\\200'", "{}",
        "{1, 2, 3}", "{x = 1, [2] = {}}", "t", "_G",
        "setmetatable({}, {__index = error, __tostring = print, __lt = rawequal, __concat = f, __call = f})", "f", "error",
        "pcall", "function() end",
        "function(...) return ... end", "coroutine.create(f)", "coroutine.wrap(f)", "cjson.null", "'c3i8s'", "cmsgpack.pack(t)",
    ];

    private string _doing = "";

    [Fact]
    public void NoSourceTextHarmsTheProcess()
    {
        int sources = LongRun.Times(4_000, 2_000_000);
        Exception? failure = SmallStack.Run(() => Run(sources));
        Assert.True(failure is null, $"{Seed.Note}: {failure}\n{_doing}");
    }

    private void Run(int sources)
    {
        Interpreter interpreter = new(MemoryLimit);
        string[] functions = Functions();
        string[] programs = [.. Enumerable.Range(0, 16).Select(i => new ProgramGenerator(unchecked(Seed.Value + i)).Generate())];
        int compiled = 0, ended = 0, killed = 0;
        for (int i = 0; i < sources; i++)
        {
            if (i % SourcesPerState == 0) interpreter = new(MemoryLimit);
            Random random = Seed.Random(i);
            byte[] source = random.Next(4) switch
            {
                0 => Damage(random, programs[random.Next(programs.Length)]),
                1 => Tokens(random),
                2 => Damage(random, Calls(random, functions)),
                _ => Encoding.Latin1.GetBytes(Calls(random, functions)),
            };
            _doing = $"source {i}: {Encoding.Latin1.GetString(source)}";
            LuaState state = interpreter.State;
            LuaFunction? chunk = state.Compile(source, "=x", out LuaError error);
            if (chunk is null)
            {
                Assert.True(
                    error.Message.StartsWith("x:", StringComparison.Ordinal) || error.Message == "not enough memory",
                    error.Message);
                continue;
            }
            compiled++;
            int left = Periods;
            state.BudgetInterval = 1000;
            state.OnBudget = _ => --left < 0 ? s_killed : null;
            if (state.Call(chunk, []) == LuaOutcome.Returned) ended++;
            else if (left < 0) killed++;
            Assert.InRange(state.AllocatedBytes, 0, 2 * MemoryLimit);
            if ((i + 1) % 100_000 == 0)
                Console.WriteLine($"{i + 1} sources, {GC.GetTotalMemory(forceFullCollection: false) >> 20} MB");
        }
        output.WriteLine(
            $"{Seed.Note}: {sources} sources, {compiled} compiled, {ended} ended by themselves, {killed} were killed");
        Assert.InRange(GC.GetTotalMemory(forceFullCollection: true), 0, 16 * MemoryLimit);
    }

    /// <summary>Returns the names of all functions that a script can call.</summary>
    private static string[] Functions() => Interpreter.Run(
        """
        for name, value in pairs(_G) do
          if type(value) == 'function' then print(name) end
          if type(value) == 'table' and value ~= _G then
            for key, f in pairs(value) do if type(f) == 'function' then print(name .. '.' .. key) end end end
        end
        """).Split('\n', StringSplitOptions.RemoveEmptyEntries);

    /// <summary>Returns calls of random functions with random arguments.</summary>
    private static string Calls(Random random, string[] functions)
    {
        var text = new StringBuilder("local t = {3, 1, 2, x = 'y'} local function f(...) return ... end\n");
        for (int calls = random.Next(1, 8); calls > 0; calls--)
        {
            string function = functions[random.Next(functions.Length)];
            string arguments = string.Join(
                ", ", Enumerable.Range(0, random.Next(5)).Select(_ => s_arguments[random.Next(s_arguments.Length)]));
            text.AppendLine(random.Next(4) switch
            {
                0 => $"t[#t + 1] = {function}({arguments})",
                1 => $"for a, b in {function}({arguments}) do t[a] = b end",
                _ => $"pcall({function}{(arguments.Length > 0 ? ", " + arguments : "")})",
            });
        }
        return random.Next(8) == 0 ? $"while true do {text} end" : text.ToString();
    }

    private static byte[] Tokens(Random random) =>
        Encoding.Latin1.GetBytes(string.Concat(Enumerable.Range(0, random.Next(1, 60))
            .Select(_ => s_tokens[random.Next(s_tokens.Length)] + (random.Next(5) > 0 ? " " : ""))));

    private static byte[] Damage(Random random, string program)
    {
        byte[] text = Encoding.Latin1.GetBytes(program);
        int at = random.Next(text.Length);
        switch (random.Next(5))
        {
            case 0:
                return text[..at];
            case 1:
                for (int n = random.Next(5); n >= 0; n--) text[random.Next(text.Length)] = (byte)random.Next(256);
                return text;
            case 2:
                return [.. text[..at], .. text[(at + random.Next(Math.Min(40, text.Length - at)))..]];
            case 3:
                // Repeats a part of the text, up to a great depth.
                byte[] part = text[at..(at + random.Next(Math.Min(30, text.Length - at)))];
                return [.. text[..at], .. Enumerable.Repeat(part, random.Next(400)).SelectMany(p => p), .. text[at..]];
            default:
                return [.. text[..at], .. Encoding.Latin1.GetBytes($" {s_tokens[random.Next(s_tokens.Length)]} "), .. text[at..]];
        }
    }
}
