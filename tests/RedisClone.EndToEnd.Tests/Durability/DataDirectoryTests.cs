using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>
/// A data directory moves from redis-server to this server and back: the dump file, and the append-only directory with its base
/// file.
/// </summary>
public sealed class DataDirectoryTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-data-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void TheDumpFileMovesBothWays()
    {
        string[] place = ["--dir", _folder];
        string[] data;
        using (ServerProcess ours = ServerProcess.Ours(place))
        using (RespClient client = ours.Connect())
        {
            Fill(client);
            data = Read(client);
            client.Expect("+OK", "SAVE");
        }
        using (ServerProcess redis = ServerProcess.Redis(place))
        using (RespClient client = redis.Connect())
        {
            Assert.Equal(data, Read(client));
            client.Expect("+OK", "SET", "later", "1");
            data = Read(client);
            client.Expect("+OK", "SAVE");
        }
        using (ServerProcess ours = ServerProcess.Ours(place))
        using (RespClient client = ours.Connect()) Assert.Equal(data, Read(client));
    }

    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public void TheJournalMovesBothWaysAfterARewrite(string preamble)
    {
        string[] place = ["--dir", _folder, "--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", preamble];
        string[] data;
        using (ServerProcess ours = ServerProcess.Ours(place))
        using (RespClient client = ours.Connect())
        {
            Fill(client);
            Rewrite(client);
            client.Expect(":1", "INCR", "counter");
            data = Read(client);
        }
        using (ServerProcess ours = ServerProcess.Ours(place))
        using (RespClient client = ours.Connect()) Assert.Equal(data, Read(client));
        using (ServerProcess redis = ServerProcess.Redis(place))
        using (RespClient client = redis.Connect())
        {
            Assert.Equal(data, Read(client));
            client.Expect(":2", "INCR", "counter");
            Rewrite(client);
            client.Expect(":3", "INCR", "counter");
            data = Read(client);
        }
        using (ServerProcess ours = ServerProcess.Ours(place))
        using (RespClient client = ours.Connect()) Assert.Equal(data, Read(client));
    }

    private static void Rewrite(RespClient client)
    {
        Assert.Equal('+', client.Call("BGREWRITEAOF").Type);
        for (int looks = 0; !client.Call("INFO", "persistence").Text!.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal); looks++)
        {
            Assert.True(looks < 6000, "the rewrite does not end");
            Thread.Sleep(10);
        }
    }

    private static void Fill(RespClient client)
    {
        string[] many = [.. Enumerable.Range(0, 1000).Select(i => $"{i} element")];
        client.Expect("+OK", "SET", "number", "-12345");
        client.Expect("+OK", "SET", "long", new string('a', 30_000));
        client.Expect("+OK", "SET", "expiring", "x", "PXAT", "4000000000000");
        client.Expect(":3", "RPUSH", "list", "1", "x", "");
        client.Expect(":1000", ["RPUSH", "list:large", .. many]);
        client.Expect(":3", "SADD", "integers", "1", "-70000", "99999999999");
        client.Expect(":2", "SADD", "set", "a", "1");
        client.Expect(":1000", ["SADD", "set:large", .. many]);
        client.Expect(":2", "HSET", "hash", "a", "1", "b", "x");
        client.Expect(":500", ["HSET", "hash:large", .. many]);
        client.Expect(":3", "ZADD", "zset", "1.5", "a", "-inf", "b", "3", "c");
        client.Expect(":1000", ["ZADD", "zset:large", .. many.SelectMany((m, i) => new[] { $"{i}", m })]);
    }

    private static string[] Read(RespClient client)
    {
        string[] keys = [.. client.Call("KEYS", "*").Items!.Select(k => k.Text!).Order(StringComparer.Ordinal)];
        return [.. keys.Select(key => $"{key} {client.Call("PEXPIRETIME", key)} {Value(client, key)}")];
    }

    private static string Value(RespClient client, string key) => key.Split(':')[0] switch
    {
        "list" => client.Call("LRANGE", key, "0", "-1").ToString(),
        "integers" or "set" => client.Call("SORT", key, "ALPHA").ToString(),
        "hash" => string.Join(' ', client.Call("HGETALL", key).Items!.Chunk(2).Select(f => $"{f[0]} {f[1]}").Order(StringComparer.Ordinal)),
        "zset" => client.Call("ZRANGE", key, "0", "-1", "WITHSCORES").ToString(),
        _ => client.Call("GET", key).ToString(),
    };
}
