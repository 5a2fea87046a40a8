using System.Globalization;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.Log;

/// <summary>How far a long work is, as a line of a log or as a bar on a terminal.</summary>
internal static class ProgressText
{
    private const int BarWidth = 24;

    private static readonly string[] Sizes = ["B", "KB", "MB", "GB", "TB"];

    /// <summary>For example: 34 %, 1.2 of 3.4 GB, 230 MB a second, about 10 s left.</summary>
    public static string Line(LongWork work)
    {
        string rate = $"{Amount(work.Rate, work.InBytes)} a second";
        if (work.Total == 0) return $"{Amount(work.Done, work.InBytes)}, {rate}";
        string left = work.SecondsLeft < 0 ? "time left unknown" : $"about {Span(work.SecondsLeft)} left";
        return string.Create(CultureInfo.InvariantCulture,
            $"{Math.Floor(100 * work.Share)} %, {Amount(work.Done, work.InBytes)} of {Amount(work.Total, work.InBytes)}, {rate}, {left}");
    }

    /// <summary>The same with a bar.</summary>
    public static string Bar(LongWork work)
    {
        int filled = (int)(work.Share * BarWidth);
        return $"{work.Kind.Title} [{new string('#', filled)}{new string('.', BarWidth - filled)}] {Line(work)}";
    }

    private static string Span(long seconds) => seconds switch
    {
        < 60 => string.Create(CultureInfo.InvariantCulture, $"{seconds} s"),
        < 3600 => string.Create(CultureInfo.InvariantCulture, $"{seconds / 60} min {seconds % 60} s"),
        _ => string.Create(CultureInfo.InvariantCulture, $"{seconds / 3600} h {seconds / 60 % 60} min"),
    };

    private static string Amount(double amount, bool inBytes)
    {
        if (!inBytes) return string.Create(CultureInfo.InvariantCulture, $"{amount:N0} keys");
        int unit = 0;
        for (; amount >= 1024 && unit < Sizes.Length - 1; unit++) amount /= 1024;
        return unit == 0 || amount >= 100
            ? string.Create(CultureInfo.InvariantCulture, $"{amount:F0} {Sizes[unit]}")
            : string.Create(CultureInfo.InvariantCulture, $"{amount:F1} {Sizes[unit]}");
    }
}
