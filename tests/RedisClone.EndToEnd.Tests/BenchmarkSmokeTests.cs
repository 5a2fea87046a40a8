using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests;

/// <summary>Every benchmark still runs. Nothing is measured.</summary>
public sealed class BenchmarkSmokeTests
{
    [Fact]
    public async Task Every_benchmark_runs()
    {
        (int code, string output) = await Repository.RunAsync("dotnet", Path.Combine(AppContext.BaseDirectory, "RedisClone.Benchmarks.dll"), "smoke");
        Assert.True(code == 0, output);
        Assert.Contains("Ladder.Step5_Today runs", output, StringComparison.Ordinal);
    }
}
