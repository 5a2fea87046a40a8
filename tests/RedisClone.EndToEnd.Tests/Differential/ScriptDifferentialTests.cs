using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// Runs random scripts and functions on this server and on redis-server and compares each reply. The scripts and their callers
/// use both protocols. RC_SEED repeats a run, <c>tests/fuzz commands</c> makes it longer.
/// </summary>
public sealed class ScriptDifferentialTests : IDisposable
{
    private const int Scripts = 1500;
    private const int MaxFindings = 10;

    private static readonly int s_rounds = LongRun.Times(1, 1000);

    private readonly ServerProcess _ours = ServerProcess.Ours();
    private readonly ServerProcess _redis = ServerProcess.Redis();

    public void Dispose()
    {
        _ours.Dispose();
        _redis.Dispose();
    }

    [Theory]
    [InlineData(2, false)]
    [InlineData(3, false)]
    [InlineData(3, true)]
    public void RepliesMatchRedisServer(int protocol, bool asFunctions)
    {
        Random random = Seed.Random($"scripts {protocol} {asFunctions}");
        var generator = new ScriptGenerator(random, KeepsErrorsOnOneLine(_redis));
        using RespClient ours = _ours.Connect(protocol), theirs = _redis.Connect(protocol);
        var findings = new List<string>();
        for (int i = 0; i < Scripts * s_rounds && findings.Count < MaxFindings; i++)
        {
            string script = generator.Next();
            string[] arguments = ["2", $"k{random.Next(3)}", $"h{random.Next(3)}", "argument", "17"];
            string[][] requests = asFunctions
                ?
                [
                    ["FUNCTION", "LOAD", "REPLACE", $"#!lua name=lib\nredis.register_function('f', function(KEYS, ARGV)\n{script}\nend)"],
                    ["FCALL", "f", .. arguments],
                ]
                : [["EVAL", script, .. arguments]];
            Reply[] mine = ours.Pipeline(requests), expected = theirs.Pipeline(requests);
            if (mine[^1].ToString() == expected[^1].ToString()) continue;
            findings.Add($"{script}\n   ours:  {mine[^1]}\n   redis: {expected[^1]}");
            foreach (RespClient client in (RespClient[])[ours, theirs]) client.Expect("+OK", "FLUSHALL");
        }
        Assert.True(findings.Count == 0, $"{Seed.Note}\n{string.Join('\n', findings)}");
        _ours.AssertWell();
    }

    /// <summary>
    /// Redis 7.4 sends the line ends of a raised error unchanged. A client reads the text after the first line as another reply.
    /// </summary>
    private static bool KeepsErrorsOnOneLine(ServerProcess server)
    {
        using RespClient client = server.Connect();
        return client.Call("EVAL", "error('x\\r\\ny')", "0").Text!.Contains('y', StringComparison.Ordinal);
    }

    [Fact]
    public void DumpsOfLibrariesLoadOnBothServers()
    {
        using RespClient ours = _ours.Connect(), theirs = _redis.Connect();
        string callback = $"callback=function(keys) return '{new string('x', 500)}' end";
        string code = $"#!lua name=lib\nredis.register_function{{function_name='f', {callback}, flags={{'no-writes'}}, description='d'}}";
        foreach ((RespClient from, RespClient to) in new[] { (ours, theirs), (theirs, ours) })
        {
            from.Expect("$\"lib\"", "FUNCTION", "LOAD", "REPLACE", code);
            to.Call("FUNCTION", "FLUSH");
            to.Expect("+OK", "FUNCTION", "RESTORE", from.Call("FUNCTION", "DUMP").Text!);
            Assert.Equal(from.Call("FUNCTION", "LIST", "WITHCODE").ToString(), to.Call("FUNCTION", "LIST", "WITHCODE").ToString());
            Assert.Equal(from.Call("FCALL_RO", "f", "0").ToString(), to.Call("FCALL_RO", "f", "0").ToString());
        }
    }
}
