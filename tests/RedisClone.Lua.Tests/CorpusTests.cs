using System.Text;
using System.Text.RegularExpressions;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;
using Xunit.Abstractions;

namespace RedisClone.Lua.Tests;

/// <summary>Every program of the corpus must print the same as in real Lua or Redis.</summary>
public sealed partial class CorpusTests(RealRedis redis, ITestOutputHelper output) : IClassFixture<RealRedis>
{
    private const string RedisPrelude =
        "local print_out = {} local print = function(...) local t = {} for i = 1, select('#', ...) do " +
        "t[i] = tostring((select(i, ...))) end print_out[#print_out + 1] = table.concat(t, '\\t') end ";

    private const string RedisEpilogue = "\nreturn table.concat(print_out, '\\n')";

    public static TheoryData<string> Files(string folder) =>
        [
            .. Directory.EnumerateFiles(Path.Combine(AppContext.BaseDirectory, "Corpus", folder))
                .Select(f => Path.GetFileName(f)!).Order(),
        ];

    [Theory]
    [MemberData(nameof(Files), "Language")]
    public void TheLanguageMatchesLua(string file) => CompareWithLua(Read("Language", file));

    [Theory]
    [MemberData(nameof(Files), "Fuzz")]
    public void RandomUseOfLibrariesMatchesLua(string file)
    {
        output.WriteLine(Seed.Note);
        CompareWithLua($"local SEED = {Seed.Value} " + Read("Fuzz", file));
    }

    [Theory]
    [MemberData(nameof(Files), "Redis")]
    public void TheLibrariesMatchRedis(string file)
    {
        string script = RedisPrelude + Read("Redis", file) + RedisEpilogue;
        var state = new LuaState();
        LuaSandbox.RejectUnknownNames(state, state.Globals);
        LuaSandbox.Freeze(state);
        LuaFunction? chunk = state.Compile(Encoding.Latin1.GetBytes(script), "@user_script", out LuaError error);
        Assert.True(chunk is not null, error.Value.AsString?.ToString());
        string actual = state.Call(chunk, []) == LuaOutcome.Returned ? state.Result(0).AsString!.ToString() : state.Error.Message;
        AssertSame(redis.Eval(script), actual);
    }

    private static string Read(string folder, string file) =>
        File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Corpus", folder, file), Encoding.Latin1);

    private static void CompareWithLua(string program) => AssertSame(RealLua.Run(program), Interpreter.Run(program));

    private static void AssertSame(string expected, string actual)
    {
        expected = Addresses().Replace(expected, "0x");
        actual = Addresses().Replace(actual, "0x");
        if (expected != actual) Assert.Fail(DifferentialTests.FirstDifference(expected, actual));
    }

    [GeneratedRegex("(?<=(table|function|thread|userdata): )0x[0-9a-f]+")]
    private static partial Regex Addresses();
}
