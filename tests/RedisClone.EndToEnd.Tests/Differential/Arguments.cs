using System.Globalization;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>An argument and its kind. The kind allows a malformed variant of the argument.</summary>
internal readonly record struct Argument(string Kind, string Text);

/// <summary>
/// Generates arguments. Most are ordinary values from small ranges, so that commands use the same keys and elements; some are
/// hostile. No generated lifetime ends while a test runs: it is in the past or far in the future.
/// </summary>
internal sealed class Arguments(Random random, string[] keys)
{
    /// <summary>Keys that always have another type than the keys of a family. <see cref="CommandStream"/> creates them.</summary>
    public static readonly string[] OtherKeys = ["o:string", "o:list", "o:hash", "o:set", "o:zset", "o:stream", "o:none"];

    private static readonly string[] s_integers =
    [
        "0", "-0", "1", "-1", "+1", "01", " 1", "1 ", "1.0", "1e3", "0x10", "", "one", "\0", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "2147483647", "2147483648",
        "-2147483648", "-2147483649", "4294967295", "4294967296", "99999999999999999999999999999999",
    ];

    private static readonly string[] s_floats =
    [
        "nan", "-nan", "NaN", "inf", "-inf", "+inf", "Infinity", "1e308", "-1e308", "1.7976931348623157e309", "1e-300", "0x1p3", ".5", "5.", "1e", "--1",
        "", " 1", "1 ", "1,5", "3.0e+", "1e400", "-0.0", "1\0", "4.9406564584124654e-324", "123456789012345678901234567890", "foo",
    ];

    private static readonly string[] s_times =
    [
        "0", "-1", "-1000", "", "foo", "1.5", "9223372036854775807", "-9223372036854775808", "9223372036854775", "9223372036854776", "9223370000000000000",
        "99999999999999999999", " 100000000",
    ];

    private static readonly string[] s_patterns =
        ["*", "?", "", "k*", "*1", "[a-c]*", "[^a]*", "[", "\\", "k\\*", "o:*", "**", "a*b*c", "[z-a]", "k[1-3]", "[]", "f?", "*\0*", "m[^1]"];

    private static readonly string[] s_words =
    [
        "NX", "XX", "GT", "LT", "CH", "INCR", "GET", "EX", "PX", "KEEPTTL", "COUNT", "LIMIT", "WITHSCORES", "WITHVALUES", "REPLACE", "BYSCORE", "BYLEX", "REV",
        "MATCH", "ASYNC", "BIT", "BYTE", "STORE", "WEIGHTS", "AGGREGATE", "LEFT", "MAXLEN", "foo", "", "nx",
    ];

    private static readonly string[] s_ids =
    [
        "0-0", "0", "-", "+", "(", "(-", "5-", "-5", "5-5-5", "x", "", "5-x", "18446744073709551615-18446744073709551615", "18446744073709551616-0",
        "(18446744073709551615-18446744073709551615", "18446744073709551615-*", "5-*", "1-18446744073709551615", "99999999999999999999",
    ];

    private static readonly string[] s_bytes =
        ["", "\0", "\r\n", "\xff\xfe", "a\0b", "$5\r\nhello\r\n", "*1\r\n", " ", "\"", "\\x00", "(", "[", "+", "-", "nan", "-1", "3.5", "1e5", "0x"];

    private static readonly string[] s_scripts =
        ["return 1", "return {KEYS, ARGV}", "return redis.call('get', KEYS[1])", "return redis.call('set', KEYS[1], 1)", "return x", "("];

    private static readonly string[] s_commands = ["get", "set", "zadd", "xgroup", "config|get", "nosuch"];

    private long _lastId;

    public Random Random { get; } = random;

    /// <summary>Restricts the arguments to the given keys.</summary>
    public bool OnlyKeys { get; init; }

    /// <summary>How often the last repeated part of a template was repeated.</summary>
    public int Repetitions { get; set; } = 1;

    public string Key() => !OnlyKeys && Random.Next(12) == 0 ? Pick(OtherKeys) : Pick(keys);

