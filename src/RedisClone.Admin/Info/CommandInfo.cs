using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.Info;

/// <summary>INFO's sections about commands and errors.</summary>
internal static class CommandInfo
{
    private static readonly double TicksPerMicrosecond = Stopwatch.Frequency / 1e6;

    public static void Calls(ServerCore server, InfoWriter info)
    {
        info.Section("Commandstats");
        foreach (CommandRow row in server.Commands.All)
        {
            CommandCounters calls = server.Statistics.CallsOf(row.Id);
            if (calls.Calls == 0 && calls.Rejected == 0 && calls.Failed == 0) continue;
            double microseconds = calls.Ticks / TicksPerMicrosecond;
            double perCall = calls.Calls == 0 ? 0 : microseconds / calls.Calls;
            info.Field("cmdstat_" + row.FullName, string.Create(CultureInfo.InvariantCulture,
                $"calls={calls.Calls},usec={(long)microseconds},usec_per_call={perCall:F2},rejected_calls={calls.Rejected},failed_calls={calls.Failed}"));
        }
    }

    public static void Errors(ServerCore server, InfoWriter info)
    {
        info.Section("Errorstats");
        foreach ((string code, long count) in server.Statistics.Errors.Read())
            info.Field("errorstat_" + Safe(code), string.Create(CultureInfo.InvariantCulture, $"count={count}"));
    }

    public static void Latencies(ServerCore server, InfoWriter info)
    {
        info.Section("Latencystats");
        if (!server.Config.LatencyTracking) return;
        foreach (CommandRow row in server.Commands.All)
            if (server.Statistics.LatencyOf(row.Id) is { } histogram)
                info.Field("latency_percentiles_usec_" + row.FullName, Percentiles(histogram, server.Config.LatencyTrackingInfoPercentiles));
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
