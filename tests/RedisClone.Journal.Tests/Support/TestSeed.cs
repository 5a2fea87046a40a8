using System.Globalization;

namespace RedisClone.Journal.Tests.Support;

/// <summary>Seeds and sizes of random tests: RC_SEED repeats one, RC_LONG=1 runs the long form.</summary>
public static class TestSeed
{
    public static bool IsLong => Environment.GetEnvironmentVariable("RC_LONG") == "1";

    public static int Seed { get; } =
        int.TryParse(Environment.GetEnvironmentVariable("RC_SEED"), CultureInfo.InvariantCulture, out var seed) ? seed : Random.Shared.Next();

    public static int Times(int usual, int inLongRuns) => IsLong ? inLongRuns : usual;
}
