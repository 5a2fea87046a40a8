using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// Sends random requests of every family to this server and to redis-server and compares each reply. RC_SEED repeats a run,
/// <c>tests/fuzz commands</c> makes it longer.
/// </summary>
public sealed class DifferentialTests : IDisposable
{
    private const int RequestsPerRound = 3000;
    private const int MaxPipeline = 60;

    private static readonly int s_rounds = LongRun.Times(1, 1000);

    private readonly ServerProcess _ours = ServerProcess.Ours("--proto-max-bulk-len", "1mb");
    private readonly ServerProcess _redis = ServerProcess.Redis("--proto-max-bulk-len", "1mb");

    public static TheoryData<string, int, bool> Runs
    {
        get
        {
            var runs = new TheoryData<string, int, bool>();
            foreach (string family in Families.Compared.Append("everything"))
            {
                runs.Add(family, 2, false);
                runs.Add(family, 3, true);
                if (family is "everything" or "transactions")
                {
                    runs.Add(family, 2, true);
                    runs.Add(family, 3, false);
                }
            }
            return runs;
        }
    }

    public void Dispose()
    {
        _ours.Dispose();
        _redis.Dispose();
    }

    [Theory]
    [MemberData(nameof(Runs))]
    public void RepliesMatchRedisServer(string family, int protocol, bool pipelined)
    {
        HashSet<string> ourCommands = CommandNames.Of(_ours), theirCommands = CommandNames.Of(_redis);
        IEnumerable<Template> templates = family == "everything" ? Families.Everything : Families.All[family];
        Template[] common = [.. templates.Where(t => t.Name == "NOSUCHCOMMAND" || (t.IsIn(ourCommands) && t.IsIn(theirCommands)))];
        string[] own = [.. common.Select(t => t.Name).Distinct().Except(["SET", "GET", "DEL"])];
        Assert.True(own.Length > 0, $"the server has no command of the family {family}");

        Random random = Seed.Random($"{family} {protocol} {pipelined}");
        var stream = new CommandStream(common, random);
        using var differential = new Differential(_ours, _redis, protocol, ourCommands);
        for (int sent = 0; sent < RequestsPerRound * s_rounds && !differential.Enough;)
        {
            string[][] requests = [.. Enumerable.Range(0, pipelined ? 1 + random.Next(MaxPipeline) : 1).Select(_ => stream.Next())];
            differential.Run(requests);
            sent += requests.Length;
        }
        if (differential.Findings.Count == 0) differential.CompareState();
        Assert.True(differential.Findings.Count == 0, $"{Seed.Note}\n{string.Join('\n', differential.Findings)}");
        _ours.AssertWell();
    }
}