    /// <summary>Adds an argument of a kind. The kinds that count keys add the count and the keys.</summary>
    public void Make(string kind, List<Argument> into)
    {
        if (kind is "keys")
        {
            int count = 1 + Random.Next(4);
            into.Add(new("int", Number(count)));
            for (int i = 0; i < count; i++) into.Add(new("key", Key()));
            return;
        }
        into.Add(new(kind, kind switch
        {
            "key" => Key(),
            "val" => Value(),
            "member" => Random.Next(15) == 0 ? Pick(s_bytes) : "m" + Number(Random.Next(20)),
            "element" => Random.Next(2) == 0 ? Value() : "m" + Number(Random.Next(20)),
            "field" => Random.Next(15) == 0 ? Pick(s_bytes) : "f" + Number(Random.Next(12)),
            "number" => Number(Random.Next(-20, 100)),
            "int" => Number(Random.Next(-10, 20)),
            "count" => Number(Random.Next(0, 12)),
            "index" => Number(Random.Next(-12, 12)),
            "offset" => Number(Random.Next(10) == 0 ? Random.Next(3000) : Random.Next(64)),
            "bits" => Pick("01"),
            "type" => (Random.Next(2) == 0 ? "u" : "i") + Number(Random.Next(9) == 0 ? 63 : 1 + Random.Next(33)),
            "place" => (Random.Next(2) == 0 ? "#" : "") + Number(Random.Next(40)),
            "float" => Random.Next(3) == 0 ? Number(Random.Next(-5, 10)) : (Random.Next(-4000, 4000) / 16.0).ToString(CultureInfo.InvariantCulture),
            "lon" => (Random.Next(-2880, 2881) / 16.0).ToString(CultureInfo.InvariantCulture),
            "lat" => (Random.Next(-1360, 1361) / 16.0).ToString(CultureInfo.InvariantCulture),
            "distance" => Number(Random.Next(1, 2) << Random.Next(25)),
            "min" or "max" => Bound(),
            "lex" => Random.Next(5) == 0 ? Pick("-+") : Pick("[(") + "m" + Number(Random.Next(20)),
            "seconds" => Number(Random.Next(10_000, 1_000_000)),
            "milliseconds" => Number(Random.Next(10_000_000, 1_000_000_000)),
            "at" => Number(4_000_000_000 + Random.Next(1000)),
            "atms" => Number(4_000_000_000_000 + Random.Next(100_000)),
            "pattern" => Pick(s_patterns),
            "db" => Number(Random.Next(4)),
            "all" => Number(100_000),
            "timeout" => "0.001",
            "block" => "1",
            "script" => Pick(s_scripts),
            "sha1" => "e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
            "command" => Pick(s_commands),
            "newid" or "nextid" => NewId(),
            "id" => Id(),
            "from" => Random.Next(3) == 0 ? "-" : (Random.Next(5) == 0 ? "(" : "") + Id(),
            "to" => Random.Next(3) == 0 ? "+" : (Random.Next(5) == 0 ? "(" : "") + Id(),
            "group" => "g" + Number(Random.Next(3)),
            "consumer" => "c" + Number(Random.Next(4)),
            "some" => Number(1 + Random.Next(6)),
            _ => throw new FormatException($"no kind {kind}"),
        }));
    }

    /// <summary>Replaces an argument by another value, which its command may reject.</summary>
    public Argument Deform(Argument argument) => argument with
    {
        Text = argument.Kind switch
        {
            "seconds" or "milliseconds" or "at" or "atms" => Pick(s_times),
            "float" or "min" or "max" or "lon" or "lat" or "distance" => Pick(Random.Next(3) == 0 ? s_integers : s_floats),
            "word" => Random.Next(2) == 0 ? Pick(s_words) : argument.Text.ToLowerInvariant(),
            "key" => Pick(OtherKeys),
            "pattern" or "val" or "element" or "member" or "field" or "lex" => Pick(s_bytes),
            "newid" or "id" or "from" or "to" => Pick(s_ids),
            // Redis 7.0 does not compare the identifier with deleted identifiers. The identifiers are therefore beyond all
            // others.
            "nextid" => Pick(["", "x", "-1", "1-x", "-", "+", "$"]),
            "group" or "consumer" => Pick(["", "g9", "\0"]),
            "timeout" or "block" => Pick(["-1", "", "foo", "nan"]),
            "script" or "sha1" or "command" => Pick(s_bytes),
            "type" => Pick(["u0", "u64", "i64", "i65", "u", "i", "", "x8", "u-1", "i08", "u8 "]),
            "place" => Pick(["#", "", "-1", "#-1", "4294967296", "#4294967296", "99999999", "#9223372036854775807", "9223372036854775807"]),
            _ => Pick(s_integers),
        },
    };

    public Argument Word() => new("word", Pick(s_words));

    private static string Number(long value) => value.ToString(CultureInfo.InvariantCulture);

    private string Value() => Random.Next(12) switch
    {
        0 => Pick(s_bytes),
        1 => new string((char)Random.Next(256), Random.Next(200)),
        2 => (Random.Next(-1000, 1000) / 8.0).ToString(CultureInfo.InvariantCulture),
        3 => Pick(s_integers),
        4 => string.Concat(Enumerable.Range(0, Random.Next(40)).Select(_ => (char)Random.Next(256))),
        <= 8 => Number(Random.Next(-10, 100)),
        _ => "v" + Number(Random.Next(10)),
    };

    private string Id() => Number(Random.Next(20)) + (Random.Next(3) == 0 ? "" : "-" + Number(Random.Next(4)));

    /// <summary>Most identifiers are higher than the identifiers before them, because XADD accepts no others.</summary>
    private string NewId() => Random.Next(12) == 0 ? Id() : Number(++_lastId / 3) + (Random.Next(8) == 0 ? "-*" : "-" + Number(_lastId % 3 + 1));

    private string Bound()
    {
        string number = Random.Next(6) == 0 ? Pick(["-inf", "+inf"]) : Number(Random.Next(-20, 40));
        return (Random.Next(3) == 0 ? "(" : "") + number;
    }

    private string Pick(string[] from) => from[Random.Next(from.Length)];

    private string Pick(string from) => from[Random.Next(from.Length)].ToString();
}
