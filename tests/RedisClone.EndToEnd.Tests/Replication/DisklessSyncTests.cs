using System.Globalization;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>A primary that sends its snapshot while it is taken: to several replicas, each at its own pace, without a file.</summary>
public sealed class DisklessSyncTests
{
    private static readonly string[] OfTests = ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1", "--rdbcompression", "no"];

    /// <summary>Of a primary whose snapshot waits for two replicas.</summary>
    private static readonly string[] ForTwo = [.. OfTests, "--repl-diskless-sync-delay", "3600", "--repl-diskless-sync-max-replicas", "2"];

    /// <summary>A snapshot of these takes seconds, and a client that does not read stops at a small part of it.</summary>
    private static readonly string[] Slow = ["DEBUG", "POPULATE", "20000", "key", "2000"];

    /// <summary>
    /// redis-server and this server take the same snapshot while clients write, also to large values that are not sent yet.
    /// All of them have the same data at the end, and no file was written.
    /// </summary>
    [Fact]
    public async Task ReplicasTakeASnapshotWhileItIsTaken()
    {
        string folder = Directory.CreateTempSubdirectory("redisclone-diskless-").FullName;
        using ServerProcess primary = ServerProcess.Ours(
            [.. ForTwo, "--dir", folder, "--rdb-key-save-delay", "300"]);
        using ServerProcess redis = ServerProcess.Redis(OfTests), ours = ServerProcess.Ours([.. OfTests, "--repl-diskless-load", "swapdb"]);
        using RespClient client = primary.Connect(), one = redis.Connect(), other = ours.Connect();
        client.Expect("+OK", "DEBUG", "POPULATE", "5000", "key", "300");
        client.Expect("+OK", "SET", "long", new string('x', 3_000_000));
        for (int i = 0; i < 100; i++)
        {
            string[] members = [.. Enumerable.Range(i * 300, 300).Select(static number => $"member:{number}")];
            client.Call(["RPUSH", "list", .. members]);
            client.Call(["SADD", "set", .. members]);
            client.Call(["ZADD", "scores", .. members.SelectMany(static member => new[] { "1", member })]);
            client.Call(["HSET", "hash", .. members.SelectMany(static member => new[] { member, "value" })]);
            client.Call(["XADD", "stream", "*", .. members]);
        }
        one.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(() => Replication(client).Contains("state=wait_bgsave", StringComparison.Ordinal), "no replica waits", primary);
        Assert.False(IsCopying(client));
        other.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(() => IsCopying(client), "no snapshot", primary);
        Task[] writers =
        [
            .. Enumerable.Range(0, 2).Select(number => Task.Run(() => FollowingTests.Load(primary, number, rounds: 60))),
            Task.Run(() => ChangeLarge(primary)),
        ];
        FollowingTests.Until(() => Replication(client).Split("state=online").Length == 3, "the replicas do not follow", primary);
        Assert.DoesNotContain(Directory.GetFiles(folder), static file => file.EndsWith(".rdb", StringComparison.Ordinal));
        await Task.WhenAll(writers);
        FollowingTests.AssertSame(primary, redis);
        FollowingTests.AssertSame(primary, ours, byDigest: true);
        primary.AssertLogs("2 replicas still up");
        Assert.Contains("sync_full:2\r\n", client.Call("INFO", "stats").Text!, StringComparison.Ordinal);
        primary.AssertWell();
        ours.AssertWell();
        primary.Kill();
        Directory.Delete(folder, recursive: true);
    }

    /// <summary>
    /// A replica that reads nothing does not delay one that reads. Both have the same bytes. The stream begins with the
    /// acknowledgement of a replica, not before.
    /// </summary>
    [Fact]
    public void EachReplicaHasItsOwnPace()
    {
        using ServerProcess primary = ServerProcess.Ours([.. ForTwo, "--repl-ping-replica-period", "3600"]);
        using RespClient client = primary.Connect(), fast = primary.Connect(), slow = new(primary.Port, receiveBuffer: 4096);
        client.Expect("+OK", Slow);
        Ask(fast);
        Ask(slow);
        byte[] snapshot = fast.ReadTo(Mark(fast));
        client.Expect("+OK", "SET", "after", "1");
        Assert.Contains("ip=127.0.0.1,port=0,state=wait_bgsave", Replication(client), StringComparison.Ordinal);
        fast.Send("REPLCONF", "ACK", "0");
        Assert.Equal("*[$\"SELECT\" $\"0\"]", fast.Read().ToString());
        Assert.Equal("*[$\"SET\" $\"after\" $\"1\"]", fast.Read().ToString());
        client.Expect(":0", "WAIT", "2", "100");
        Assert.Equal(snapshot, slow.ReadTo(Mark(slow)));
        FollowingTests.Until(() => Replication(client).Split("state=online").Length == 3, "the slow one is not done", primary);
        Assert.Equal(0, slow.Socket.Available);
        slow.Send("REPLCONF", "ACK", "0");
        Assert.Equal("*[$\"SELECT\" $\"0\"]", slow.Read().ToString());
        FollowingTests.Until(() => !IsCopying(client), "the snapshot does not end", primary);
        primary.AssertWell();
    }

