using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// Sends random requests of every family to this server and to redis-server and compares each reply. RC_SEED repeats a run,
/// <c>tests/fuzz commands</c> makes it longer.
/// </summary>
public sealed class DifferentialTests : IDisposable
{
    private const string Everything = "everything";
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
            foreach (string family in Families.All.Keys.Append(Everything))
            {
                runs.Add(family, 2, false);
                runs.Add(family, 3, true);
                if (family is Everything or "transactions")
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
        var templates = new RowTemplates(_ours, _redis);
        Random random = Seed.Random($"{family} {protocol} {pipelined}");
        var stream = new CommandStream(family == Everything ? templates.Independent : templates.Of(family), random);
        using var differential = new Differential(_ours, _redis, protocol, templates.Rows);
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
