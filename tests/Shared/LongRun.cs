using System.Globalization;

namespace RedisClone.Tests;

/// <summary>
/// Whether this is a long run (RC_LONG=1), and how much is done in one: as much as RC_AMOUNT says, or else what the test means by long. Shared by
/// all test projects; <c>tests/long</c> and <c>tests/fuzz</c> set both.
/// </summary>
internal static class LongRun
{
    public static bool IsLong { get; } = Environment.GetEnvironmentVariable("RC_LONG") == "1";

    /// <summary>How often something is done, or how much of it.</summary>
    public static long Times(long usual, long inLongRuns) =>
        !IsLong ? usual : long.TryParse(Environment.GetEnvironmentVariable("RC_AMOUNT"), CultureInfo.InvariantCulture, out long amount) ? amount : inLongRuns;

    public static int Times(int usual, int inLongRuns) => (int)Times((long)usual, inLongRuns);
}
