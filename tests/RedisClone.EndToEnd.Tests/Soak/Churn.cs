using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Soak;

/// <summary>
/// Writes of every kind and size on many keys, most of which expire soon. The server therefore allocates, frees and splits memory
/// all the time.
/// </summary>
internal static class Churn
{
    private const int Keys = 300_000;
    private const int Batch = 40;
    private const int LargestPower = 14;

    public static void Act(RespClient client, Random random)
    {
        string[][] requests = [.. Enumerable.Range(0, Batch).Select(_ => Next(random))];
        Reply[] replies = client.Pipeline(requests);
        for (int i = 0; i < replies.Length; i++) Assert.False(replies[i].IsError, $"{Requests.Show(requests[i])}: {replies[i]}");
    }

    private static string[] Next(Random random)
    {
        string at = $"{random.Next(Keys)}", few = $"{random.Next(Keys / 100)}";
        return random.Next(20) switch
        {
            < 5 => ["SET", $"s:{at}", Value(random), "PX", $"{random.Next(50, 120_000)}"],
            5 => ["SET", $"s:{at}", Value(random)],
            6 => ["APPEND", $"s:{few}", Value(random)[..random.Next(60)]],
            7 => ["GET", $"s:{at}"],
            8 => ["UNLINK", $"s:{few}", $"l:{few}"],
            9 => ["HSET", $"h:{few}", $"f{random.Next(300)}", Value(random)],
            10 => ["HPEXPIRE", $"h:{few}", $"{random.Next(1, 60_000)}", "FIELDS", "2", $"f{random.Next(300)}", $"f{random.Next(300)}"],
            11 => ["RPUSH", $"l:{few}", Value(random), "short"],
            12 => ["LTRIM", $"l:{few}", $"{random.Next(4)}", "20"],
            13 => ["SADD", $"t:{few}", $"{random.Next(5000)}", $"m{random.Next(5000)}"],
            14 => ["SPOP", $"t:{few}", $"{random.Next(8)}"],
            15 => ["ZADD", $"z:{few}", $"{random.Next(1000)}", $"m{random.Next(5000)}"],
            16 => ["ZREMRANGEBYRANK", $"z:{few}", "0", $"{random.Next(3)}"],
            17 => ["XADD", $"x:{few}", "MAXLEN", "~", "100", "*", "field", Value(random)],
            18 => ["PEXPIRE", $"{"hltzx"[random.Next(5)]}:{few}", $"{random.Next(1, 300_000)}"],
            _ => ["COPY", $"s:{at}", $"c:{few}", "REPLACE"],
        };
    }

    /// <summary>Returns a value whose order of magnitude is uniformly random.</summary>
    private static string Value(Random random) => new('v', random.Next(1 << random.Next(6, LargestPower + 1)) + 60);
}
