using System.Globalization;
using System.Text;
using RedisClone.Admin.Info;
using RedisClone.Engine;

namespace RedisClone.Admin.Prometheus;

/// <summary>
/// The figures in the text format of Prometheus, and the latency histogram of each command. The rows of INFO's sections define
/// the metrics.
/// </summary>
internal static class MetricsPage
{
    public const string ContentType = "text/plain; version=0.0.4; charset=utf-8";

    private const string Latencies = "redis_commands_latencies_usec";

    /// <summary>The metrics of all figures, in the order of the page.</summary>
    public static readonly Export[] Exports =
        [.. InfoReport.Rows.SelectMany(row => row.Exports).OrderBy(export => export.Metric.Place)];

    /// <summary>Figures that identify this instance: the labels of <c>redis_instance_info</c>.</summary>
    private static readonly Figure[] Identity =
    [
        .. new[] { "redis_version", "redisclone_version", "redis_mode", "role", "os", "maxmemory_policy", "tcp_port", "run_id" }
            .Select(name => InfoReport.Rows.OfType<Figure>().Single(figure => figure.Name == name)),
    ];

    public static string Write(ServerCore server)
    {
        var reading = new ServerReading(server);
        var page = new StringBuilder(32 * 1024);
        WriteTitle(page, "redis_up", "1 wherever this can be read.", "gauge");
        page.Append("redis_up 1\n");
        WriteTitle(page, "redis_instance_info", "What this instance is.", "gauge");
        string labels = string.Join(',', Identity.Select(figure => LabelOf(figure.Name, figure.Read(reading)?.Text ?? "")));
        page.Append(CultureInfo.InvariantCulture, $"redis_instance_info{{{labels}}} 1\n");
        foreach (Export export in Exports) Write(page, export, reading);
        WriteLatencies(page, reading);
        return page.ToString();
    }

    private static void Write(StringBuilder page, Export export, ServerReading reading)
    {
        Metric metric = export.Metric;
        WriteTitle(page, metric.Name, metric.Help, metric.Type);
        // Prometheus permits a label only once, and two error codes can have the same one.
        var samples = new OrderedDictionary<(string Label, string Quantile), double>();
        foreach (Sample sample in export.Read(reading)) samples[(sample.Label, sample.Quantile)] = sample.Value;
        foreach (((string label, string quantile), double value) in samples)
        {
            string member = export.Label.Length == 0 ? "" : LabelOf(export.Label, label);
            string part = quantile.Length == 0 ? "" : LabelOf("quantile", quantile);
            string labels = member.Length + part.Length == 0 ? "" : "{" + string.Join(',', new[] { member, part }.Where(text => text.Length > 0)) + "}";
            page.Append(CultureInfo.InvariantCulture, $"{metric.Name}{labels} {value}\n");
        }
    }

    private static void WriteTitle(StringBuilder page, string name, string help, string type) =>
        page.Append(CultureInfo.InvariantCulture, $"# HELP {name} {help}\n# TYPE {name} {type}\n");

    private static string LabelOf(string name, string value)
    {
        string escaped = value.Replace("\\", "\\\\", StringComparison.Ordinal).Replace("\"", "\\\"", StringComparison.Ordinal);
        return $"{name}=\"{escaped}\"";
    }

    private static void WriteLatencies(StringBuilder page, ServerReading reading)
    {
        WriteTitle(page, Latencies, "How long the calls of a command took.", "histogram");
        foreach (CommandReading command in reading.Commands)
        {
            if (reading.Server.Statistics.LatencyOf(command.Row.Id) is not { } histogram) continue;
            string label = LabelOf("cmd", command.Row.FullName);
            long count = 0, sum = ServerCore.Microseconds(command.Counters.Ticks);
            foreach ((long microseconds, long atMost) in histogram.Shown())
            {
                count = atMost;
                page.Append(CultureInfo.InvariantCulture, $"{Latencies}_bucket{{{label},le=\"{microseconds}\"}} {count}\n");
            }
            page.Append(CultureInfo.InvariantCulture, $"{Latencies}_bucket{{{label},le=\"+Inf\"}} {count}\n");
            page.Append(CultureInfo.InvariantCulture, $"{Latencies}_sum{{{label}}} {sum}\n");
            page.Append(CultureInfo.InvariantCulture, $"{Latencies}_count{{{label}}} {count}\n");
        }
    }
}
