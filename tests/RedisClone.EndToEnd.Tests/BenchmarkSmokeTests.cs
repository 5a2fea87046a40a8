using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests;

/// <summary>Every benchmark runs without an error. This test measures nothing.</summary>
public sealed class BenchmarkSmokeTests
{
    [Fact]
    public async Task EveryBenchmarkRuns()
    {
        (int code, string output) = await Repository.RunAsync("dotnet", Path.Combine(AppContext.BaseDirectory, "RedisClone.Benchmarks.dll"), "smoke");
        Assert.True(code == 0, output);
        Assert.Contains("Ladder.Step5ThisServer runs", output, StringComparison.Ordinal);
    }
}
