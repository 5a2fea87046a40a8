using System.Diagnostics;
using System.Globalization;
using System.Text.Json;
using RedisClone.Compare.Servers;

namespace RedisClone.Compare.Load;

/// <summary>
/// Sends the same load with memtier_benchmark, to check the load generator. The keys of memtier_benchmark have no padding, so it
/// uses only keys with six digits. The fill creates these keys, because it pads the numbers below a million.
/// </summary>
internal sealed class MemtierLoad(string path, ServerSetup setup, LoadPlan plan, IReadOnlyList<int> cores) : ILoad
{
    public LoadResult Run(LoadLimit limit)
    {
        string report = Path.GetTempFileName();
        int seconds = Math.Max(1, (int)Math.Round(limit.Duration.TotalSeconds));
        string[] arguments =
        [
            "-c", string.Join(',', cores), path, "-s", "127.0.0.1", .. ToServer(), "-t", Text(plan.Threads),
            "-c", Text(plan.Connections / plan.Threads),
            "--pipeline", Text(plan.Pipeline), "--ratio", "1:10", "-d", "256", "--key-prefix", "memtier-",
            "--key-minimum", "100000", "--key-maximum", "999999", "--key-pattern", "R:R", "--distinct-client-seed",
            "--test-time", Text(seconds), "--hide-histogram", "--json-out-file", report,
        ];
        try
        {
            long cpu = ChildrenCpu();
            long started = Stopwatch.GetTimestamp();
            using var process = Process.Start(
                new ProcessStartInfo("taskset", arguments) { RedirectStandardOutput = true, RedirectStandardError = true })!;
            process.OutputDataReceived += (_, _) => { };
            process.BeginOutputReadLine();
            string errors = process.StandardError.ReadToEnd();
            process.WaitForExit();
            TimeSpan elapsed = Stopwatch.GetElapsedTime(started);
            if (process.ExitCode != 0)
                throw new LoadException($"memtier_benchmark exited with {process.ExitCode}: {errors.Trim()}");
            return Read(report, elapsed, ChildrenCpu() - cpu);
        }
        finally
        {
            File.Delete(report);
        }
    }

    public void Dispose()
    {
    }

    private string[] ToServer() => setup.Link == Link.Tls
        ? ["-p", Text(setup.TlsPort), "--tls", "--tls-skip-verify"]
        : ["-p", Text(setup.Port)];

    private static long ChildrenCpu() => ProcFs.ChildrenCpu(Environment.ProcessId).Total;

    private static LoadResult Read(string report, TimeSpan elapsed, long cpu)
    {
        using var document = JsonDocument.Parse(File.ReadAllText(report));
        JsonElement totals = document.RootElement.GetProperty("ALL STATS").GetProperty("Totals");
        JsonElement percentiles = totals.GetProperty("Percentile Latencies");
        var latency = new Latencies(
            Nanoseconds(percentiles.GetProperty("p50.00")),
            Nanoseconds(percentiles.GetProperty("p99.00")),
            Nanoseconds(percentiles.GetProperty("p99.90")),
            Nanoseconds(totals.GetProperty("Max Latency")));
        return new LoadResult(totals.GetProperty("Count").GetInt64(), elapsed, cpu, latency);

        static long Nanoseconds(JsonElement milliseconds) => (long)(milliseconds.GetDouble() * 1_000_000);
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
