using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Journal.Disk;
using RedisClone.Server.Tests.Clients;
using RedisClone.Server.Tests.Commands;
using RedisClone.Server.Tests.Embedding;
using RedisClone.Server.Tests.Replication;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Durability;

/// <summary>
/// A replay restores the same data, although the commands of the shards are replayed in parallel: commands of one key, of several
/// keys in different shards and of all keys, transactions and scripts, mixed in two databases.
/// </summary>
public sealed class ReplayTests(ITestOutputHelper output) : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-replay-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task AReplayRestoresTheSameData()
    {
        var random = Seed.Random(output);
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        for (int round = 0; round < 8; round++)
        {
            for (int i = 0; i < 1500; i++)
            {
                if (random.Next(10) > 0)
                {
                    client.Run(Command(random));
                    continue;
                }
                client.Run("MULTI");
                for (int part = random.Next(1, 6); part > 0; part--) client.Run(Command(random));
                Assert.DoesNotContain("ABORT", client.Run("EXEC"), StringComparison.Ordinal);
            }
            AssertReplayed(client);
            if (round % 3 == 2) await RewriteAsync(client);
        }
    }

    /// <summary>The removal of a key that had expired before DEBUG RELOAD is in the journal.</summary>
    [Fact]
    public async Task AReloadDropsNoKeyWithoutAnEffect()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        client.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        client.Run("SET x 1 PX 20");
        client.Run("HSET h f 1");
        client.Run("HPEXPIRE h 20 FIELDS 1 f");
        await Task.Delay(40);
        Assert.Equal("OK", client.Run("DEBUG RELOAD"));
        Assert.Equal("1", client.Run("ZADD x 1 a"));
        Assert.Equal("1", client.Run("HSET h f 2"));
        AssertReplayed(client);
    }

    /// <summary>
    /// A field whose expiry was changed in time is there after a replay that happens when the first expiry has passed, and so is what the
    /// same command has written besides.
    /// </summary>
    [Fact]
    public async Task AReplayKeepsFieldsWhoseExpiryWasChanged()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        string[] changes =
        [
            "HPERSIST h0 FIELDS 1 c", "HPEXPIRE h1 1000000 FIELDS 1 c", "HGETEX h2 PERSIST FIELDS 1 c", "HGETEX h3 EX 1000 FIELDS 1 c",
            "HSETEX h4 FXX EX 1000 FIELDS 2 c 5 x 9", "HSETEX h5 FXX KEEPTTL FIELDS 2 c 5 x 9", "HSET h6 c 3",
            $"HSET large {new string('v', 200)} 1 c 1;HPEXPIRE large 400 FIELDS 1 c;HPERSIST large FIELDS 1 c",
        ];
        for (int i = 0; i < changes.Length; i++)
        {
            client.Run($"HSET h{i} c 1 x 1");
            client.Run($"HPEXPIRE h{i} 400 FIELDS 1 c");
            foreach (string command in changes[i].Split(';')) client.Run(command);
        }
        // When the first expiry has passed, h5 and the last hash lose the field.
        await client.UntilAsync("HMGET h5 c x", static reply => reply.StartsWith("[nil", StringComparison.Ordinal));
        await client.UntilAsync("HMGET h7 c x", static reply => reply.StartsWith("[nil", StringComparison.Ordinal));
        string written = client.Run("HGET h5 x");
        AssertReplayed(client);
        Assert.Equal(written, client.Run("HGET h5 x"));
    }

    /// <summary>A command that has changed something before it found its key damaged is replayed as what the key is then.</summary>
    [Fact]
    public async Task AReplayTakesWhatAFailedCommandHasChanged()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        client.Call(["PFADD", "whole", .. Enumerable.Range(0, 40).Select(static i => $"e{i}")]);
        client.Call("EVAL", "return redis.call('set', KEYS[2], string.sub(redis.call('get', KEYS[1]), 1, -3))", "2", "whole", "damaged");
        int failures = 0;
        for (int i = 0; i < 10; i++)
        {
            string reply = client.Call(["PFADD", "damaged", .. Enumerable.Range(20 * i, 20).Select(static n => $"z{n}")]);
            if (reply.StartsWith("INVALIDOBJ", StringComparison.Ordinal)) failures++;
        }
        Assert.True(failures > 0);
        AssertReplayed(client);
    }

    /// <summary>The rules of the default user hold for clients. A command of redis-server's journal that reads keys by patterns is replayed.</summary>
    [Fact]
    public async Task AReplayDoesNotDependOnTheDefaultUser()
    {
        File.WriteAllBytes(Path.Combine(_folder, "appendonly.aof"), ScriptedPeer.Commands(
            "RPUSH l 2 1", "SET w_1 5", "SET w_2 1", "SORT l BY w_* GET w_* STORE sorted", "EVAL return(redis.call('set','scripted','1')) 0"));
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        string digest = client.Run("DEBUG DIGEST");
        Assert.Equal("OK", client.Run("ACL SETUSER default resetkeys -eval"));
        Assert.Equal("OK", client.Run("DEBUG LOADAOF"));
        Assert.Equal(digest, client.Run("DEBUG DIGEST"));
        Assert.Equal("OK", client.Run("ACL SETUSER default allkeys"));
        Assert.Equal("[1 5]", client.Run("LRANGE sorted 0 -1"));
        Assert.Equal("1", client.Run("GET scripted"));
    }

    /// <summary>A base of commands keeps pending entries whose stream entries were deleted, also those without a consumer.</summary>
    [Fact]
    public async Task ABaseOfCommandsKeepsPendingEntriesOfDeletedEntries()
    {
        await using RunningServer server = await StartAsync(asRdb: false);
        using TestClient client = server.Connect();
        for (int i = 1; i <= 6; i++) client.Run($"XADD s {i}-1 f v");
        foreach (string group in (string[])["g", "h"])
        {
            client.Run($"XGROUP CREATE s {group} 0");
            client.Run($"XREADGROUP GROUP {group} c COUNT 4 STREAMS s >");
        }
        Assert.Equal("1", client.Run("XNACK s g FAIL IDS 1 3-1"));
        Assert.Equal("3", client.Run("XDEL s 2-1 3-1 6-1"));
        string[] before = Pending();
        Assert.StartsWith("[4 1-1 4-1", before[0], StringComparison.Ordinal);
        await RewriteAsync(client);
        AssertReplayed(client);
        Assert.Equal(before, Pending());
        // In the increment, as for a client, a claim of a deleted entry removes it from the pending entries.
        Assert.Equal("[]", client.Run("XCLAIM s g d 0 2-1 JUSTID"));
        before = Pending();
        Assert.StartsWith("[3 1-1 4-1", before[0], StringComparison.Ordinal);
        AssertReplayed(client);
        Assert.Equal(before, Pending());

        string[] Pending() => [client.Run("XPENDING s g"), client.Run("XPENDING s h"), client.Run("XINFO GROUPS s"), client.Run("XINFO CONSUMERS s h")[..20]];
    }

    /// <summary>A file with a command that is about its connection or the process is refused, and nothing of it takes place.</summary>
    [Theory]
    [InlineData("SYNC")]
    [InlineData("SHUTDOWN NOSAVE")]
    [InlineData("REPLICAOF 127.0.0.1 1")]
    [InlineData("SUBSCRIBE c")]
    [InlineData("CONFIG SET maxmemory 1")]
    public void AReplayRefusesWhatIsNoEffect(string command)
    {
        File.WriteAllBytes(Path.Combine(_folder, "appendonly.aof"), ScriptedPeer.Commands("SET a 1", command));
        ServerCore core = new CommandHost(config => (config.Dir, config.AppendOnly) = (_folder, true)).Core;
        Assert.Contains("the command is no effect", core.Rewrites.Keeper.Start(), StringComparison.Ordinal);
        core.Rewrites.Release();
    }

    /// <summary>A rewrite creates the directory of the journal again, as redis-server does. No other server can use it.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ARewriteReplacesARemovedDirectory(bool isEmpty)
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        client.Run("SET a 1");
        string directory = Path.Combine(_folder, "appendonlydir");
        Directory.Delete(directory, recursive: true);
        if (isEmpty) Directory.CreateDirectory(directory);
        await RewriteAsync(client);
        client.Run("SET b 2");
        AssertReplayed(client);
        Assert.True(File.Exists(Path.Combine(directory, "appendonly.aof.lock")));
    }

    private Task<RunningServer> StartAsync(bool asRdb = true) => RunningServer.StartAsync(new ServerConfig(), TransportKind.Auto, config =>
    {
        config.AofUseRdbPreamble = asRdb;
        config.Dir = _folder;
        config.AppendOnly = true;
        config.AppendFsync = AppendFsync.No;
    }, RealDisk.Instance);

    /// <summary>Replays the journal, and compares all data with those before.</summary>
    private static void AssertReplayed(TestClient client)
    {
        string digest = client.Run("DEBUG DIGEST");
        Assert.Equal("OK", client.Run("DEBUG LOADAOF"));
        Assert.Equal(digest, client.Run("DEBUG DIGEST"));
    }

    private static async Task RewriteAsync(TestClient client)
    {
        client.Run("BGREWRITEAOF");
        await client.UntilAsync("INFO persistence", info => info.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal)
            && info.Contains("aof_rewrite_scheduled:0", StringComparison.Ordinal));
    }

    private static string Command(Random random)
    {
        int number = random.Next(1000);
        return random.Next(24) switch
        {
            0 or 1 or 2 => $"SET s{Key()} {number}",
            3 => $"APPEND s{Key()} {number}",
            4 => $"INCRBY n{Key()} {number}",
            5 => $"MSET s{Key()} {number} s{Key()} {number} n{Key()} {number}",
            6 => $"DEL s{Key()} l{Key()} h{Key()}",
            7 or 8 => $"RPUSH l{Key()} {number} {number}",
            9 => $"LMOVE l{Key()} l{Key()} LEFT RIGHT",
            10 => $"LPOP l{Key()}",
            11 or 12 => $"SADD t{Key()} {number} {random.Next(1000)}",
            13 => $"SPOP t{Key()}",
            14 => $"SUNIONSTORE t{Key()} t{Key()} t{Key()}",
            15 => $"HSET h{Key()} f{number} {number}",
            16 => $"ZADD z{Key()} {number} m{random.Next(50)}",
            17 => $"ZUNIONSTORE z{Key()} 2 z{Key()} z{Key()}",
            18 => $"RENAME s{Key()} s{Key()}",
            19 => $"EVAL redis.call('SET',KEYS[1],ARGV[1])redis.call('RPUSH',KEYS[2],ARGV[1]) 2 s{Key()} l{Key()} {number}",
            20 => $"SELECT {random.Next(2)}",
            21 => $"EXPIRE s{Key()} {number + 1000}",
            22 => random.Next(30) == 0 ? "FLUSHDB" : $"PERSIST s{Key()}",
            _ => random.Next(30) == 0 ? "SWAPDB 0 1" : $"COPY s{Key()} s{Key()} REPLACE",
        };

        string Key() => $":{random.Next(60)}";
    }
}
