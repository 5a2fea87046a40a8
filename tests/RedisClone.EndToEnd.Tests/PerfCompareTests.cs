using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests;

/// <summary>
/// Runs the measurement of perf/compare on a small scale. Its counts must match the counters of redis-server, and it must print
/// its tables. The tests assert no measured value.
/// </summary>
public sealed class PerfCompareTests
{
    [Fact]
    public async Task TheLoadGeneratorAgreesWithRedisServer()
    {
        (int code, string output) = await Run("--self-test");
        Assert.True(code == 0, output);
        Assert.Contains("self-test passed", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task AQuickComparisonPrintsARowForEveryWorkload()
    {
        string[] workloads =
            ["set-get-p30", "zset-p1", "publish-1000", "memory-list-10m", "always-1c-p1", "restart-journal-5m-keys"];
        string csv = Path.Combine(Path.GetTempPath(), $"compare-{Guid.NewGuid():N}.csv");
        try
        {
            (int code, string output) = await Run(
                "--quick", "--servers", "redis-server", "--workloads", string.Join(',', workloads), "--csv", csv);
            Assert.True(code == 0, output);
            foreach (string workload in workloads)
                Assert.Contains($"| {workload} | redis-server | ", output, StringComparison.Ordinal);
            Assert.Equal(1 + workloads.Length, (await File.ReadAllLinesAsync(csv)).Length);
        }
        finally
        {
            File.Delete(csv);
        }
    }

    private static Task<(int Code, string Output)> Run(params IEnumerable<string> arguments) =>
        Repository.RunAsync("dotnet", [Path.Combine(AppContext.BaseDirectory, "RedisClone.Compare.dll"), .. arguments]);
}
