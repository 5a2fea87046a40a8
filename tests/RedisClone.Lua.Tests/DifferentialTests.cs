using Xunit.Abstractions;

namespace RedisClone.Lua.Tests;

/// <summary>
/// Random programs must print exactly the same as in real Lua 5.1. RC_SEED repeats a run, and <c>tests/fuzz
/// programs</c> extends it.
/// </summary>
public sealed class DifferentialTests(ITestOutputHelper output)
{
    [Fact]
    public void RandomProgramsBehaveAsInRealLua()
    {
        int programs = LongRun.Times(60, 20_000);
        output.WriteLine(Seed.Note);
        for (int i = 0; i < programs; i++)
        {
            string program = new ProgramGenerator(Seed.Value + i).Generate();
            string expected = RealLua.Run(program);
            string actual = Interpreter.Run(program);
            if (expected == actual) continue;
            output.WriteLine(program);
            Assert.Fail($"Program of seed {Seed.Value + i}: {FirstDifference(expected, actual)}");
        }
    }

    internal static string FirstDifference(string expected, string actual)
    {
        string[] e = expected.Split('\n'), a = actual.Split('\n');
        int line = 0;
        while (line < e.Length && line < a.Length && e[line] == a[line]) line++;
        string wanted = line < e.Length ? e[line] : "(end)", found = line < a.Length ? a[line] : "(end)";
        return $"line {line + 1}\n  expected: {wanted}\n  actual:   {found}";
    }
}
