using System.Globalization;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

/// <summary>The random numbers of a test. The test prints the seed; RC_SEED repeats a run.</summary>
public static class Seeded
{
    public static Random Random(ITestOutputHelper output)
    {
        string? given = Environment.GetEnvironmentVariable("RC_SEED");
        int seed = given is null ? Environment.TickCount : int.Parse(given, CultureInfo.InvariantCulture);
        output.WriteLine($"RC_SEED={seed}");
        return new Random(seed);
    }

    /// <summary>A random length: often small, sometimes large, sometimes next to a power of two.</summary>
    public static int Length(this Random random, int most) => random.Next(10) switch
    {
        < 5 => random.Next(Math.Min(most, 32) + 1),
        < 8 => random.Next(Math.Min(most, 300) + 1),
        8 => Math.Min(most, (1 << random.Next(20)) + random.Next(3) - 1),
        _ => random.Next(most + 1),
    };

    public static byte[] Bytes(this Random random, int length)
    {
        var bytes = new byte[length];
        random.NextBytes(bytes);
        return bytes;
    }
}
