namespace RedisClone.Protocol.Tests;

/// <summary>The seed of random tests. RC_SEED sets it, and a failed test prints it.</summary>
internal static class Seed
{
    public static int Value { get; } =
        int.TryParse(Environment.GetEnvironmentVariable("RC_SEED"), out int seed) ? seed : Environment.TickCount;

    public static string Note => $"RC_SEED={Value}";

    public static Random Random(int salt) => new(unchecked((Value * 397) ^ salt));
}
