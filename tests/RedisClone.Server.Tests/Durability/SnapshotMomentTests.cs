using System.Globalization;
using RedisClone.Engine.Caching;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Shards;
using RedisClone.Journal.Disk;
using RedisClone.Server.Tests.Commands;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Durability;

/// <summary>
/// A snapshot has the contents of one moment, even if commands change the data while it is taken. Random commands run between its
/// slices. The loaded data equals the data at the mark, key by key.
/// </summary>
public sealed class SnapshotMomentTests(ITestOutputHelper output) : IDisposable
{
    private const int Rounds = 6, CommandsBefore = 1000, CommandsMeanwhile = 1500, Databases = 4;

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-moment-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void TheLoadedDataEqualTheDataAtTheMark(bool asRdb)
    {
        Random random = Seed.Random(output);
        CommandHost host = Host();
        var commands = new RandomCommands(random, host, asRdb);
        for (int round = 0; round < Rounds; round++)
        {
            for (int i = 0; i < CommandsBefore; i++) commands.Run();
            commands.AddLarge();
            string[] expected = Contents(host);
            string file = Path.Combine(_folder, $"round-{round}");
            using var run = new SnapshotRun(host.Core, new SnapshotOrder(RealDisk.Instance, file, asRdb));
            bool abandoned = round % 3 == 1;
            for (int i = 0; i < CommandsMeanwhile; i++)
            {
                commands.Run();
                if (random.Next(8) == 0) run.Slice();
                if (abandoned && i == CommandsMeanwhile / 2) run.Fail(new IOException("the test"));
            }
            // An abandoned snapshot must not affect the next one. In half of these rounds, the test does not even complete the
            // walk of the abandoned snapshot.
            if (abandoned && random.Next(2) == 0) continue;
            Assert.Equal(abandoned ? "the test" : null, run.Write(static _ => { }));
            Assert.Equal(!abandoned, File.Exists(file));
            Assert.Equal(0, host.Core.Lanes.Sum(static lane => lane.UnexpectedErrors));
            if (!abandoned) Assert.Equal(expected, Contents(Loaded(file, asRdb, host.Now)));
        }
    }

    /// <summary>The outcome that the caller of a snapshot learns is the one that the return value states.</summary>
    [Fact]
    public void ALateCancellationDoesNotChangeTheOutcome()
    {
        var disk = new WatchedDisk();
        using var run = new SnapshotRun(Host().Core, new SnapshotOrder(disk, Path.Combine(_folder, "cancelled"), true));
        disk.Closing = run.Cancel;
        int told = 0;
        string? failure = run.Write(_ => told++);
        Assert.Equal(failure is null ? 0 : 1, told);
        Assert.True(run.IsCancelled);
    }

    private CommandHost Host() => new(config => (config.Dir, config.DbFilename, config.RdbCompression, config.RdbChecksum) = (_folder, "dump.rdb", true, true));

    private CommandHost Loaded(string file, bool asRdb, long now)
    {
        CommandHost host = Host();
        host.Now = now;
        host.Core.ExpiryEnabled = false;
        if (asRdb)
        {
            using IDiskFile opened = RealDisk.Instance.Open(file, DiskOpen.Read);
            Assert.Null(new SnapshotLoader(host.Core, keepExpired: true).Load(opened, out _));
        }
        else
        {
            host.Replay(File.ReadAllBytes(file));
        }
        return host;
    }

    /// <summary>Returns all observable properties of every key, including expired keys.</summary>
    private static string[] Contents(CommandHost host)
    {
        bool expires = host.Core.ExpiryEnabled;
        (host.Core.ExpiryEnabled, long now) = (false, host.Now);
        host.Now = 0;
        string selected = host.SelectedDatabase;
        var lines = new List<string>();
        for (int database = 0; database < Databases; database++)
        {
            host.Run($"SELECT {database}");
            foreach (string key in host.Run("KEYS *").Trim('[', ']').Split(' ', StringSplitOptions.RemoveEmptyEntries))
            {
                string fields = "";
                if (host.Run($"TYPE {key}") == "hash")
                {
                    string[] names = [.. host.Run($"HKEYS {key}").Trim('[', ']').Split(' ').Order(StringComparer.Ordinal)];
                    fields = host.Call(["HPEXPIRETIME", key, "FIELDS", names.Length.ToString(CultureInfo.InvariantCulture), .. names]);
                }
                lines.Add($"{database} {key} {host.Run($"PEXPIRETIME {key}")} {host.Run($"DEBUG DIGEST-VALUE {key}")} {fields}");
            }
        }
        host.Run($"SELECT {selected}");
        (host.Core.ExpiryEnabled, host.Now) = (expires, now);
        lines.Sort(StringComparer.Ordinal);
        return [.. lines];
    }

