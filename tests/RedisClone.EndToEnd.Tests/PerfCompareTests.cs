using System.Diagnostics;

namespace RedisClone.EndToEnd.Tests;

/// <summary>
/// The instrument of perf/compare, run small: it must agree with redis-server's own counters and still print its tables.
/// No figure is asserted.
/// </summary>
public sealed class PerfCompareTests
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(3);

    [Fact]
    public async Task The_load_generator_agrees_with_redis_server()
    {
        (int code, string output) = await Run("--self-test");
        Assert.True(code == 0, output);
        Assert.Contains("self-test passed", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_quick_comparison_prints_a_row_for_every_workload()
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

    private static async Task<(int Code, string Output)> Run(params IEnumerable<string> arguments)
    {
        string program = Path.Combine(AppContext.BaseDirectory, "RedisClone.Compare.dll");
        using Process process = Process.Start(new ProcessStartInfo("dotnet", [program, .. arguments])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!;
        using var patience = new CancellationTokenSource(s_patience);
        try
        {
            Task<string> errors = process.StandardError.ReadToEndAsync(patience.Token);
            string output = await process.StandardOutput.ReadToEndAsync(patience.Token);
            await process.WaitForExitAsync(patience.Token);
            return (process.ExitCode, output + await errors);
        }
        catch (OperationCanceledException)
        {
            process.Kill(entireProcessTree: true);
            throw;
        }
    }
}
