using System.Globalization;
using System.Text;
using RedisClone.Admin.Info;
using RedisClone.Engine;
using RedisClone.Engine.Commands;

namespace RedisClone.Admin.Prometheus;

/// <summary>The values of INFO in the text format of Prometheus, and the latency histogram of each command.</summary>
internal static class MetricsPage
{
    public const string ContentType = "text/plain; version=0.0.4; charset=utf-8";

    private const string Latencies = "redis_commands_latencies_usec";

    public static string Write(ServerCore server)
    {
        var fields = new Dictionary<string, string>(StringComparer.Ordinal);
        foreach (string line in InfoReport.Write(server, ["everything", "debug"]).Split("\r\n"))
            if (line.IndexOf(':', StringComparison.Ordinal) is > 0 and var colon) fields[line[..colon]] = line[(colon + 1)..];
        var page = new StringBuilder(32 * 1024);
        Title(page, "redis_up", "1 wherever this can be read.", "gauge");
        page.Append("redis_up 1\n");
        Title(page, "redis_instance_info", "What this instance is.", "gauge");
        page.Append(CultureInfo.InvariantCulture, $"redis_instance_info{{" +
            $"{string.Join(',', MetricTable.Identity.Select(name => LabelOf(name, fields.GetValueOrDefault(name, ""))))}}} 1\n");
        foreach (Metric metric in MetricTable.All) Write(page, metric, fields);
        WriteLatencies(page, server);
        return page.ToString();
    }

    private static void Write(StringBuilder page, Metric metric, Dictionary<string, string> fields)
    {
        Title(page, metric.Name, metric.Help, metric.Type);
        if (metric.Label.Length == 0)
        {
            if (fields.TryGetValue(metric.Field, out string? value)) Sample(page, metric, "", value);
            return;
        }
        foreach ((string field, string values) in fields)
            if (field.StartsWith(metric.Field, StringComparison.Ordinal) && PartOf(values, metric.Part) is { } value)
                Sample(page, metric, "{" + LabelOf(metric.Label, metric.KeepsPrefix ? field : field[metric.Field.Length..]) + "}", value);
    }

    private static void Title(StringBuilder page, string name, string help, string type) =>
        page.Append(CultureInfo.InvariantCulture, $"# HELP {name} {help}\n# TYPE {name} {type}\n");

    private static void Sample(StringBuilder page, Metric metric, string labels, string value)
    {
        double number = value == "ok" ? 1 : 0;
        if (value is not ("ok" or "err") && !double.TryParse(value, CultureInfo.InvariantCulture, out number)) return;
        page.Append(CultureInfo.InvariantCulture, $"{metric.Name}{labels} {number * metric.Scale}\n");
    }

    /// <summary>The number after <c>name=</c> in a list such as <c>calls=1,usec=2</c>.</summary>
    private static string? PartOf(string values, string name)
    {
        foreach (string part in values.Split(','))
            if (part.StartsWith(name, StringComparison.Ordinal) && part.Length > name.Length && part[name.Length] == '=') return part[(name.Length + 1)..];
        return null;
    }

    private static string LabelOf(string name, string value) =>
        $"{name}=\"{value.Replace("\\", "\\\\", StringComparison.Ordinal).Replace("\"", "\\\"", StringComparison.Ordinal)}\"";

    private static void WriteLatencies(StringBuilder page, ServerCore server)
    {
        Title(page, Latencies, "How long the calls of a command took.", "histogram");
        foreach (CommandRow row in server.Commands.All)
        {
            if (server.Statistics.LatencyOf(row.Id) is not { } histogram) continue;
            string command = LabelOf("cmd", row.FullName);
            long count = 0;
            foreach ((long microseconds, long atMost) in histogram.Shown())
                page.Append(CultureInfo.InvariantCulture, $"{Latencies}_bucket{{{command},le=\"{microseconds}\"}} {count = atMost}\n");
            page.Append(CultureInfo.InvariantCulture, $"{Latencies}_bucket{{{command},le=\"+Inf\"}} {count}\n");
            page.Append(CultureInfo.InvariantCulture, $"{Latencies}_sum{{{command}}} {ServerCore.Microseconds(server.Statistics.CallsOf(row.Id).Ticks)}\n");
            page.Append(CultureInfo.InvariantCulture, $"{Latencies}_count{{{command}}} {count}\n");
        }
    }
}
