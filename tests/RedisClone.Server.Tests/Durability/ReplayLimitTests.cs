using RedisClone.Admin.Commands;
using RedisClone.Configuration;
using RedisClone.Journal.Disk;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Durability;

/// <summary>
/// A replay accepts commands that were allowed when they were written, even if the limits of clients are lower at the next start.
/// </summary>
public sealed class ReplayLimitTests : IDisposable
{
    private static readonly string[] s_commands =
    [
        "SETRANGE ranged 3000000 x", "SETBIT bits 30000000 1", "BITFIELD fields SET u8 30000000 200",
        "BITFIELD fields INCRBY u8 30000008 7",
        "SETRANGE ranged 10 again", "SET expiring v PX 1", "DEL none ranged2",
        "HSET hash f v g w", "ZADD zset 1 a 2 b", "RPUSH list a b c",
        "SADD set a b c",
        "XADD stream MAXLEN ~ 100 1-1 f v", "XADD stream IDMP p m * f v", "XCFGSET stream IDMP-MAXSIZE 500",
        "GEOADD geo 1 1 a", "PFADD hll a b",
        "FUNCTION LOAD #!lua^name=lib\nredis.register_function('f',function()^return^1^end)",
        "COPY hash copied", "RENAME copied renamed",
        "EVAL redis.call('SET',KEYS[1],'x') 1 scripted", "SPOP set", "LMOVE list list LEFT RIGHT", "SWAPDB 0 3", "SWAPDB 3 0",
    ];

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-limits-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData("proto-max-bulk-len 1mb")]
    [InlineData("maxmemory 1\nmaxmemory-policy noeviction")]
    [InlineData("maxmemory-clients 1mb\nclient-query-buffer-limit 1mb\nclient-output-buffer-limit normal 1 1 1")]
    [InlineData("min-replicas-to-write 3")]
    [InlineData("requirepass secret\nuser default on >secret resetkeys resetchannels -@all +ping")]
    [InlineData("rename-command DEL \"\"\nrename-command HDEL \"\"\nrename-command SELECT \"\"\nrename-command SREM other")]
    [InlineData("hash-max-listpack-entries 1\nset-max-intset-entries 1\nzset-max-listpack-value 1\n" +
        "list-max-listpack-size 1\nstream-node-max-entries 1")]
    [InlineData("stream-idmp-maxsize 1\nstream-idmp-duration 1\nslowlog-log-slower-than 0\nbusy-reply-threshold 1")]
    public async Task LimitsOfClientsDoNotApplyToAReplay(string lowered)
    {
        string digest;
        await using (RunningServer server = await StartAsync(new ServerConfig()))
        {
            using TestClient client = server.Connect();
            foreach (string command in s_commands)
            {
                string[] words = [.. command.Split(' ').Select(word => word.Replace('^', ' '))];
                string reply = client.Call(words);
                Assert.DoesNotContain("ERR", reply, StringComparison.Ordinal);
            }
            Assert.Equal("3000000", client.Call("APPEND", "appended", new string('x', 3_000_000)));
            Assert.Equal("3000004", client.Run("APPEND appended more"));
            while (client.Run("EXISTS expiring") == "1") await Task.Delay(1);
            digest = client.Run("DEBUG DIGEST");
        }
        string file = Path.Combine(_folder, "lowered.conf");
        await File.WriteAllTextAsync(file, lowered + "\n");
        ServerConfig config = ServerConfig.Load([file], new Dictionary<string, string>()).Config!;
        await using RunningServer again = await StartAsync(config);
        using TestClient reader = again.Connect();
        if (config.RequirePass.Length > 0)
        {
            // The only user has no permissions in this case, so the test reads the data directly.
            Assert.Equal(digest, Convert.ToHexStringLower(KeyspaceDigest.OfAll(again.Core)));
            return;
        }
        Assert.Equal(digest, reader.Run("DEBUG DIGEST"));
        Assert.Equal("3000001", reader.Run("STRLEN ranged"));
        Assert.Contains("lib", reader.Run("FUNCTION LIST"), StringComparison.Ordinal);
    }

    /// <summary>Other commands see the bytes of an estimate, and its form depends on a parameter.</summary>
    [Theory]
    [InlineData(0, 3000)]
    [InlineData(3000, 0)]
    public async Task AnEstimateHasTheSameBytesWithAnotherLimitOfItsSparseForm(long before, long after)
    {
        string digest;
        await using (RunningServer server = await StartAsync(new ServerConfig { HllSparseMaxBytes = before }))
        {
            using TestClient client = server.Connect();
            string[] commands =
            [
                "PFADD p a b c", "SETRANGE p 20 xyz", "PFADD p d e", "APPEND p x", "PFADD first a b c", "PFADD second c d", "PFMERGE all first second",
                "PFCOUNT all", "SETRANGE all 40 x",
            ];
            foreach (string command in commands) client.Run(command);
            digest = client.Run("DEBUG DIGEST");
        }
        await using RunningServer again = await StartAsync(new ServerConfig { HllSparseMaxBytes = after });
        using TestClient reader = again.Connect();
        Assert.Equal(digest, reader.Run("DEBUG DIGEST"));
    }

    /// <summary>The next start would look for the append-only files in the new directory.</summary>
    [Fact]
    public async Task TheDirectoryOfTheJournalDoesNotChange()
    {
        await using RunningServer server = await StartAsync(new ServerConfig { EnableProtectedConfigs = ProtectedAction.Yes });
        using TestClient client = server.Connect();
        string folder = Path.Combine(_folder, "other");
        Directory.CreateDirectory(folder);
        Assert.StartsWith("ERR CONFIG SET failed (possibly related to argument 'dir')", client.Run($"CONFIG SET dir {folder}"), StringComparison.Ordinal);
        Assert.Equal($"[dir {_folder}]", client.Run("CONFIG GET dir"));
    }

    /// <summary>A stream forgets a message for the number of messages or for its age. The journal names the settings of each stream.</summary>
    [Fact]
    public async Task AForgottenMessageOfAProducerIsReplayed()
    {
        string digest;
        await using (RunningServer server = await StartAsync(new ServerConfig { StreamIdmpMaxSize = 1, StreamIdmpDuration = 1 }))
        {
            using TestClient client = server.Connect();
            string first = client.Run("XADD x IDMP p a * f 1");
            client.Run("XADD x IDMP p b * f 2");
            string second = client.Run("XADD x IDMP p a * f 3");
            Assert.NotEqual(first, second);
            while (client.Run("XADD x IDMP p a * f 4") == second) await Task.Delay(50);
            Assert.Equal("4", client.Run("XLEN x"));
            Assert.Equal("OK", client.Run($"XIDMPRECORD x p c {first}"));
            digest = client.Run("DEBUG DIGEST");
        }
        await using RunningServer again = await StartAsync(new ServerConfig());
        using TestClient reader = again.Connect();
        Assert.Equal(digest, reader.Run("DEBUG DIGEST"));
    }

    /// <summary>
    /// One command is renamed to the name of another command. The journal contains the names of the command table, so it loads
    /// with the same renaming, with another renaming and with none.
    /// </summary>
    [Theory]
    [InlineData("rename-command DEL mydel\nrename-command APPEND DEL\nrename-command XGROUP mygroup")]
    [InlineData("rename-command APPEND \"\"\nrename-command DEL APPEND")]
    [InlineData("")]
    public async Task ARenamedCommandIsReplayedAsItself(string later)
    {
        string digest;
        string file = Path.Combine(_folder, "renamed.conf");
        await File.WriteAllTextAsync(file,
            "rename-command DEL mydel\nrename-command APPEND DEL\nrename-command XGROUP mygroup\n");
        await using (RunningServer server = await StartAsync(ServerConfig.Load([file], new Dictionary<string, string>()).Config!))
        {
            using TestClient client = server.Connect();
            client.Run("SET expiring v PX 1");
            while (client.Run("EXISTS expiring") == "1") await Task.Yield();
            Assert.Equal("1", client.Run("DEL appended v"));
            client.Run("SET gone v");
            Assert.Equal("1", client.Run("mydel gone"));
            Assert.Equal("OK", client.Run("mygroup CREATE stream g 0 MKSTREAM"));
            digest = client.Run("DEBUG DIGEST");
        }
        await File.WriteAllTextAsync(file, later + "\n");
        await using RunningServer again = await StartAsync(ServerConfig.Load([file], new Dictionary<string, string>()).Config!);
        using TestClient reader = again.Connect();
        Assert.Equal(digest, reader.Run("DEBUG DIGEST"));
        Assert.Equal("2", reader.Run("DBSIZE"));
    }

    private Task<RunningServer> StartAsync(ServerConfig config) => RunningServer.StartAsync(config, TransportKind.Auto, given =>
    {
        given.Dir = _folder;
        given.AppendOnly = true;
        given.AppendFsync = AppendFsync.No;
    }, RealDisk.Instance);
}
