using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>A replica and its disk: copies that need no file, acknowledgements of its journal, and a disk that fails.</summary>
public sealed class ReplicaDiskTests
{
    private const string History = "0123456789012345678901234567890123456789";

    private static readonly string[] OfTests = ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1"];

    /// <summary>The old data, with its functions, is served until the new data is complete, and then replaced at once.</summary>
    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public void OldDataIsServedUntilTheNewIsComplete(string primaryIsDiskless)
    {
        using ServerProcess primary = ServerProcess.Redis([.. OfTests, "--repl-diskless-sync", primaryIsDiskless]);
        using ServerProcess replica = ServerProcess.Ours([.. OfTests, "--repl-diskless-load", "swapdb", "--key-load-delay", "2000"]);
        using RespClient there = primary.Connect(), client = replica.Connect(), watcher = replica.Connect(), blocked = replica.Connect();
        const string library = "#!lua name=lib\nredis.register_function{function_name='f', callback=function() return 'NAME' end, flags={'no-writes'}}";
        there.Expect("+OK", "DEBUG", "POPULATE", "1500", "key", "300");
        there.Expect("+OK", "SET", "long", new string('x', 3_000_000));
        there.Expect("$\"lib\"", "FUNCTION", "LOAD", library.Replace("NAME", "new", StringComparison.Ordinal));
        client.Expect("+OK", "SET", "old", "data");
        client.Expect("$\"lib\"", "FUNCTION", "LOAD", library.Replace("NAME", "old", StringComparison.Ordinal));
        watcher.Expect("+OK", "WATCH", "old");
        client.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(() => client.Call("INFO", "persistence").Text!.Contains("async_loading:1", StringComparison.Ordinal), "no load beside", replica);
        client.Expect("$\"data\"", "GET", "old");
        client.Expect(":1", "DBSIZE");
        client.Expect("$\"old\"", "FCALL", "f", "0");
        FollowingTests.AssertSame(primary, replica);
        client.Expect("$nil", "GET", "old");
        client.Expect("$\"new\"", "FCALL", "f", "0");
        watcher.Expect("+OK", "MULTI");
        watcher.Expect("+QUEUED", "GET", "old");
        watcher.Expect("*nil", "EXEC");
        FollowingTests.Load(primary, 0, rounds: 20);
        FollowingTests.AssertSame(primary, replica);
        client.Expect("+OK", "CONFIG", "SET", "repl-diskless-load", "on-empty-db");
        client.Expect("+OK", "REPLICAOF", "NO", "ONE");
        client.Expect("+OK", "FLUSHALL");
        FollowingTests.Follow(replica, primary);
        FollowingTests.AssertSame(primary, replica);
        replica.AssertWell();
    }

