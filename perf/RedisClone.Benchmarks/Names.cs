using System.Globalization;

namespace RedisClone.Benchmarks;

/// <summary>Keys and members of 16 bytes: a word and a number, as programs use them.</summary>
public static class Names
{
    public const int Length = 16;

    public static void Write(Span<byte> to, int number)
    {
        "member:000000000"u8.CopyTo(to);
        number.TryFormat(to[7..], out _, "D9", CultureInfo.InvariantCulture);
    }

    /// <summary>Returns all numbers below a limit in an order that the processor cannot predict.</summary>
    public static int[] Shuffled(int limit)
    {
        int[] numbers = [.. Enumerable.Range(0, limit)];
        new Random(1).Shuffle(numbers);
        return numbers;
    }
}
