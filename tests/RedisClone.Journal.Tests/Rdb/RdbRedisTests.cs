using System.Text;
using RedisClone.Journal.Rdb;
using RedisClone.Journal.Tests.Support;

namespace RedisClone.Journal.Tests.Rdb;

/// <summary>
/// Exchanges RDB files and DUMP payloads with the real redis-server. Its files are read, and it loads written files to
/// the same digest.
/// </summary>
public sealed class RdbRedisTests
{
    [Theory]
    [InlineData(true, true)]
    [InlineData(false, true)]
    [InlineData(true, false)]
    public void ADumpOfRedisReadAndWrittenAgainHasTheSameDigest(bool packed, bool compress)
    {
        using var directory = new TemporaryDirectory();
        string digest, groups;
        using (var redis = RedisProcess.Start(directory.Path))
        {
            Fill(redis);
            Assert.Equal("+OK", redis.Command("SAVE"));
            digest = redis.Command("DEBUG", "DIGEST");
            groups = Groups(redis);
        }
        var path = Path.Combine(directory.Path, "dump.rdb");
        var model = Read(File.ReadAllBytes(path));
        Assert.Contains(model.Facts, f => f.Name == "redis-ver");
        Assert.Single(model.Functions);

        var again = model.Write(packed, RdbVersion.Redis70, compress);
        File.WriteAllBytes(path, again);
        var (exit, output) = RedisProcess.Tool("redis-check-rdb", path);
        Assert.True(exit == 0 && output.Contains("RDB looks OK", StringComparison.Ordinal), output);
        using (var redis = RedisProcess.Start(directory.Path))
        {
            Assert.Equal(digest, redis.Command("DEBUG", "DIGEST"));
            Assert.Equal(groups, Groups(redis));
            Assert.Equal("12", redis.Command("FCALL", "twelve", "0").TrimStart(':'));
        }

        // Reading our own file and writing it again gives the same bytes.
        Assert.Equal(again, Read(again).Write(packed, RdbVersion.Redis70, compress));
    }

    [Fact]
    public void DumpPayloadsAreExchangedWithRedis()
    {
        using var directory = new TemporaryDirectory();
        using var redis = RedisProcess.Start(directory.Path);
        Fill(redis);
        foreach (var key in Keys)
        {
            var payload = Encoding.Latin1.GetBytes(redis.Command("DUMP", key));
            Assert.True(DumpPayload.IsValid(payload), key);
            foreach (var packed in new[] { true, false })
            {
                var value = new RdbValue();
                Assert.True(DumpPayload.Read(payload, value) is null, key);
                var target = new RdbMemoryTarget();
                var writer = new RdbWriter(target, compress: packed);
                RdbModel.WriteValue(writer, value, packed, RdbVersion.Redis70, name: null);
                DumpPayload.Finish(writer, RdbVersion.Redis70);
                Assert.True(DumpPayload.IsValid(target.Bytes));
                redis.Command("DEL", "copy");
                Assert.Equal("+OK", redis.Command(Words("RESTORE", "copy", "0", target.Bytes.ToArray())));
                Assert.Equal(Digest(redis, key), Digest(redis, "copy"));
            }

            // A payload with any damage is refused.
            payload[payload.Length / 2] ^= 4;
            Assert.False(DumpPayload.IsValid(payload));
        }
    }

    private static readonly string[] Keys =
    [
        "string", "number", "long", "binary", "list", "long-list", "ints", "wide-ints", "words", "many-words", "hash",
        "long-hash", "zset", "long-zset", "stream", "empty-stream",
    ];

