using System.Text;
using RedisClone.Engine.Commands;

namespace RedisClone.Benchmarks;

/// <summary>
/// The load of all benchmarks: one SET for ten GETs, with values of 256 bytes and some thousand keys, in pipelines of thirty.
/// </summary>
internal static class Traffic
{
    public const int Pipeline = 30;
    public const int Keys = 4096;
    private const int ValueBytes = 256;

    public static string Value { get; } = new('v', ValueBytes);

    public static string Key(int index) => $"memtier-{index % Keys}";

    /// <summary>Returns the bytes of a batch of requests.</summary>
    public static byte[] Batch(int seed)
    {
        var random = new Random(seed);
        var text = new StringBuilder();
        for (int i = 0; i < Pipeline; i++)
        {
            string key = Key(random.Next(Keys));
            text.Append(i % 11 == 0
                ? $"*3\r\n$3\r\nSET\r\n${key.Length}\r\n{key}\r\n${Value.Length}\r\n{Value}\r\n"
                : $"*2\r\n$3\r\nGET\r\n${key.Length}\r\n{key}\r\n");
        }
        return Encoding.ASCII.GetBytes(text.ToString());
    }

    /// <summary>Different batches, so that the branch predictor of the processor cannot learn one of them.</summary>
    public static byte[][] Batches { get; } = [.. Enumerable.Range(0, 64).Select(Batch)];
}
