namespace RedisClone.Tests;

/// <summary>
/// The seed of the random tests. The tests print it and take it from the environment, so that a failure can be repeated.
/// </summary>
internal static class RunSeed
{
    public static int Take()
    {
        var seed = int.TryParse(Environment.GetEnvironmentVariable("RC_SEED"), out var given) ? given : Random.Shared.Next();
        Console.WriteLine($"RC_SEED={seed}");
        return seed;
    }
}
