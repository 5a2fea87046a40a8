using System.Text;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>
/// Random tests take their seed from RC_SEED, print it once for each run, and name it in failures. Each use has its own salt, so
/// that tests make different choices.
/// </summary>
internal static class Seed
{
    public static int Value { get; } =
        int.TryParse(Environment.GetEnvironmentVariable("RC_SEED"), out int seed) ? seed : Environment.TickCount & 0xFFFFFF;

    public static string Note => $"RC_SEED={Value}";

    static Seed() => Console.WriteLine(Note);

    public static Random Random(string salt)
    {
        int mixed = Value;
        foreach (byte b in Encoding.UTF8.GetBytes(salt)) mixed = unchecked(mixed * 16777619 ^ b);
        return new Random(mixed);
    }
}
