using System.Globalization;

namespace RedisClone.Journal.Tests.Support;

/// <summary>The seed of random tests. RC_SEED repeats an earlier run.</summary>
public static class TestSeed
{
    public static int Seed { get; } =
        int.TryParse(Environment.GetEnvironmentVariable("RC_SEED"), CultureInfo.InvariantCulture, out var seed)
            ? seed
            : Random.Shared.Next();
}
