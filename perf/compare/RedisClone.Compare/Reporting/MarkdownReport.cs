using System.Globalization;
using System.Runtime.InteropServices;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Reporting;

/// <summary>Writes the results as Markdown: the machine, one row for each workload and server, and the goals with the reached figures.</summary>
internal sealed class MarkdownReport(Results results, IReadOnlyList<ServerKind> kinds, IReadOnlyList<Workload> workloads)
{
    public void Write(TextWriter to)
    {
        WriteMachine(to);
        Workload[] caches = [.. workloads.Where(w => w.Procedure == Procedure.Cache)];
        if (caches.Length < workloads.Count)
            WriteFigures(to);
        if (caches.Length > 0)
            WriteCaches(to, caches);
        WriteGoals(to);
    }

    private void WriteMachine(TextWriter to)
    {
        string model = File.ReadLines("/proc/cpuinfo")
            .Where(line => line.StartsWith("model name", StringComparison.Ordinal))
            .Select(line => line[(line.IndexOf(':') + 1)..].Trim())
            .FirstOrDefault("unknown processor");
        to.WriteLine($"Measured {DateTime.UtcNow:yyyy-MM-dd HH:mm} UTC on {model}, " +
            $"{Environment.ProcessorCount} cores, {RuntimeInformation.OSDescription}. " +
            $"{string.Join(", ", kinds.Select(k => $"{k.Name} {k.Version()}"))}.");
        to.WriteLine();
    }

    private void WriteFigures(TextWriter to)
    {
        to.WriteLine("| workload | server | CPU µs/op | × | user | ops/s | × | p50 µs | p99 µs | p99.9 µs | × | max ms " +
            "| RSS MB | × | start ms | × | load µs/op |");
        to.WriteLine($"| --- | --- |{string.Concat(Enumerable.Repeat(" ---: |", 15))}");
        foreach (string name in workloads.Where(w => w.Procedure != Procedure.Cache).SelectMany(RowNames))
        {
            foreach (ServerKind kind in kinds)
            {
                if (results.Of(name, kind.Name).Count > 0)
                    WriteRow(to, name, kind.Name);
                else
                    WriteFailure(to, name, kind.Name);
            }
        }

        to.WriteLine();
    }

    private void WriteCaches(TextWriter to, IEnumerable<Workload> caches)
    {
        to.WriteLine("| workload | server | hits | keys held | CPU µs/lookup |");
        to.WriteLine("| --- | --- | ---: | ---: | ---: |");
        foreach (string name in caches.Select(w => w.Name))
        {
            foreach (string kind in kinds.Select(k => k.Name))
            {
                if (results.Median(name, kind, s => s[Metric.HitRatio]) is { } hits)
                    to.WriteLine($"| {name} | {kind} | {Number(hits * 100, "0.00")}% | " +
                        $"{Number(results.Median(name, kind, s => s.Keys), "N0")} | " +
                        $"{Number(results.Median(name, kind, s => s.CpuMicroseconds), "0.00")} |");
                else
                    WriteFailure(to, name, kind);
            }
        }

        to.WriteLine();
    }

    private void WriteFailure(TextWriter to, string workload, string server)
    {
        if (results.FailureOf(workload, server) is { } reason)
            to.WriteLine($"| {workload} | {server} | {LastLine(reason)} |");
    }

    private static string[] RowNames(Workload workload) =>
        workload.HasRowBefore ? [workload.Before, workload.Name] : [workload.Name];