    /// <summary>
    /// A replica that cannot keep up is disconnected when its buffer is full. The other one is served, and the snapshot takes no
    /// more memory than that.
    /// </summary>
    [Fact]
    public void ASlowReplicaCostsItsOwnBufferOnly()
    {
        using ServerProcess primary = ServerProcess.Ours(
            [.. ForTwo, "--client-output-buffer-limit", "replica", "20mb", "0", "0"]);
        using RespClient client = primary.Connect(), fast = primary.Connect(), slow = new(primary.Port, receiveBuffer: 4096);
        client.Expect("+OK", "DEBUG", "POPULATE", "60000", "key", "2000");
        long before = primary.ResidentBytes;
        Ask(fast);
        Ask(slow);
        byte[] snapshot = fast.ReadTo(Mark(fast));
        long grown = primary.ResidentBytes - before;
        Assert.True(snapshot.Length > 100_000_000, $"the snapshot has {snapshot.Length} bytes");
        Assert.True(grown < snapshot.Length / 2, $"the snapshot of {snapshot.Length} bytes took {grown} bytes");
        FollowingTests.Until(() => Replication(client).Contains("connected_slaves:1\r\n", StringComparison.Ordinal), "the slow one stays", primary);
        primary.AssertLogs("closed for overcoming of output buffer limits");
        primary.AssertLogs("1 replicas still up");
        primary.AssertWell();
    }

