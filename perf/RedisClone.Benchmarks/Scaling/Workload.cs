using System.Globalization;
using System.Text;

namespace RedisClone.Benchmarks.Scaling;

/// <summary>What each thread of the scaling benchmark sends: batches of thirty commands on random keys, encoded before the measurement.</summary>
internal sealed class Workload(string name, Func<StringBuilder, Random, int, int> append, int batches = Workload.UsualBatches)
{
    public const int Pipeline = 30;
    private const int ValueBytes = 256;
    private const int UsualBatches = 2048, ManyBatches = 16384;
    private static readonly string s_value = new('v', ValueBytes);
    private static readonly string s_script = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('STRLEN', KEYS[1])";

    public static readonly Workload[] All =
    [
        new("set-get", static (text, random, keys) => random.Next(11) == 0 ? AppendSet(text, random.Next(keys)) : AppendGet(text, random.Next(keys))),
        new("set", static (text, random, keys) => AppendSet(text, random.Next(keys))),
        new("set-new", static (text, random, _) => AppendSet(text, random.Next(1_000_000_000)), ManyBatches),
        new("one-key", static (text, _, _) => AppendSet(text, 0)),
        new("eval", static (text, random, keys) => AppendEval(text, random.Next(keys))),
    ];

    public string Name => name;

    /// <summary>The bytes of the batches, and the number of bytes that answers each of them.</summary>
    public (byte[][] Batches, int[] Replies) Batches(int keys, int seed)
    {
        var random = new Random(seed);
        var encoded = new byte[batches][];
        int[] replies = new int[batches];
        var text = new StringBuilder();
        for (int batch = 0; batch < batches; batch++)
        {
            text.Clear();
            for (int i = 0; i < Pipeline; i++) replies[batch] += append(text, random, keys);
            encoded[batch] = Encoding.ASCII.GetBytes(text.ToString());
        }
        return (encoded, replies);
    }

    /// <summary>Adds a SET and returns the length of its reply.</summary>
    public static int AppendSet(StringBuilder text, int key)
    {
        Append(text, "SET", Key(key), s_value);
        return "+OK\r\n".Length;
    }

    private static int AppendGet(StringBuilder text, int key)
    {
        Append(text, "GET", Key(key));
        return $"${ValueBytes}\r\n".Length + ValueBytes + 2;
    }

    private static int AppendEval(StringBuilder text, int key)
    {
        Append(text, "EVAL", s_script, "1", Key(key), s_value);
        return $":{ValueBytes}\r\n".Length;
    }

    private static string Key(int number) => string.Create(CultureInfo.InvariantCulture, $"memtier-{number:D9}");

    private static void Append(StringBuilder text, params ReadOnlySpan<string> arguments)
    {
        text.Append(CultureInfo.InvariantCulture, $"*{arguments.Length}\r\n");
        foreach (string argument in arguments) text.Append(CultureInfo.InvariantCulture, $"${argument.Length}\r\n{argument}\r\n");
    }
}
