using System.Text;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>
/// Random tests take their seed from REDISCLONE_SEED, name it when they fail, and print it once for every run. Each use has
/// a salt of its own, so that tests do not repeat one another's choices.
/// </summary>
internal static class Seed
{
    public static int Value { get; } =
        int.TryParse(Environment.GetEnvironmentVariable("REDISCLONE_SEED"), out int seed) ? seed : Environment.TickCount & 0xFFFFFF;

    public static string Note => $"REDISCLONE_SEED={Value}";

    /// <summary>How often something is done: more in long runs, which RC_LONG=1 asks for.</summary>
    public static int Times(int usual, int inLongRuns) => Environment.GetEnvironmentVariable("RC_LONG") == "1" ? inLongRuns : usual;

    static Seed() => Console.WriteLine(Note);

    public static Random Random(string salt)
    {
        int mixed = Value;
        foreach (byte b in Encoding.UTF8.GetBytes(salt)) mixed = unchecked(mixed * 16777619 ^ b);
        return new Random(mixed);
    }
}