    /// <summary>A lone replica that reads nothing stops the walk. Writes go on, and the primary's memory does not grow.</summary>
    [Fact]
    public void AReplicaThatReadsNothingDelaysNoClient()
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--repl-timeout", "3"]);
        using RespClient client = primary.Connect(), stuck = new(primary.Port, receiveBuffer: 4096);
        client.Expect("+OK", Slow);
        Ask(stuck);
        string value = new('y', 2000);
        for (int i = 0; i < 20_000; i += 10) client.Expect("+OK", "SET", $"key:{i}", value);
        primary.AssertLogs("Disconnecting timedout replica (full sync)");
        primary.AssertLogs("last replica dropped");
        FollowingTests.Until(() => !IsCopying(client), "the snapshot goes on", primary);
        client.Expect("+Background saving started", "BGSAVE");
        primary.AssertWell();
    }

    /// <summary>A replica that dies in the middle of a snapshot does not disturb the others. The snapshot ends with the last one.</summary>
    [Fact]
    public void AReplicaDiesInTheMiddle()
    {
        using ServerProcess primary = ServerProcess.Ours(ForTwo);
        using ServerProcess last = ServerProcess.Ours([.. OfTests, "--repl-diskless-load", "swapdb", "--key-load-delay", "100"]);
        using RespClient client = primary.Connect(), replica = last.Connect();
        client.Expect("+OK", Slow);
        client.Expect("+OK", "CONFIG", "SET", "rdb-key-save-delay", "100");
        for (int round = 0; round < 3; round++)
        {
            using RespClient first = new(primary.Port, receiveBuffer: 4096);
            RespClient second = round == 0 ? new RespClient(primary.Port) : first;
            Ask(first);
            if (round == 0) Ask(second);
            else replica.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
            Mark(first);
            first.Skip(100_000);
            first.Dispose();
            second.Dispose();
            if (round == 0) primary.AssertLogs("last replica dropped");
            else FollowingTests.AssertSame(primary, last, byDigest: true);
            FollowingTests.Until(() => !IsCopying(client), "the snapshot goes on", primary);
            replica.Expect("+OK", "REPLICAOF", "NO", "ONE");
            FollowingTests.Until(() => Replication(client).Contains("connected_slaves:0\r\n", StringComparison.Ordinal), "a replica stays", primary);
        }
        primary.AssertWell();
    }

    /// <summary>FLUSHALL ends the snapshot of data that is gone. The replica gets another one.</summary>
    [Fact]
    public void ASnapshotOfDeletedDataEnds()
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--rdb-key-save-delay", "1000"]), replica = ServerProcess.Ours(OfTests);
        using RespClient client = primary.Connect(), there = replica.Connect();
        client.Expect("+OK", Slow);
        there.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(() => IsCopying(client), "no snapshot", primary);
        client.Expect("+OK", "FLUSHALL");
        client.Expect("+OK", "SET", "new", "data");
        FollowingTests.AssertSame(primary, replica, byDigest: true);
        there.Expect(":1", "DBSIZE");
        primary.AssertWell();
    }

    /// <summary>While a copy is loaded beside the old data, commands and parameters that would disturb it get an error, as redis-server's.</summary>
    [Fact]
    public void TheRoleStaysDuringALoadBesideTheOldData()
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--rdb-key-save-delay", "1000"]);
        using ServerProcess replica = ServerProcess.Ours([.. OfTests, "--repl-diskless-load", "swapdb"]);
        using RespClient client = primary.Connect(), there = replica.Connect();
        client.Expect("+OK", Slow);
        there.Expect("+OK", "SET", "old", "1");
        there.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(() => there.Call("INFO", "persistence").Text!.Contains("async_loading:1", StringComparison.Ordinal), "no load", replica);
        there.Expect("$\"1\"", "GET", "old");
        foreach (string[] refused in new string[][] { ["REPLICAOF", "NO", "ONE"], ["CONFIG", "SET", "appendonly", "no"], ["BGSAVE"] })
            Assert.StartsWith("-LOADING", there.Call(refused).ToString(), StringComparison.Ordinal);
        client.Expect("+OK", "CONFIG", "SET", "rdb-key-save-delay", "0");
        FollowingTests.AssertSame(primary, replica, byDigest: true);
        there.Expect("+OK", "REPLICAOF", "NO", "ONE");
    }

    /// <summary>A client that does not know the mark gets a snapshot with its length, and so does every client without repl-diskless-sync.</summary>
    [Fact]
    public void AClientWithoutTheCapabilityGetsAFile()
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--repl-diskless-sync-delay", "3600"]);
        using RespClient client = primary.Connect(), old = primary.Connect(), waiting = primary.Connect();
        client.Expect("+OK", "SET", "k", "v");
        Ask(waiting);
        old.Send("PSYNC", "?", "-1");
        Assert.StartsWith("+FULLRESYNC", old.ReadLine().TrimStart('\n'), StringComparison.Ordinal);
        Assert.True(int.Parse(old.ReadLine()[1..], CultureInfo.InvariantCulture) > 0);
        client.Expect("+OK", "CONFIG", "SET", "repl-diskless-sync", "no");
        Assert.StartsWith("+FULLRESYNC", waiting.ReadLine().TrimStart('\n'), StringComparison.Ordinal);
        Assert.True(int.Parse(waiting.ReadLine()[1..], CultureInfo.InvariantCulture) > 0);
        client.Expect("+OK", "CONFIG", "SET", "repl-diskless-sync", "yes", "repl-diskless-sync-delay", "0");
        using RespClient third = primary.Connect();
        Ask(third);
        third.ReadTo(Mark(third));
        primary.AssertWell();
    }

    /// <summary>Writes to values that are sent in parts.</summary>
    private static void ChangeLarge(ServerProcess server)
    {
        using RespClient client = server.Connect();
        for (int i = 0; i < 200; i++)
        {
            string number = i.ToString(CultureInfo.InvariantCulture);
            string[][] requests =
            [
                ["LPUSH", "list", number], ["RPOP", "list"], ["SREM", "set", $"member:{i * 70}"], ["ZINCRBY", "scores", "2", $"member:{i * 31}"],
                ["HSET", "hash", $"member:{i * 97}", number], ["XADD", "stream", "*", "n", number], ["SETRANGE", "long", $"{i * 1000}", number],
            ];
            foreach (Reply reply in client.Pipeline(requests)) Assert.False(reply.IsError, reply.ToString());
        }
    }

    /// <summary>Asks for all data as a replica that knows the mark.</summary>
    private static void Ask(RespClient replica)
    {
        replica.Expect("+OK", "REPLCONF", "capa", "eof", "capa", "psync2");
        replica.Send("PSYNC", "?", "-1");
    }

    /// <summary>Reads what precedes the snapshot. Returns its mark.</summary>
    private static string Mark(RespClient replica)
    {
        Assert.StartsWith("+FULLRESYNC", replica.ReadLine().TrimStart('\n'), StringComparison.Ordinal);
        string head = replica.ReadLine();
        Assert.StartsWith("$EOF:", head, StringComparison.Ordinal);
        return head[5..];
    }

    private static string Replication(RespClient client) => client.Call("INFO", "replication").Text!;

    private static bool IsCopying(RespClient client) =>
        client.Call("INFO", "persistence").Text!.Contains("rdb_bgsave_in_progress:1", StringComparison.Ordinal);
}