    private void WriteRow(TextWriter to, string workload, string server)
    {
        string[] cells =
        [
            workload, server,
            Figure(s => s.CpuMicroseconds, "0.00"), Times(Metric.Cpu), Figure(s => s.Cpu.UserShare * 100, "0'%'"),
            Figure(s => s.Throughput, "N0"), Times(Metric.Throughput),
            Figure(s => s.Load.Latency.P50 / 1e3, "N0"), Figure(s => s.Load.Latency.P99 / 1e3, "N0"),
            Figure(s => s.Load.Latency.P999 / 1e3, "N0"), Times(Metric.P999), Figure(s => s.Load.Latency.Max / 1e6, "0.0"),
            Figure(s => s.Resident / 1e6, "N0"), Times(Metric.Resident),
            Figure(s => s.StartTime.TotalMilliseconds, "N0"), Times(Metric.StartTime), Figure(s => s.LoadCpuMicroseconds, "0.00"),
        ];
        to.WriteLine($"| {string.Join(" | ", cells)} |");

        string Figure(Func<Sample, double> figure, string format) =>
            results.Median(workload, server, figure)!.Value.ToString(format, CultureInfo.InvariantCulture);

        string Times(Metric metric) => Number(results.Ratio(metric, (workload, server), (workload, ServerKind.Redis)), "0.00");
    }

    private void WriteGoals(TextWriter to)
    {
        var goals = workloads.SelectMany(w => w.Goals.Select(g => (Workload: w, Goal: g))).ToList();
        ServerKind[] builds = [.. kinds.Where(k => k.Name is ServerKind.Ours or ServerKind.Native)];
        if (goals.Count == 0 || builds.Length == 0)
            return;
        to.WriteLine("| workload | server | goal | reached | range over rounds | |");
        to.WriteLine("| --- | --- | --- | ---: | ---: | --- |");
        foreach ((Workload workload, Goal goal) in goals)
        {
            foreach (string build in builds.Select(k => k.Name))
            {
                double? figure = FigureOf(workload.Name, build, goal);
                if (figure is null)
                    continue;
                string verdict = goal.IsMet(figure.Value) ? "met" : "**missed**";
                string range = Range(workload.Name, build, goal);
                to.WriteLine($"| {workload.Name} | {build} | {Describe(goal, build)} | {Number(figure, "0.00")} | {range} | {verdict} |");
            }
        }

        to.WriteLine();
    }

    private double? FigureOf(string workload, string build, Goal goal) => goal is { Server: null, Workload: null }
        ? results.Median(workload, build, s => s[goal.Metric])
        : results.Ratio(goal.Metric, (workload, build), (goal.Workload ?? workload, goal.ReferenceOf(build)));

    /// <summary>Returns the smallest and the largest ratio of a round, which show the accuracy of the median.</summary>
    private string Range(string workload, string build, Goal goal)
    {
        if (goal.Server is null || goal.Workload is not null)
            return "";
        double[] ratios =
        [
            .. from mine in results.Of(workload, build)
               join other in results.Of(workload, goal.ReferenceOf(build)) on mine.Round equals other.Round
               select mine[goal.Metric] / other[goal.Metric],
        ];
        return ratios.Length < 2 ? "" : $"{Number(ratios.Min(), "0.00")} to {Number(ratios.Max(), "0.00")}";
    }

    private static string Describe(Goal goal, string build)
    {
        string metric = goal.Metric switch
        {
            Metric.Cpu => "CPU per operation",
            Metric.Throughput => "throughput",
            Metric.P50 => "p50",
            Metric.P99 => "p99",
            Metric.P999 => "p99.9",
            Metric.Resident => goal is { Server: null, Workload: null } ? "resident memory (bytes)" : "resident memory",
            Metric.StartTime => "time to first PONG (ms)",
            Metric.Elapsed => "duration",
            Metric.Pause => "longest pause of the collector (ms)",
            Metric.HitRatio => "hit ratio",
            Metric.Lag => "longest lag of the replica (ms)",
            _ => "bytes on disk per operation",
        };
        string reference = goal is { Server: null, Workload: null } ? "" : $" of {(goal.Server is null ? goal.Workload : goal.ReferenceOf(build))}";
        return $"{metric} at {(goal.AtMost ? "most" : "least")} {Number(goal.Limit, "0.##")}{reference}";
    }

    private static string LastLine(string text) => text.TrimEnd().Split('\n')[^1].Replace('|', ' ');

    private static string Number(double? value, string format) =>
        value is { } number && double.IsFinite(number) ? number.ToString(format, CultureInfo.InvariantCulture) : "";
}
