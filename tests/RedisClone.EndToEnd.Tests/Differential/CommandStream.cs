namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>An endless stream of requests from templates. One request in six is malformed.</summary>
internal sealed class CommandStream
{
    private static readonly string[] s_keys = ["k1", "k2", "k3", "k4", "k5", "k6", "k\0\xff", "{k}7"];

    private readonly Template[] _templates;
    private readonly Arguments _arguments;

    public CommandStream(IEnumerable<Template> templates, Random random)
    {
        _templates = [.. templates];
        _arguments = new Arguments(random, s_keys);
    }

    /// <summary>Creates the keys that all families use as keys of a wrong type.</summary>
    public static readonly string[][] Preparation =
    [
        ["SELECT", "0"],
        ["SET", "o:string", "text"],
        ["RPUSH", "o:list", "m1", "m2", "m1"],
        ["HSET", "o:hash", "f1", "1"],
        ["SADD", "o:set", "m1", "m2"],
        ["ZADD", "o:zset", "0", "m1"],
        ["XADD", "o:stream", "1-1", "f1", "v1"],
    ];

    public string[] Next()
    {
        Random random = _arguments.Random;
        Template template = _templates[random.Next(_templates.Length)];
        List<Argument> request = template.Instance(_arguments);
        if (!template.IsExact && random.Next(6) == 0) Deform(request);
        return [.. request.Select(a => a.Text)];
    }

    private void Deform(List<Argument> request)
    {
        Random random = _arguments.Random;
        int at = random.Next(1, request.Count + 1);
        if (at == request.Count)
            request.Add(_arguments.Word());
        else if (random.Next(4) > 0)
            request[at] = _arguments.Deform(request[at]);
        else if (random.Next(2) == 0)
            request.RemoveAt(at);
        else
            request.Insert(at, request[at]);
    }
}
