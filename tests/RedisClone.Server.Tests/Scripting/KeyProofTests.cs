using RedisClone.Engine.Scripting;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Scripting;

/// <summary>Which scripts are proved to use no keys but those that they declare, and what happens if such a proof were wrong.</summary>
public sealed class KeyProofTests
{
    /// <summary>Scripts that keep to KEYS.</summary>
    private static readonly string[] s_proved =
    [
        "return redis.call('GET', KEYS[1])",
        "return redis.call('set', KEYS[1], ARGV[1], 'EX', 10)",
        "redis.call('incr', KEYS[1]) return redis.call('expire', KEYS[1], ARGV[1])",
        "for _, k in ipairs(KEYS) do redis.call('del', k) end",
        "return redis.call('del', unpack(KEYS))",
        "return redis.call('mset', KEYS[1], ARGV[1], KEYS[2], ARGV[2])",
        "return redis.call('msetex', 2, KEYS[1], ARGV[1], KEYS[2], ARGV[2], 'EX', 10)",
        "return redis.call('zunionstore', KEYS[1], 2, KEYS[2], KEYS[3], 'weights', 1, ARGV[1])",
        "return redis.call('zunionstore', KEYS[1], '1', KEYS[2])",
        "return redis.call('zinter', #KEYS, unpack(KEYS))",
        "return redis.call('lmove', KEYS[1], KEYS[2], 'left', 'right')",
        "return redis.call('blmove', KEYS[1], KEYS[2], 'left', 'right', 1)",
        "return redis.call('blpop', KEYS[1], KEYS[2], 0)",
        "return redis.call('bitop', 'and', KEYS[1], KEYS[2], KEYS[3])",
        "return redis.call('object', 'encoding', KEYS[1])",
        "return redis.call('xgroup', 'create', KEYS[1], ARGV[1], '$', 'mkstream')",
        "return redis.call('hset', KEYS[1], unpack(ARGV))",
        "local t = redis.call('time') redis.call('zadd', KEYS[1], t[1], ARGV[1]) redis.call('publish', ARGV[2], ARGV[3])",
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
    ];

    /// <summary>Scripts that use other keys, or may use them.</summary>
    private static readonly string[] s_refused =
    [
        "return redis.call('get', 'literal')",
        "return redis.call('get', ARGV[1])",
        "return redis.call('get', KEYS[1] .. ARGV[1])",
        "return redis.call(ARGV[1], KEYS[1])",
        "return redis.call('get' .. '', KEYS[1])",
        "return redis.call('mset', KEYS[1], ARGV[1], ARGV[2], ARGV[3])",
        "return redis.call('mset', unpack(ARGV))",
        "return redis.call('msetex', 2, KEYS[1], 1, ARGV[1], 2)",
        "return redis.call('del', KEYS[1], unpack(ARGV))",
        "return redis.call('blpop', KEYS[1], unpack(ARGV))",
        "return redis.call('zunionstore', KEYS[1], 3, KEYS[2], KEYS[3], ARGV[1])",
        "return redis.call('zunionstore', KEYS[1], ARGV[1], KEYS[2], ARGV[2])",
        "return redis.call('zunionstore', KEYS[1], unpack(ARGV))",
        "return redis.call('sort', KEYS[1])",
        "return redis.call('sort', KEYS[1], 'by', ARGV[1])",
        "return redis.call('sort', KEYS[1], 'store', KEYS[2])",
        "return redis.call('georadius', KEYS[1], 0, 0, 1, 'm', 'store', ARGV[1])",
        "return redis.call('xread', 'streams', KEYS[1], 0)",
        "return redis.call('scan', 0)",
        "return redis.call('keys', '*')",
        "return redis.call('dbsize')",
        "return redis.call('randomkey')",
        "return redis.call('flushall')",
        "return redis.call('flushdb')",
        "return redis.call('swapdb', 0, 1)",
        "redis.call('select', 1) return redis.call('get', KEYS[1])",
        "return redis.call('object', ARGV[1], KEYS[1])",
        "return redis.call('nosuchcommand', KEYS[1])",
        "return redis.call('config', 'get', 'maxmemory')",
        "return redis.call()",
        "KEYS[1] = 'x' return redis.call('get', KEYS[1])",
        "local f = redis.call return pcall(f, 'get', 'x')",
        "return loadstring(\"return redis.call('get', 'x')\")()",
    ];

    [Fact]
    public async Task ScriptsAreProved()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        foreach (string script in s_proved) Assert.True(IsProved(server, script), script);
        foreach (string script in s_refused) Assert.False(IsProved(server, script), script);
    }

    [Fact]
    public async Task ACommandOutsideTheHeldShardsIsRefusedBeforeItRuns()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        (string first, string second) = KeysOfTwoShards(server);
        string script = "redis.call('set', KEYS[1], 'x') return redis.call('set', ARGV[1], 'x')";
        Assert.Equal("OK", client.Call("EVAL", script, "1", first, second));
        Assert.Equal("2", client.Call("DEL", first, second));
        Assert.True(server.Core.Scripts.Cache.TryGet(System.Text.Encoding.Latin1.GetBytes(script), out Script? cached));
        cached.IsTrusted = true;
        Assert.StartsWith("ERR ", client.Call("EVAL", script, "1", first, second), StringComparison.Ordinal);
        Assert.Equal("[1 0]", $"[{client.Call("EXISTS", first)} {client.Call("EXISTS", second)}]");
        Assert.Equal(1, server.Core.Lanes.Sum(static lane => lane.UnexpectedErrors));
        Assert.Equal("OK", client.Call("EVAL", script, "2", first, second, second));
    }

    /// <summary>Two keys that are in different shards.</summary>
    internal static (string First, string Second) KeysOfTwoShards(RunningServer server)
    {
        for (int i = 0; ; i++)
            if (ShardOf(server, $"k{i}") != ShardOf(server, "k")) return ("k", $"k{i}");
    }

    private static int ShardOf(RunningServer server, string key) =>
        server.Core.Shards.IndexOf(RedisClone.Storage.Memory.KeyHash.Of(System.Text.Encoding.Latin1.GetBytes(key)));

    private static bool IsProved(RunningServer server, string source)
    {
        Lua.Values.LuaFunction? body = new Lua.Running.LuaState().Compile(System.Text.Encoding.Latin1.GetBytes(source), "@user_script", out _);
        return KeyProof.Holds(server.Core.Commands, Assert.IsAssignableFrom<Lua.Values.LuaFunction>(body));
    }
}