    private static void Fill(RedisProcess redis)
    {
        redis.Command("SET", "string", "hello");
        redis.Command("SET", "number", "-123456");
        redis.Command("SET", "long", string.Concat(Enumerable.Range(0, 2000).Select(i => "abc" + i % 37)));
        redis.Command(Words("SET", "binary", Enumerable.Range(0, 256).Select(i => (byte)i).ToArray()));
        redis.Command("SET", "expiring", "x", "PXAT", "4102444800123");
        int[] numbers =
        [
            0, 1, -1, 63, 64, 127, 128, -128, 4095, 4096, -4096, -4097, 32767, -32768, 65536, 8388607, -8388608, 8388608,
            int.MaxValue, int.MinValue,
        ];
        foreach (var number in numbers)
        {
            redis.Command("RPUSH", "list", number.ToString(null, null));
            redis.Command("SADD", "ints", number.ToString(null, null));
            redis.Command("HSET", "hash", "f" + number, number.ToString(null, null));
            redis.Command("ZADD", "zset", (number / 7.0).ToString("R", null), "m" + number);
        }
        redis.Command(
            "RPUSH", "list", "9223372036854775807", "-9223372036854775808", "007", "-0", "", " 1", new string('y', 5000));
        redis.Command("SADD", "wide-ints", "1", "9223372036854775807", "-9223372036854775808");
        redis.Command("SADD", "words", "a", "b", "1");
        redis.Command("ZADD", "zset", "inf", "top", "-inf", "bottom", "1e300", "huge", "-1.5e-300", "tiny", "3", "three");
        for (var i = 0; i < 700; i++)
        {
            redis.Command("RPUSH", "long-list", "element " + i + new string('z', i % 90));
            redis.Command("SADD", "many-words", "word " + i);
            redis.Command("HSET", "long-hash", "field " + i, i % 3 == 0 ? i.ToString(null, null) : "value " + i);
            redis.Command("ZADD", "long-zset", (i * 0.1).ToString("R", null), "member " + i);
            redis.Command(
                "XADD", "stream", (1000 + i / 3) + "-" + (5 + i % 3 * 7), "a", i.ToString(null, null),
                i % 5 == 0 ? "other" : "b", "text " + i);
        }
        redis.Command("XDEL", "stream", "1001-5", "1100-12");
        redis.Command("XGROUP", "CREATE", "stream", "group", "0");
        redis.Command("XGROUP", "CREATE", "stream", "idle-group", "$");
        redis.Command("XREADGROUP", "GROUP", "group", "first", "COUNT", "20", "STREAMS", "stream", ">");
        redis.ReadRest();
        redis.Command("XREADGROUP", "GROUP", "group", "second", "COUNT", "5", "STREAMS", "stream", ">");
        redis.ReadRest();
        redis.Command("XACK", "stream", "group", "1000-12");
        redis.Command("XADD", "empty-stream", "5-1", "a", "b");
        redis.Command("XDEL", "empty-stream", "5-1");
        redis.Command("SELECT", "9");
        redis.Command("SET", "elsewhere", "x");
        redis.Command("SELECT", "0");
        redis.Command("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('twelve', function() return 12 end)");
    }

    private static string Digest(RedisProcess redis, string key)
    {
        redis.Command("DEBUG", "DIGEST-VALUE", key);
        return redis.ReadRest();
    }

    private static string Groups(RedisProcess redis)
    {
        redis.Command("XINFO", "STREAM", "stream", "FULL", "COUNT", "0");
        var full = redis.ReadRest();
        redis.Command("XINFO", "STREAM", "empty-stream", "FULL");
        return Stable(full + redis.ReadRest());
    }

    /// <summary>Removes facts about the representation, such as the number of nodes.</summary>
    private static string Stable(string reply)
    {
        var lines = reply.Split("\r\n").ToList();
        foreach (var name in new[] { "radix-tree-keys", "radix-tree-nodes" })
            while (lines.IndexOf(name) is >= 0 and var at) lines.RemoveRange(at, 2);
        return string.Join('\n', lines);
    }

    private static RdbModel Read(byte[] bytes)
    {
        Assert.Null(RdbModel.TryRead(bytes, out var model));
        return model;
    }

    private static byte[][] Words(params object[] words) =>
        [.. words.Select(w => w as byte[] ?? Encoding.Latin1.GetBytes((string)w))];
}
