using System.Diagnostics;

namespace RedisClone.EndToEnd.Tests;

/// <summary>Every benchmark still runs. Nothing is measured.</summary>
public sealed class BenchmarkSmokeTests
{
    [Fact]
    public async Task Every_benchmark_runs()
    {
        using Process process = Process.Start(
            new ProcessStartInfo("dotnet", [Path.Combine(AppContext.BaseDirectory, "RedisClone.Benchmarks.dll"), "smoke"]) { RedirectStandardOutput = true })!;
        using var patience = new CancellationTokenSource(TimeSpan.FromMinutes(3));
        string output = await process.StandardOutput.ReadToEndAsync(patience.Token);
        await process.WaitForExitAsync(patience.Token);
        Assert.True(process.ExitCode == 0, output);
        Assert.Contains("Ladder.Step5_Today runs", output, StringComparison.Ordinal);
    }
}
