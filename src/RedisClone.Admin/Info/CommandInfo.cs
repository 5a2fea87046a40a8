using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Metrics;
using static RedisClone.Admin.Info.FigureValue;
using static RedisClone.Admin.Info.Metric;

namespace RedisClone.Admin.Info;

/// <summary>INFO's sections about commands and errors.</summary>
internal static class CommandInfo
{
    private static readonly double TicksPerMicrosecond = Stopwatch.Frequency / 1e6;

    public static readonly InfoRow[] Calls =
    [
        new Family<CommandCounters>("cmdstat_", "cmd", Called,
        [
            new("calls", c => c.Calls, Counter("redis_commands_total", "Calls of a command.", place: 72)),
            new("usec", c => (long)MicrosecondsOf(c),
                Counter("redis_commands_duration_seconds_total",
                    "Seconds that the calls of a command took.", Unit.Microseconds, place: 73)),
            new("usec_per_call", c => Ratio(c.Calls == 0 ? 0 : MicrosecondsOf(c) / c.Calls)),
            new("rejected_calls", c => c.Rejected,
                Counter("redis_commands_rejected_calls_total",
                    "Calls of a command that were refused before they ran.", place: 74)),
            new("failed_calls", c => c.Failed,
                Counter("redis_commands_failed_calls_total", "Calls of a command that returned an error.", place: 75)),
        ]),
    ];

    public static readonly InfoRow[] Errors =
    [
        new Family<long>("errorstat_", "err", static r => r.Errors.Select(e => KeyValuePair.Create(Safe(e.Key), e.Value)),
        [
            new("count", count => count, Counter("redis_errors_total", "Errors replied, by their first word.", place: 76)),
        ]),
    ];

    public static readonly InfoRow[] Latencies = [new FreeText(WriteLatencies)];

    private static double MicrosecondsOf(CommandCounters counters) => counters.Ticks / TicksPerMicrosecond;

    private static IEnumerable<KeyValuePair<string, CommandCounters>> Called(ServerReading reading) => reading.Commands
        .Where(command => command.Counters is not { Calls: 0, Rejected: 0, Failed: 0 })
        .Select(command => KeyValuePair.Create(command.Row.FullName, command.Counters));

    private static void WriteLatencies(ServerReading reading, InfoWriter info)
    {
        if (!reading.Config.LatencyTracking) return;
        foreach (CommandReading command in reading.Commands)
            if (reading.Server.Statistics.LatencyOf(command.Row.Id) is { } histogram)
                info.Field("latency_percentiles_usec_" + command.Row.FullName,
                    Percentiles(histogram, reading.Config.LatencyTrackingInfoPercentiles));
    }

    private static string Percentiles(LatencyHistogram histogram, double[] percentiles)
    {
        var text = new StringBuilder();
        foreach (double percentile in percentiles)
        {
            if (text.Length > 0) text.Append(',');
            text.Append(CultureInfo.InvariantCulture, $"p{percentile}={histogram.Percentile(percentile) / TicksPerMicrosecond:F3}");
        }
        return text.ToString();
    }

    /// <summary>Scripts choose error codes freely, so characters that would break the lines of INFO are replaced.</summary>
    private static string Safe(string code) => string.Create(code.Length, code, static (to, from) =>
    {
        for (int i = 0; i < to.Length; i++) to[i] = from[i] is '#' or ':' or '\n' or '\r' ? '_' : from[i];
    });
}
