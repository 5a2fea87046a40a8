using System.Globalization;

namespace RedisClone.Admin.Info;

/// <summary>The value of a figure.</summary>
/// <param name="Text">The value in INFO.</param>
/// <param name="Number">The same value as a number, for metrics. Null if the value is no number.</param>
internal readonly record struct FigureValue(string Text, double? Number)
{
    public static implicit operator FigureValue(long value) => new(value.ToString(CultureInfo.InvariantCulture), value);

    public static implicit operator FigureValue(bool value) => value ? 1 : 0;

    public static implicit operator FigureValue(string value) => new(value, null);

    /// <summary>A state that is either ok or err; 1 or 0 as a number.</summary>
    public static FigureValue Status(bool isOk) => new(isOk ? "ok" : "err", isOk ? 1 : 0);

    /// <summary>A number with two decimals.</summary>
    public static FigureValue Ratio(double value) => Rounded(value, 2, "");

    /// <summary>A number with two decimals and the percent sign.</summary>
    public static FigureValue Percentage(double value) => Rounded(value, 2, "%");

    /// <summary>Seconds with six decimals.</summary>
    public static FigureValue Time(TimeSpan value) => Rounded(value.TotalSeconds, 6, "");

    /// <summary>The number is rounded as well, so that a metric and INFO agree.</summary>
    private static FigureValue Rounded(double value, int decimals, string sign) =>
        new(value.ToString("F" + decimals, CultureInfo.InvariantCulture) + sign,
            Math.Round(value, decimals, MidpointRounding.AwayFromZero));
}