    /// <summary>
    /// The copy does not fit the memory of the replica, which has deleted its data for it. The files of its journal are all that is left, and stay
    /// until a copy succeeds or an operator makes it a primary.
    /// </summary>
    [Fact]
    public void ACopyThatFailsLeavesTheJournal()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests);
        using ServerProcess replica = ServerProcess.OursWith(("DOTNET_GCHeapHardLimit", "0x6000000"), ("REDISCLONE_APPENDONLY", "yes"));
        using RespClient there = primary.Connect(), here = replica.Connect();
        here.Expect("+OK", "SET", "old", "the old data");
        here.Expect("+OK", "CONFIG", "SET", "appendfsync", "always");
        string journal = Path.Combine(here.Call("CONFIG", "GET", "dir")[1].Text!, "appendonlydir");
        there.Expect("+OK", "DEBUG", "POPULATE", "100000", "key", "1500");
        here.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        replica.AssertLogs("Failed trying to load the MASTER synchronization DB");
        Thread.Sleep(1000);
        Assert.True(HasOld());
        // A further copy may be loading.
        FollowingTests.Until(() => here.Call("REPLICAOF", "NO", "ONE").ToString() == "+OK", "no promotion", replica);
        FollowingTests.Until(() => here.Call("SET", "new", "1").ToString() == "+OK", "no journal begins", replica);
        FollowingTests.Until(() => !HasOld(), "the old journal stays", replica);

        bool HasOld()
        {
            try
            {
                return Directory.GetFiles(journal).Any(static path =>
                    !path.EndsWith(".lock", StringComparison.Ordinal) && File.ReadAllText(path).Contains("the old data", StringComparison.Ordinal));
            }
            catch (FileNotFoundException)
            {
                return true;
            }
        }
    }

    /// <summary>After a copy of all data, a replica answers PING while its journal begins again. Sentinel takes an error for the end of the server.</summary>
    [Fact]
    public void AReplicaAnswersPingWhileItsJournalBegins()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests);
        using ServerProcess replica = ServerProcess.Ours([.. OfTests, "--appendonly", "yes", "--rdb-key-save-delay", "5000"]);
        using RespClient there = primary.Connect(), here = replica.Connect();
        there.Expect("+OK", "DEBUG", "POPULATE", "2000");
        here.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(
            () => here.Call("DBSIZE").Integer == 2000 && here.Figure("aof_rewrite_in_progress", "persistence") == "1", "no rewrite begins", replica);
        here.Expect("+PONG", "PING");
        Assert.Equal("1", here.Figure("aof_rewrite_in_progress", "persistence"));
    }

    /// <summary>A chain takes every copy into memory while clients write, and has the same data at the end.</summary>
    [Fact]
    public async Task AChainWithoutFilesHasAllWritesOfALoad()
    {
        string[] options = [.. OfTests, "--repl-diskless-load", "swapdb"];
        using ServerProcess primary = ServerProcess.Ours(OfTests), replica = ServerProcess.Ours([.. options, "--appendonly", "yes"]);
        using ServerProcess last = ServerProcess.Ours(options);
        Task[] writers = [.. Enumerable.Range(0, 3).Select(number => Task.Run(() => FollowingTests.Load(primary, number, rounds: 40)))];
        FollowingTests.Follow(replica, primary);
        FollowingTests.Follow(last, replica);
        await Task.WhenAll(writers);
        FollowingTests.AssertSame(primary, replica, byDigest: true);
        FollowingTests.AssertSame(primary, last, byDigest: true);
        using RespClient client = replica.Connect();
        FollowingTests.Until(
            () => client.Call("INFO", "persistence").Text!.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal), "no base", replica);
        client.Expect("+OK", "DEBUG", "LOADAOF");
        FollowingTests.AssertSame(primary, replica, byDigest: true);
        replica.AssertWell();
        last.AssertWell();
    }

    /// <summary>A copy that is damaged or ends too early leaves the old data.</summary>
    [Theory]
    [InlineData("$40\r\nREDIS0010\u00fe\0\0\u0001k\u0005value\u00ff\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008 and more bytes")]
    [InlineData("$EOF:" + History + "\r\nREDIS0010\u00fe\0\0\u0001k\u0005val" + History)]
    [InlineData("$EOF:" + History + "\r\nREDIS0010\u00fe\0\0\u0001k\u0005value\u00ff\0\0\0\0\0\0\0\u0001" + History)]
    [InlineData("$EOF:" + History + "\r\nREDIS0010\u00fe\0\u00f5\u00fffunction" + History)]
    public void ABadCopyIntoMemoryLeavesTheOldData(string copy)
    {
        using var primary = new FakePrimary(_ => $"+FULLRESYNC {History} 10\r\n{copy}");
        using ServerProcess replica = ServerProcess.Ours([.. OfTests, "--repl-diskless-load", "swapdb"]);
        using RespClient client = replica.Connect();
        client.Expect("+OK", "SET", "old", "data");
        client.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(() => primary.Asked >= 2, "the replica does not try again", replica);
        replica.AssertLogs("the old data stays");
        client.Expect("$\"data\"", "GET", "old");
        client.Expect(":1", "DBSIZE");
        replica.AssertWell();
    }

    /// <summary>
    /// A replica whose snapshots fail stops applying writes, unless replica-ignore-disk-write-errors is on. It keeps its data, and goes
    /// on once the disk works.
    /// </summary>
    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public void AReplicaStopsAtADiskThatFails(string ignores)
    {
        string folder = Directory.CreateTempSubdirectory("redisclone-disk-").FullName, data = Path.Combine(folder, "data");
        Directory.CreateDirectory(data);
        using ServerProcess primary = ServerProcess.Ours(OfTests);
        using (ServerProcess replica = ServerProcess.Ours(
            [.. OfTests, "--dir", data, "--save", "3600", "1000000", "--replica-ignore-disk-write-errors", ignores]))
        {
            FollowingTests.Follow(replica, primary);
            using RespClient client = primary.Connect(), other = replica.Connect();
            client.Expect("+OK", "SET", "k", "1");
            client.Expect(":1", "WAIT", "1", "30000");
            Directory.Move(data, data + "-gone");
            Assert.False(other.Call("BGSAVE").IsError);
            FollowingTests.Until(
                () => other.Call("INFO", "persistence").Text!.Contains("rdb_last_bgsave_status:err", StringComparison.Ordinal), "no error", replica);
            client.Expect("+OK", "SET", "k", "2");
            string sign = ignores == "yes"
                ? "Replica is applying a command even though it is unable to write to disk."
                : "Replica was unable to write command to disk";
            replica.AssertLogs(sign);
            if (ignores == "yes") FollowingTests.AssertSame(primary, replica, byDigest: true);
            else other.Expect("$\"1\"", "GET", "k");
            Directory.Move(data + "-gone", data);
            FollowingTests.AssertSame(primary, replica, byDigest: true);
            FollowingTests.Until(
                () => other.Call("INFO", "persistence").Text!.Contains("rdb_last_bgsave_status:ok", StringComparison.Ordinal), "no snapshot", replica);
            replica.AssertWell();
        }
        Directory.Delete(folder, recursive: true);
    }

    /// <summary>
    /// The journal of a replica cannot begin again after a copy of all data. When the server is promoted then, it accepts no
    /// write until the journal has begun, and what it accepts survives a kill.
    /// </summary>
    [Fact]
    public void APromotedServerAcceptsNoWriteWithoutItsJournal()
    {
        string folder = Directory.CreateTempSubdirectory("redisclone-copy-").FullName, journal = Path.Combine(folder, "appendonlydir");
        string[] options = [.. OfTests, "--dir", folder, "--appendonly", "yes", "--appendfsync", "always"];
        using ServerProcess primary = ServerProcess.Redis(OfTests);
        using (RespClient there = primary.Connect()) there.Expect("+OK", "DEBUG", "POPULATE", "1500", "key", "300");
        using (ServerProcess replica = ServerProcess.Ours([.. options, "--key-load-delay", "2000", "--loading-process-events-interval-bytes", "1024"]))
        {
            using RespClient client = replica.Connect();
            client.Expect("+OK", "SET", "old", "data");
            client.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
            FollowingTests.Until(() => client.Call("INFO", "persistence").Text!.Contains("\r\nloading:1", StringComparison.Ordinal), "no load", replica);
            Directory.Move(journal, journal + "-gone");
            File.WriteAllText(journal, "");
            replica.AssertLogs("The server accepts no writes");
            client.Expect("+OK", "REPLICAOF", "NO", "ONE");
            Assert.StartsWith("-MISCONF Errors writing to the AOF file", client.Call("SET", "new", "1").ToString(), StringComparison.Ordinal);
            client.Expect(":1500", "DBSIZE");
            File.Delete(journal);
            Directory.Move(journal + "-gone", journal);
            FollowingTests.Until(() => client.Call("SET", "new", "2").ToString() == "+OK", "no write is accepted", replica);
            replica.Kill();
        }
        using (ServerProcess again = ServerProcess.Ours(options))
        {
            using RespClient client = again.Connect();
            client.Expect("$\"2\"", "GET", "new");
            client.Expect(":1501", "DBSIZE");
        }
        Directory.Delete(folder, recursive: true);
    }

    /// <summary>WAITAOF counts replicas that have a write on their disk, and no replica without a journal.</summary>
    [Theory]
    [InlineData("everysec")]
    [InlineData("always")]
    public void WaitAofCountsReplicasWithAJournal(string policy)
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--appendonly", "yes"]);
        using ServerProcess plain = ServerProcess.Ours(OfTests), journalled = ServerProcess.Ours([.. OfTests, "--appendonly", "yes", "--appendfsync", policy]);
        FollowingTests.Follow(plain, primary);
        using RespClient client = primary.Connect();
        client.Expect("+OK", "SET", "k", "1");
        client.Expect(":1", "WAIT", "1", "30000");
        client.Expect("*[:1 :0]", "WAITAOF", "1", "1", "1500");
        FollowingTests.Follow(journalled, primary);
        for (int i = 0; i < 3; i++)
        {
            client.Expect(":" + $"{i + 2}", "INCR", "k");
            client.Expect("*[:1 :1]", "WAITAOF", "1", "1", "30000");
        }
        using RespClient other = journalled.Connect();
        other.Expect("+OK", "DEBUG", "LOADAOF");
        other.Expect("$\"4\"", "GET", "k");
        other.Expect("+OK", "CONFIG", "SET", "appendonly", "no");
        client.Expect(":5", "INCR", "k");
        client.Expect("*[:1 :0]", "WAITAOF", "1", "2", "1500");
    }

    /// <summary>A write from before the first replica is in the copy, which a replica without a journal does not keep.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void WaitAofCountsNoReplicaWithoutTheCopyOnItsDisk(bool hasJournal)
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--appendonly", "yes"]);
        using RespClient client = primary.Connect();
        client.Expect("+OK", "SET", "k", "1");
        using ServerProcess replica = ServerProcess.Ours([.. OfTests, "--appendonly", hasJournal ? "yes" : "no", "--appendfsync", "always"]);
        FollowingTests.Follow(replica, primary);
        client.Expect(hasJournal ? "*[:1 :1]" : "*[:1 :0]", "WAITAOF", "1", "1", hasJournal ? "30000" : "1500");
        if (!hasJournal) return;
        using RespClient other = replica.Connect();
        other.Expect("+OK", "DEBUG", "LOADAOF");
        other.Expect("$\"1\"", "GET", "k");
    }

    /// <summary>The journal of a replica begins again after a full copy. Scripts that old versions of Redis send right then are applied too.</summary>
    [Theory]
    [InlineData("")]
    [InlineData("#!lua\n")]
    public void AScriptRightAfterACopyIsApplied(string header)
    {
        string script = header + "redis.call('set', 'scripted', 1)";
        string stream = $"*3\r\n$4\r\nEVAL\r\n${script.Length}\r\n{script}\r\n$1\r\n0\r\n*3\r\n$3\r\nSET\r\n$5\r\nafter\r\n$1\r\n1\r\n";
        using var primary = new FakePrimary(_ => $"+FULLRESYNC {History} 10\r\n$18\r\nREDIS0010\u00ff\0\0\0\0\0\0\0\0{stream}");
        using ServerProcess replica = ServerProcess.Ours([.. OfTests, "--appendonly", "yes", "--repl-diskless-load", "swapdb"]);
        using RespClient client = replica.Connect();
        client.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(() => client.Call("GET", "after").Text == "1", "the stream is not applied", replica);
        client.Expect("$\"1\"", "GET", "scripted");
    }

    [Fact]
    public void WaitAofEndsWhenTheJournalIsTurnedOff()
    {
        using ServerProcess server = ServerProcess.Ours([.. OfTests, "--appendonly", "yes"]);
        using RespClient client = server.Connect(), other = server.Connect();
        client.Expect("+OK", "SET", "k", "1");
        client.Send("WAITAOF", "1", "1", "0");
        while (other.Call("INFO", "clients").Text!.Contains("blocked_clients:0", StringComparison.Ordinal)) { }
        other.Expect("+OK", "CONFIG", "SET", "appendonly", "no");
        Assert.StartsWith("ERR WAITAOF cannot be used when numlocal is set", client.Read().Text);
    }
}
