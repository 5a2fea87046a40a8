using System.Globalization;
using System.Text;
using Xunit.Abstractions;

namespace RedisClone.Tests;

/// <summary>
/// The seed of all random tests of a run. RC_SEED sets it, so that a failed run can be repeated. The first use prints it, because
/// the output of a test is lost if the process ends. A test that fails also names it: in its own output, or with <see
/// cref="Note"/> in the message of the failure.
/// </summary>
internal static class Seed
{
    public static int Value { get; } =
        int.TryParse(Environment.GetEnvironmentVariable("RC_SEED"), CultureInfo.InvariantCulture, out int seed)
            ? seed
            : System.Random.Shared.Next(1, 1 << 30);

    static Seed() => Console.WriteLine(Note);

    public static string Note => $"RC_SEED={Value}";

    /// <summary>
    /// Returns random numbers for a test whose failures name the seed. The salt separates the choices of different uses.
    /// </summary>
    public static Random Random(int salt) => new(unchecked(Value * 397 ^ salt));

    /// <inheritdoc cref="Random(int)"/>
    public static Random Random(string salt)
    {
        int mixed = Value;
        foreach (byte b in Encoding.UTF8.GetBytes(salt)) mixed = unchecked(mixed * 16777619 ^ b);
        return new Random(mixed);
    }

    /// <summary>Returns random numbers for a test, and writes the seed into its output, which is shown if the test fails.</summary>
    public static Random Random(ITestOutputHelper output)
    {
        output.WriteLine(Note);
        return new Random(Value);
    }
}
