namespace RedisClone.Storage.Tests;

/// <summary>Random lengths and bytes.</summary>
public static class RandomData
{
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