    /// <summary>Commands of every kind on few keys, so that they use the same keys.</summary>
    private sealed class RandomCommands(Random random, CommandHost host, bool trimsStreams)
    {
        private static readonly string[] Templates =
        [
            "SET K V", "SET K V PXAT T", "APPEND K V", "SETRANGE K N V", "SETBIT K N 1", "INCRBY n:K N", "GETDEL K", "GETEX K PXAT T", "MSET K V K V",
            "RPUSH l:K V V V", "LPUSH l:K V", "LPOP l:K 2", "LSET l:K 0 V", "LREM l:K 0 V", "LTRIM l:K 1 -1",
            "LMOVE l:K l:K LEFT RIGHT", "LINSERT l:K BEFORE V V",
            "SADD s:K N N N", "SADD s:K V V", "SREM s:K N", "SMOVE s:K s:K N", "SPOP s:K", "SUNIONSTORE s:K s:K s:K", "SDIFFSTORE s:K s:K s:K",
            "ZADD z:K N V N V", "ZINCRBY z:K N V", "ZREM z:K V", "ZPOPMIN z:K", "ZREMRANGEBYRANK z:K 0 1", "ZUNIONSTORE z:K 2 z:K z:K",
            "HSET h:K V V V V", "HDEL h:K V", "HINCRBY h:n:K V N", "HPEXPIREAT h:K T FIELDS 1 V", "HPERSIST h:K FIELDS 1 V",
            "HGET h:K V", "HGETALL h:K", "HGETDEL h:K FIELDS 1 V",
            "PFADD p:K V V", "PFCOUNT p:K", "PFMERGE p:K p:K", "GET K", "LRANGE l:K 0 -1", "BITFIELD K SET u8 N 7",
            "XADD x:K * V V", "XADD x:K * V V V V", "XADD x:K MAXLEN 20 * V V", "XTRIM x:K MAXLEN 5", "XDEL x:K 1-1",
            "XGROUP CREATE x:K g 0 MKSTREAM", "XGROUP DESTROY x:K g",
            "XREADGROUP GROUP g c COUNT 3 STREAMS x:K >", "XREADGROUP GROUP g d COUNT 1 NOACK STREAMS x:K >",
            "XAUTOCLAIM x:K g d 0 0", "XGROUP DELCONSUMER x:K g c", "XSETID x:K 9999999999999-1",
            "DEL A", "UNLINK A", "RENAME A A", "RENAMENX A A", "COPY A A REPLACE", "MOVE A D", "PEXPIREAT A T", "PERSIST A", "SORT l:K ALPHA STORE l:K",
        ];

        private static readonly string[] Prefixes = ["", "n:", "l:", "s:", "z:", "h:", "h:n:", "p:", "x:"];

        private readonly ActiveExpiry _expiry = new(host.Core);

        public void Run()
        {
            switch (random.Next(400))
            {
                case 0: host.Run("FLUSHDB"); break;
                case 1: if (random.Next(8) == 0) host.Run("FLUSHALL"); break;
                case < 8: host.Run($"SWAPDB {random.Next(Databases)} {random.Next(Databases)}"); break;
                case < 40: host.Run($"SELECT {random.Next(Databases)}"); break;
                case < 50: host.Now += random.Next(200); break;
                case < 54:
                    Shard shard = host.Core.Shards[random.Next(host.Core.Shards.Count)];
                    shard.Store.Now = host.Now;
                    _expiry.Run(shard, host.Now, TimeSpan.FromSeconds(1));
                    break;
                case < 60:
                    Shard freed = host.Core.Shards[random.Next(host.Core.Shards.Count)];
                    if (freed.Store.FreeAbandoned(1000)) freed.Store.Compact(1000);
                    break;
                default:
                    string template = Templates[random.Next(Templates.Length)];
                    // As in Redis, commands cannot express a pending entry that was trimmed from its stream.
                    if (trimsStreams || !template.Contains("MAXLEN", StringComparison.Ordinal)) host.Call([.. template.Split(' ').Select(Fill)]);
                    break;
            }
        }

        /// <summary>Adds values that the snapshot writes in parts.</summary>
        public void AddLarge()
        {
            string[] texts = [.. Enumerable.Range(0, 2600).Select(i => $"{i}-{random.Next()}-{new string('x', 420)}")];
            host.Call("SET", Fill("K"), string.Concat(texts));
            host.Call(["RPUSH", Fill("l:K"), .. texts]);
            host.Call(["SADD", Fill("s:K"), .. texts]);
            host.Call(["ZADD", Fill("z:K"), .. texts.SelectMany(t => new[] { Fill("N"), t })]);
            string stream = Fill("x:K");
            foreach (string text in texts) host.Call("XADD", stream, "*", "field", text);
            string hash = Fill("h:K");
            host.Call(["HSET", hash, .. texts.SelectMany(t => new[] { t, Fill("V") })]);
            host.Call("HPEXPIREAT", hash, Fill("T"), "FIELDS", "2", texts[1], texts[^1]);
        }

        private string Fill(string word) => word switch
        {
            "V" => random.Next(3) == 0 ? new string((char)('a' + random.Next(26)), random.Next(1, 300)) : $"v{random.Next(20)}",
            "N" => random.Next(1000).ToString(CultureInfo.InvariantCulture),
            "T" => (host.Now + random.Next(-50, 2000)).ToString(CultureInfo.InvariantCulture),
            "D" => random.Next(Databases).ToString(CultureInfo.InvariantCulture),
            "A" => Prefixes[random.Next(Prefixes.Length)] + random.Next(60),
            _ when word == "K" || word.EndsWith(":K", StringComparison.Ordinal) => word[..^1] + random.Next(60),
            _ => word,
        };
    }
}
