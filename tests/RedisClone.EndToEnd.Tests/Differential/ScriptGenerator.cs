using System.Globalization;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// Generates small random scripts. A script has a few statements and a return value of any kind, which consists of literals,
/// arguments and replies of commands. All printers print the chosen numbers with a fraction in the same way.
/// </summary>
/// <param name="random">Makes all choices.</param>
/// <param name="linesInErrors">Whether a script may raise an error whose text has several lines.</param>
internal sealed class ScriptGenerator(Random random, bool linesInErrors)
{
    private const int MaxDepth = 3;

    private static readonly string[] s_strings =
        ["''", "'a'", "'some text'", "'10'", "'3.5'", "'-7'", "'x\\r\\ny'", "'a\\0b'", "'\\255\\1'", "('z'):rep(100)", "'ERR text'", "'-CODE text'"];

    private static readonly string[] s_numbers =
        ["0", "1", "-1", "3", "42", "3.99", "-3.99", "0.5", "2^31", "2^53", "-2^63", "1e300", "-1e300", "1/0", "-1/0", "0/0"];

    private static readonly string[] s_commands =
    [
        "'set', KEYS[1], {s}", "'get', KEYS[1]", "'incr', KEYS[1]", "'append', KEYS[1], {s}", "'strlen', KEYS[1]", "'del', KEYS[1], KEYS[2]",
        "'mget', KEYS[1], 'nosuch', KEYS[2]",
        "'hset', KEYS[2], 'a', {n}, 'b', 'x'", "'hgetall', KEYS[2]", "'hget', KEYS[2], {s}", "'hmget', KEYS[2], 'a', {s}", "'rpush', KEYS[1], {s}, {s}",
        "'lrange', KEYS[1], 0, -1",
        "'sadd', KEYS[2], 'a'", "'smembers', KEYS[2]", "'sismember', KEYS[2], 'a'", "'zadd', KEYS[1], 1.5, 'a'", "'zscore', KEYS[1], 'a'",
        "'zrange', KEYS[1], 0, -1, 'withscores'",
        "'zincrby', KEYS[1], 2, 'a'", "'type', KEYS[1]", "'exists', KEYS[1], KEYS[2]", "'expire', KEYS[1], 1000", "'persist', KEYS[1]", "'echo', {s}",
        "'ping'", "'ping', {s}",
        "'setex', KEYS[1], 0, 'x'", "'set', KEYS[1], 'v', 'badoption'", "'get'", "'nosuch', 'x'", "'config', 'nosuch'", "'subscribe', 'c'",
        "'incr', KEYS[2]", "'select', 1", "'select', 99",
        "'set', KEYS[1], {n}", "'lpop', KEYS[1], 5", "{n}", "'get', {{}}", "'sort', KEYS[1], 'alpha'", "'bitcount', KEYS[1]",
    ];

    public string Next()
    {
        var statements = new List<string>();
        if (random.Next(3) == 0) statements.Add("redis.setresp(3)");
        for (int i = random.Next(3); i > 0; i--) statements.Add($"redis.pcall({Command()})");
        if (random.Next(4) == 0) statements.Add($"local t = {Value(1)} if type(t) == 'table' then t[#t + 1] = {Value(1)} end");
        if (random.Next(12) == 0) statements.Add(Error());
        statements.Add($"return {Value(0)}");
        return string.Join('\n', statements);
    }

    private string Error()
    {
        string value = Value(MaxDepth);
        if (!linesInErrors) value = value.Replace("\\r\\n", " ", StringComparison.Ordinal);
        return $"error({(value == "nil" ? "'nil'" : value)})";
    }

    private string Value(int depth)
    {
        int kinds = depth >= MaxDepth ? 6 : 20;
        return random.Next(kinds) switch
        {
            0 => Pick(s_strings),
            1 => Pick(s_numbers),
            2 => Pick("true", "false", "nil"),
            3 => Pick("KEYS[1]", "ARGV[1]", "ARGV[2]", "ARGV[9]", "#ARGV", "#KEYS"),
            4 => $"tostring({Pick(s_numbers)})",
            5 => $"type({Pick(s_strings)})",
            6 => $"{{ok = {Pick(s_strings)}}}",
            7 => $"{{err = {Pick(s_strings)}}}",
            8 => $"{{double = {Pick("0", "0.5", "-2.25", "1/0", "1e20")}}}",
            9 => $"{{map = {{[{Pick(s_strings)}] = {Value(depth + 1)}}}}}",
            10 => $"{{set = {{[{Pick(s_strings)}] = true}}}}",
            11 => $"{{big_number = {Pick("'123456789012345678901234567890'", "'x\\ny'", "5")}}}",
            12 => $"{{verbatim_string = {{format = {Pick("'txt'", "'m'", "'longer'", "1")}, string = {Pick(s_strings)}}}}}",
            13 => Pick("redis.status_reply", "redis.error_reply", "redis.sha1hex") + $"({Pick(s_strings)})",
            14 => "(function(...) local ok, e, more = ... return {tostring(ok), type(e), type(more), type(e) == 'string' and e or 0} end)"
                + $"(pcall(redis.call, {Command()}))",
            15 => $"redis.call({Command()})",
            16 => $"redis.pcall({Command()})",
            17 => $"cjson.encode({{{Pick(s_strings.AsSpan(0, 4))}, {Pick("1", "0.5", "true")}, redis.pcall({Command()})}})",
            _ => List(depth),
        };
    }

    private string List(int depth) => $"{{{string.Join(", ", Enumerable.Range(0, random.Next(4)).Select(_ => Value(depth + 1)))}}}";

    private string Command() => Pick(s_commands)
        .Replace("{{", "{", StringComparison.Ordinal).Replace("}}", "}", StringComparison.Ordinal)
        .Replace("{s}", Pick(s_strings), StringComparison.Ordinal)
        .Replace("{n}", random.Next(-5, 1000).ToString(CultureInfo.InvariantCulture), StringComparison.Ordinal);

    private string Pick(params ReadOnlySpan<string> choices) => choices[random.Next(choices.Length)];
}
