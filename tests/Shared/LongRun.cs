using System.Globalization;

namespace RedisClone.Tests;

/// <summary>
/// Tells whether this is a long run (RC_LONG=1) and how much work a test does in it: the value of RC_AMOUNT, or the
/// test's own amount for long runs. All test projects share this class. <c>tests/long</c> and <c>tests/fuzz</c> set
/// both variables.
/// </summary>
internal static class LongRun
{
    public static bool IsLong { get; } = Environment.GetEnvironmentVariable("RC_LONG") == "1";

    /// <summary>Returns the number of repetitions, or another amount of work.</summary>
    public static long Times(long usual, long inLongRuns) =>
        !IsLong
            ? usual
            : long.TryParse(Environment.GetEnvironmentVariable("RC_AMOUNT"), CultureInfo.InvariantCulture, out long amount)
                ? amount
                : inLongRuns;

    public static int Times(int usual, int inLongRuns) => (int)Times((long)usual, inLongRuns);
}
