using Xunit.Abstractions;


namespace RedisClone.Server.Tests.Commands;

/// <summary>Compares LCS with the textbook table, traced back in the order of Redis.</summary>
public sealed class LcsTests(ITestOutputHelper output)
{
    private readonly CommandHost _host = new();

    [Fact]
    public void AgreesWithTheTable()
    {
        var random = Seed.Random(output);
        for (int round = 0; round < 400; round++)
        {
            string a = RandomText(random), b = RandomText(random);
            _host.Call("SET", "a", a);
            _host.Call("SET", "b", b);
            int least = random.Next(0, 4);
            (string common, List<(int A, int B, int Length)> runs) = Solve(a, b);
            Assert.Equal(common, _host.Run("LCS a b"));
            Assert.Equal(common.Length.ToString(), _host.Run("LCS a b LEN"));
            string matches = string.Join(
                ' ',
                runs.Where(r => r.Length >= least).Select(r => $"[[{r.A} {r.A + r.Length - 1}] [{r.B} {r.B + r.Length - 1}] {r.Length}]"));
            Assert.Equal($"[matches [{matches}] len {common.Length}]", _host.Run($"LCS a b IDX MINMATCHLEN {least} WITHMATCHLEN"));
        }
    }

    [Theory]
    [InlineData("LCS a b LEN IDX", "ERR If you want both the length and indexes, please just use IDX.")]
    [InlineData("LCS a b MINMATCHLEN", "ERR syntax error")]
    [InlineData("LCS a b MINMATCHLEN x", "ERR value is not an integer or out of range")]
    [InlineData("LCS a b FOO", "ERR syntax error")]
    [InlineData("LCS none neither", "")]
    [InlineData("LCS none neither LEN", "0")]
    [InlineData("LCS none neither IDX", "[matches [] len 0]")]
    public void EdgeCasesHaveTheExpectedReply(string command, string expected) => Assert.Equal(expected, _host.Run(command));

    [Fact]
    public void MemoryIsBounded()
    {
        _host.Core.Config.ProtoMaxBulkLen = 1_000_000;
        _host.Call("SET", "a", new string('x', 1000));
        _host.Call("SET", "b", new string('x', 1000));
        Assert.Equal("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len", _host.Run("LCS a b"));
    }

    private static string RandomText(Random random) =>
        string.Concat(Enumerable.Range(0, random.Next(0, 200)).Select(_ => (char)('a' + random.Next(random.Next(1, 8)))));

    private static (string Common, List<(int A, int B, int Length)> Runs) Solve(string a, string b)
    {
        var table = new int[a.Length + 1, b.Length + 1];
        for (int i = 1; i <= a.Length; i++)
            for (int j = 1; j <= b.Length; j++)
                table[i, j] = a[i - 1] == b[j - 1] ? table[i - 1, j - 1] + 1 : Math.Max(table[i - 1, j], table[i, j - 1]);
        var common = new List<char>();
        var runs = new List<(int A, int B, int Length)>();
        int x = a.Length, y = b.Length;
        while (x > 0 && y > 0)
        {
            int length = 0;
            for (; x > 0 && y > 0 && a[x - 1] == b[y - 1]; x--, y--, length++) common.Add(a[x - 1]);
            if (length > 0) runs.Add((x, y, length));
            else if (table[x - 1, y] > table[x, y - 1]) x--;
            else y--;
        }
        common.Reverse();
        return (string.Concat(common), runs);
    }
}
