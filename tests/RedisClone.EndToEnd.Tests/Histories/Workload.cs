namespace RedisClone.EndToEnd.Tests.Histories;

/// <summary>
/// The requests of the clients of a history. There are few keys, so that the clients compete for them. Every value is written
/// once, so that a reply identifies the write.
/// </summary>
internal sealed class Workload(string name, int groups)
{
    private const int Members = 4;

    private int _values;

    /// <summary>Returns the next requests of a client.</summary>
    public IEnumerable<(Form Form, string[][] Commands)> Next(Random random)
    {
        string group = Group(random.Next(groups));
        switch (random.Next(20))
        {
            case < 11:
                return [(Form.Single, [Plain(group, random)])];
            case < 13:
                return [(Form.Single, [Blocking(group, random)])];
            case < 15:
                return [(Form.Transaction, Several(group, random))];
            case < 18:
                return [(Form.Script, Several(group, random))];
            default:
                string watched = group + "rqc"[random.Next(3)];
                return
                [
                    (Form.Single, [["WATCH", watched]]), (Form.Single, [["GET", watched]]),
                    (Form.Transaction, [["INCRBY", group + "c", "1"], ["SET", group + "r", Value()]]),
                ];
        }
    }

    /// <summary>Returns commands that read all keys.</summary>
    public IEnumerable<string[]> Reads()
    {
        for (int i = 0; i < groups; i++)
        {
            string group = Group(i);
            foreach (char register in "crq") yield return ["GET", group + register];
            foreach (char list in "lm") yield return ["LRANGE", group + list, "0", "-1"];
            foreach (char set in "tu")
                for (int member = 0; member < Members; member++) yield return ["SISMEMBER", group + set, $"m{member}"];
        }
    }

    private string Group(int i) => $"{name}:{i}:";

    private string Value() => $"v{Interlocked.Increment(ref _values)}";

    private string[][] Several(string group, Random random) => [.. Enumerable.Range(0, random.Next(1, 5)).Select(_ => Plain(group, random))];

    private string[] Plain(string group, Random random)
    {
        string register = group + "rq"[random.Next(2)], list = group + "lm"[random.Next(2)], set = group + "tu"[random.Next(2)];
        string member = $"m{random.Next(Members)}";
        return random.Next(22) switch
        {
            0 => ["SET", register, Value()],
            1 or 2 => ["GET", register],
            3 => ["GETSET", register, Value()],
            4 => ["APPEND", register, Value()],
            5 => ["DEL", register, set],
            6 => ["MSET", group + "r", Value(), group + "q", Value()],
            7 => ["MGET", group + "r", group + "q"],
            8 or 9 => ["INCRBY", group + "c", "1"],
            10 => ["GET", group + "c"],
            11 => ["RPUSH", list, Value()],
            12 => ["LPUSH", list, Value(), Value()],
            13 => ["LPOP", list],
            14 => ["RPOP", list],
            15 => ["LRANGE", list, "0", "-1"],
            16 => ["LMOVE", group + "l", group + "m", "RIGHT", "LEFT"],
            17 => ["SADD", set, member],
            18 => ["SREM", set, member],
            19 => ["SISMEMBER", set, member],
            20 => ["SMOVE", group + "t", group + "u", member],
            _ => ["SCARD", set],
        };
    }

    private static string[] Blocking(string group, Random random) => random.Next(2) == 0
        ? ["BLPOP", group + "m", group + "l", "0.01"]
        : ["BLMOVE", group + "l", group + "m", "LEFT", "RIGHT", "0.01"];
}
