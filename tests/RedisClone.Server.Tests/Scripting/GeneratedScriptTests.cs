using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using RedisClone.Engine.Scripting;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Scripting;

/// <summary>
/// Generated scripts and functions give the same replies and the same data, whether they hold the shards of their keys or all
/// shards.
/// </summary>
public sealed partial class GeneratedScriptTests
{
    private const int Programs = 500;

    /// <summary>Makes a script hold all shards and changes nothing else.</summary>
    private const string Unprovable = "if false then loadstring('') end ";

    /// <summary>Functions of the chunk or of the library.</summary>
    private const string Helpers =
        "local prefix = 's' local function read(key) return redis.pcall('exists', key) end " +
        "local function count(keys, name) local sum = 0 for _, k in ipairs(keys) do sum = sum + redis.pcall(name, k) end return sum end";

    private static readonly string[] s_names = ["s1", "s2", "l1", "l2", "h1", "z1", "z2", "x1"];

    [GeneratedRegex("[0-9a-f]{40}")]
    private static partial Regex Digest();

    [Fact]
    public async Task ScriptsAnswerTheSameBothWays()
    {
        int seed = Environment.GetEnvironmentVariable("RC_SEED") is { } given ? int.Parse(given, CultureInfo.InvariantCulture) : Random.Shared.Next();
        var random = new Random(seed);
        await using RunningServer keys = await RunningServer.StartAsync(TransportKind.EventLoop);
        await using RunningServer all = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient onKeys = keys.Connect(), onAll = all.Connect();
        for (int i = 0; i < Programs; i++)
        {
            string program = Program(random);
            bool isFunction = random.Next(2) == 0;
            string[] arguments = [.. Enumerable.Range(0, 4).Select(_ => s_names[random.Next(s_names.Length)]), $"{random.Next(1, 6)}", "s1", "7"];
            string expected = Run(onAll, isFunction, Unprovable + program, arguments);
            string shown = $"RC_SEED={seed}, {(isFunction ? "function" : "program")} {i}: {program} {string.Join(' ', arguments)}";
            Assert.True(expected == Run(onKeys, isFunction, program, arguments), shown);
            foreach (string read in (string[])["MGET s1 s2 x1", "LRANGE l1 0 -1", "LRANGE l2 0 -1", "HGETALL h1", "ZRANGE z1 0 -1", "ZRANGE z2 0 -1"])
                Assert.True(onAll.Run(read) == onKeys.Run(read), shown);
        }
        Assert.Equal(0, keys.Core.Lanes.Sum(static lane => lane.UnexpectedErrors));
        Assert.Equal(0, all.Core.Lanes.Sum(static lane => lane.ScriptsOnTheirKeys));
        Assert.InRange(keys.Core.Lanes.Sum(static lane => lane.ScriptsOnTheirKeys), Programs / 5, Programs - Programs / 20);
    }

    private static string Run(TestClient client, bool isFunction, string program, string[] arguments)
    {
        if (isFunction)
        {
            string library = $"#!lua name=lib\n{Helpers} redis.register_function('f', function(KEYS, ARGV) {program} end)";
            Assert.Equal("lib", client.Call("FUNCTION", "LOAD", "REPLACE", library));
            return client.Call(["FCALL", "f", "4", .. arguments]);
        }
        string digest = client.Call("SCRIPT", "LOAD", $"{Helpers} {program}");
        Assert.Equal(40, digest.Length);
        string reply = client.Call(["EVALSHA", digest, "4", .. arguments]);
        return Digest().Replace(reply, "");
    }

    private static string Program(Random random)
    {
        var text = new StringBuilder(
            "local out = {} local k, n = KEYS[2], 0 " +
            "local function note(v) out[#out + 1] = type(v) == 'table' and (v.err or #v) or v end ");
        int statements = random.Next(2, 7);
        for (int i = 0; i < statements; i++) text.Append(Statement(random, depth: 0)).Append(' ');
        return text.Append("return out").ToString();
    }

    private static string Statement(Random random, int depth) => (depth > 2 ? 0 : random.Next(12)) switch
    {
        0 or 1 or 2 or 3 or 4 => $"note({Call(random)})",
        5 => $"if {Call(random)} then {Statement(random, depth + 1)} else {Statement(random, depth + 1)} end",
        6 => $"for i, k in {Pick(random, "ipairs", "pairs")}(KEYS) do {Statement(random, depth + 1)} end",
        7 => $"for i = 1, #KEYS do local k = KEYS[i] {Statement(random, depth + 1)} end",
        8 => $"local f = function(a) {Statement(random, depth + 1)} return a end note(f(n))",
        9 => $"note(pcall(function() {Statement(random, depth + 1)} end))",
        10 => $"local k = {Key(random)} {Statement(random, depth + 1)}",
        _ => Pick(
            random, "n = n + 1", "local call = redis.pcall note(call('type', KEYS[1]))", "note(#KEYS)", "k = KEYS[1]", "k = 's2'",
            "local t = {KEYS[1]} note(t[1])"),
    };

    private static string Call(Random random)
    {
        if (random.Next(8) == 0) return Pick(random, $"read({Key(random)})", "count(KEYS, 'exists')", "count(KEYS, 'persist')");
        string key = Key(random), second = Key(random);
        string command = random.Next(16) switch
        {
            0 => $"'set', {key}, ARGV[1]",
            1 => $"'get', {key}",
            2 => $"'incr', {key}",
            3 => $"'rpush', {key}, n, ARGV[3]",
            4 => $"'lpop', {key}",
            5 => $"'lmove', {key}, {second}, 'left', 'right'",
            6 => $"'hset', {key}, 'f', n",
            7 => $"'zadd', {key}, n + 1, ARGV[2], 3, 'm'",
            8 => $"'zunionstore', {key}, 2, {second}, {Key(random)}",
            9 => $"'zunionstore', {key}, ARGV[1], {second}",
            10 => "'mget', unpack(KEYS)",
            11 => $"'del', {key}, unpack({Pick(random, "KEYS", "KEYS", "KEYS", "ARGV")})",
            12 => $"'mset', {key}, 1, {second}, 2",
            13 => $"'exists', {key}, {second}",
            14 => $"'type', {key}",
            _ => "'ping'",
        };
        return $"redis.pcall({command})";
    }

    private static string Key(Random random) => random.Next(30) switch
    {
        0 => "'s1'",
        1 => "ARGV[2]",
        2 => "KEYS[1] .. ''",
        < 8 => "k",
        < 12 => "KEYS[n]",
        < 14 => "KEYS[tonumber(ARGV[1])]",
        < 16 => "(KEYS[5] or KEYS[3])",
        _ => $"KEYS[{random.Next(1, 5)}]",
    };

    private static string Pick(Random random, params string[] choices) => choices[random.Next(choices.Length)];
}
