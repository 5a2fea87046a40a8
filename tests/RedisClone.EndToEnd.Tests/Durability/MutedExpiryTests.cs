using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>
/// Scripts with redis.set_repl(REPL_NONE). Such a script finds keys and fields expired. Their removal is in the journal all the same, because later
/// writes build on it.
/// </summary>
public sealed class MutedExpiryTests : IDisposable
{
    private static readonly string[] Durable =
        ["--appendonly", "yes", "--appendfsync", "always", "--enable-debug-command", "yes", "--save", ""];

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-muted-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void WritesAfterAMutedExpirySurviveARestart()
    {
        using (ServerProcess server = ServerProcess.Ours([.. Durable, "--dir", _folder]))
        {
            using RespClient client = server.Connect();
            client.Expect("+OK", "DEBUG", "SET-ACTIVE-EXPIRE", "0");
            client.Expect(":1", "HSET", "hash", "old", "1");
            client.Expect("+OK", "SET", "string", "old");
            client.Expect(":2", "HSET", "fields", "old", "1", "other", "2");
            client.Expect(":1", "PEXPIRE", "hash", "1");
            client.Expect(":1", "PEXPIRE", "string", "1");
            client.Expect("*[:1]", "HPEXPIRE", "fields", "1", "FIELDS", "1", "old");
            Thread.Sleep(20);
            const string muted = "redis.set_repl(redis.REPL_NONE) redis.call('EXISTS', KEYS[1]) redis.call('GET', KEYS[2]) redis.call('HGET', KEYS[3], 'old') ";
            const string written = "redis.set_repl(redis.REPL_ALL) redis.call('HSET', KEYS[1], 'f', 'v') redis.call('APPEND', KEYS[2], 'new') "
                + "return redis.call('HSETNX', KEYS[3], 'old', 'new')";
            client.Expect(":1", "EVAL", muted + written, "3", "hash", "string", "fields");
            server.Kill();
        }
        using (ServerProcess again = ServerProcess.Ours([.. Durable, "--dir", _folder]))
        using (RespClient client = again.Connect())
        {
            client.Expect("*[$\"f\" $\"v\"]", "HGETALL", "hash");
            client.Expect(":-1", "TTL", "hash");
            client.Expect("$\"new\"", "GET", "string");
            client.Expect("$\"new\"", "HGET", "fields", "old");
        }
    }

    /// <summary>A command that the configuration of the start does not allow is no such case: the start is refused.</summary>
    [Theory]
    [InlineData("--databases", "4")]
    [InlineData("--cluster-enabled", "yes")]
    public void CommandsThatTheConfigurationRefusesAreNotSkipped(string name, string value)
    {
        using (ServerProcess server = ServerProcess.Ours([.. Durable, "--dir", _folder]))
        {
            using RespClient client = server.Connect();
            client.Expect("+OK", "SET", "key", "1");
            client.Expect(":1", "MOVE", "key", "9");
            server.Kill();
        }
        (int exit, string output) = ServerProcess.RunOurs([.. Durable, "--dir", _folder, "--port", $"{Ports.Free()}", name, value]);
        Assert.Equal(1, exit);
        Assert.Contains("'move' answered", output, StringComparison.Ordinal);
    }

    /// <summary>
    /// Changes that a script keeps out of the journal make later commands fail in a replay. The other data is loaded, as in Redis.
    /// </summary>
    [Fact]
    public void CommandsThatDoNotFitTheReplayedDataAreSkipped()
    {
        using (ServerProcess server = ServerProcess.Ours([.. Durable, "--dir", _folder]))
        {
            using RespClient client = server.Connect();
            client.Expect("+OK", "MSET", "k", "v", "dst", "old");
            const string muted = "redis.set_repl(redis.REPL_NONE) redis.call('DEL', KEYS[1]) redis.call('SET', KEYS[2], 'x') redis.set_repl(redis.REPL_ALL) "
                + "redis.call('RENAME', KEYS[2], KEYS[3]) return redis.call('LPUSH', KEYS[1], 'a')";
            client.Expect(":1", "EVAL", muted, "3", "k", "tmp", "dst");
            for (int i = 0; i < 20; i++) client.Expect($":{i + 2}", "LPUSH", "k", "b");
            client.Expect("+OK", "SET", "after", "1");
            server.Kill();
        }
        using (ServerProcess again = ServerProcess.Ours([.. Durable, "--dir", _folder]))
        using (RespClient client = again.Connect())
        {
            client.Expect("*[$\"v\" $\"old\" $\"1\"]", "MGET", "k", "dst", "after");
            Assert.Equal("22", client.Figure("aof_last_load_errors"));
        }
    }
}
