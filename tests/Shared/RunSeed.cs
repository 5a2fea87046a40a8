namespace RedisClone.Tests;

/// <summary>The seed of the random tests: printed, and taken from the environment to see a failure again.</summary>
internal static class RunSeed
{
    public static int Take()
    {
        var seed = int.TryParse(Environment.GetEnvironmentVariable("RC_SEED"), out var given) ? given : Random.Shared.Next();
        Console.WriteLine($"RC_SEED={seed}");
        return seed;
    }
}
