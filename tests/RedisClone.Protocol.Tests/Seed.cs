namespace RedisClone.Protocol.Tests;

/// <summary>Random tests take their seed from RC_SEED, and name it when they fail.</summary>
internal static class Seed
{
    public static int Value { get; } =
        int.TryParse(Environment.GetEnvironmentVariable("RC_SEED"), out int seed) ? seed : Environment.TickCount;

    public static string Note => $"RC_SEED={Value}";

    public static Random Random(int salt) => new(unchecked((Value * 397) ^ salt));
}
