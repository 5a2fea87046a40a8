using System.Globalization;
using RedisClone.EndToEnd.Tests.Differential;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>Replicas of this server: a real redis-server, and clients that send SYNC.</summary>
public sealed class ReplicaTests
{
    private const int Requests = 4000;

    /// <summary>
    /// redis-server becomes a replica while random requests of all families run. At the end it has the same contents.
    /// </summary>
    [Theory]
    [InlineData("no", "everysec")]
    [InlineData("yes", "always")]
    public void RedisServerFollowsAsAReplica(string appendOnly, string flush)
    {
        using ServerProcess ours = ServerProcess.Ours(
            "--appendonly", appendOnly, "--appendfsync", flush, "--enable-debug-command", "yes", "--repl-ping-replica-period", "1");
        using ServerProcess redis = ServerProcess.Redis("--enable-debug-command", "yes", "--appendonly", "no");
        // An older redis-server cannot execute the commands and options of newer versions.
        var stream = new CommandStream(new RowTemplates(ours, redis).Independent, Seed.Random($"replica {appendOnly}"));
        using RespClient client = ours.Connect();
        using RespClient replica = redis.Connect();
        foreach (string[] request in CommandStream.Preparation) client.Call(request);
        for (int i = 0; i < Requests; i++)
        {
            if (i == Requests / 4) replica.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{ours.Port}");
            client.Call(stream.Next());
        }
        Leave(client);
        Until(() => client.Call("WAIT", "1", "1000").Integer == 1, "Redis does not follow", redis);
        // Expired keys reach the replica a moment later.
        for (int looks = 0; looks < 1200 && ContentsOf(client) != ContentsOf(replica); looks++) Thread.Sleep(50);
        Assert.Equal(ContentsOf(client), ContentsOf(replica));
        Assert.Contains("state=online", client.Call("INFO", "replication").Text, StringComparison.Ordinal);
        replica.Expect("+OK", "REPLICAOF", "NO", "ONE");
        Until(() => client.Call("INFO", "replication").Text!.Contains("connected_slaves:0", StringComparison.Ordinal), "the replica stays", redis);
        ours.AssertWell();
    }

    /// <summary>A larger backlog does not have what the smaller one has dropped.</summary>
    [Fact]
    public void ARaisedBacklogHasWhatIsThere()
    {
        using ServerProcess primary = ServerProcess.Ours("--repl-backlog-size", "16kb");
        using RespClient client = primary.Connect(), late = primary.Connect();
        using (ServerProcess replica = ServerProcess.Ours()) FollowingTests.Follow(replica, primary);
        FollowingTests.Until(() => client.Call("ROLE")[2].Items is [], "the replica stays", primary);
        string value = new('v', 100_000);
        for (int i = 0; i < 20; i++) client.Expect("+OK", "SET", "key", value);
        client.Expect("+OK", "CONFIG", "SET", "repl-backlog-size", "100mb");
        client.Expect("+OK", "SET", "key", value);
        Assert.StartsWith("FULLRESYNC", late.Call("PSYNC", client.Figure("master_replid", "replication"), "1").Text!, StringComparison.Ordinal);
        primary.AssertWell();
    }

    /// <summary>
    /// redis-cli requests a complete snapshot and a snapshot of functions at the same time. Each request gets its own kind, and
    /// redis-server loads it.
    /// </summary>
    [Fact]
    public async Task SnapshotsOfFunctionsAloneHaveNoKeys()
    {
        using ServerProcess ours = ServerProcess.Ours();
        using RespClient client = ours.Connect();
        client.Call("SET", "k", "v");
        client.Expect("$\"l\"", "FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() return 7 end)");
        string folder = Directory.CreateTempSubdirectory("redisclone-functions-").FullName;
        (string Option, string File, string Keys)[] wanted = [("--rdb", "all.rdb", ":1"), ("--functions-rdb", "functions.rdb", ":0")];
        (int Code, string Output)[] results = await Task.WhenAll(wanted.Select(w =>
            Repository.RunAsync("redis-cli", "-p", $"{ours.Port}", w.Option, Path.Combine(folder, w.File))));
        Assert.All(results, result => Assert.True(result.Code == 0, result.Output));
        foreach ((_, string file, string keys) in wanted)
        {
            using ServerProcess redis = ServerProcess.Redis("--dir", folder, "--dbfilename", file);
            using RespClient loaded = redis.Connect();
            loaded.Expect(keys, "DBSIZE");
            loaded.Expect(":7", "FCALL", "f", "0");
        }
        Directory.Delete(folder, recursive: true);
    }

    /// <summary>Both servers get the same requests. A client that sent SYNC gets the same effects from both.</summary>
    [Fact]
    public void TheReplicationStreamMatchesRedis()
    {
        string[] requests =
        [
            "SET a 1", "SET b 2 PXAT 4000000000000", "INCRBYFLOAT a 1.5", "GETDEL a", "SADD s x", "SPOP s", "SELECT 3",
            "RPUSH l 1 2 3", "LMPOP 1 l LEFT COUNT 2",
            "MULTI", "SET a 1", "SELECT 4", "SET b 2", "EXEC", "MULTI", "SET one 1", "EXEC", "MULTI", "GET one", "EXEC", "PUBLISH c m",
            "EVAL return{redis.call('SET','x','1'),redis.call('INCR','x')} 0", "EVAL return(redis.call('SET','y','1')) 0", "GET x", "DEL nothing", "SET x 5 NX",
            "RENAME x z", "PEXPIREAT z 1", "GETEX y PERSIST", "HSET h f 1", "HINCRBYFLOAT h f 0.5", "XADD st 1-1 f v",
            "XGROUP CREATE st g 0", "FLUSHALL", "SET end 1",
        ];
        using ServerProcess ours = ServerProcess.Ours(), redis = ServerProcess.Redis("--repl-diskless-sync", "no");
        Assert.Equal(StreamOf(redis, requests), StreamOf(ours, requests));
    }

    /// <summary>DEBUG POPULATE fills one server only, also within a transaction, and DEBUG REPLICATE sends a command to the replicas only.</summary>
    [Fact]
    public void DebugCommandsTreatReplicasAsRedisDoes()
    {
        using ServerProcess ours = ServerProcess.Ours("--enable-debug-command", "yes", "--repl-ping-replica-period", "3600");
        using RespClient replica = ours.Connect(), client = ours.Connect();
        client.Expect("+OK", "DEBUG", "REPLICATE", "SET", "nobody", "1");
        replica.Send("SYNC");
        ReadSnapshot(replica);
        client.Expect("+OK", "MULTI");
        client.Expect("+QUEUED", "SET", "a", "1");
        client.Expect("+QUEUED", "DEBUG", "POPULATE", "3");
        client.Expect("*[+OK +OK]", "EXEC");
        client.Expect(":4", "DBSIZE");
        client.Expect("+OK", "DEBUG", "REPLICATE", "SET", "b", "2");
        client.Expect(":0", "EXISTS", "b");
        foreach (string expected in new[] { "*[$\"SELECT\" $\"0\"]", "*[$\"SET\" $\"a\" $\"1\"]", "*[$\"SET\" $\"b\" $\"2\"]" })
            Assert.Equal(expected, replica.Read().ToString());
    }

    /// <summary>A replica that reads or changes keys is refused and closed, because its connection has no room for replies.</summary>
    [Fact]
    public void AReplicaCannotUseTheKeyspace()
    {
        using ServerProcess ours = ServerProcess.Ours();
        using RespClient replica = ours.Connect(), other = ours.Connect();
        replica.Send("SYNC");
        ReadSnapshot(replica);
        replica.Send("GET", "k");
        ours.AssertLogs("Replica generated a reply to command 'get', disconnecting it");
        ours.AssertLogs("== CRITICAL == This master is sending an error to its replica: 'ERR Replica can't interact with the keyspace'");
        other.Expect("-ERR value is not an integer or out of range", "PSYNC", "?", "x");
        ours.AssertLogs("asks for synchronization but with a wrong offset");
        other.Expect("+PONG", "PING");
    }

    /// <summary>What is kept for a slow replica serves another one, which continues although its offset is beyond the size of the backlog.</summary>
    [Fact]
    public void TheBacklogReachesBackToTheSlowestReplica()
    {
        const long size = 16 << 10;
        using ServerProcess ours = ServerProcess.Ours(
            "--client-output-buffer-limit", "replica", "0", "0", "0", "--repl-backlog-size", $"{size}", "--repl-diskless-sync", "no");
        using RespClient slow = ours.Connect(), client = ours.Connect();
        using ServerProcess replica = ServerProcess.Ours();
        using var proxy = new CutProxy(ours.Port);
        FollowingTests.Follow(replica, proxy.Port);
        // The snapshot of the slow one does not end, so the stream after its moment waits for it.
        client.Expect("+OK", "SET", "key:0", "1");
        client.Expect("+OK", "CONFIG", "SET", "rdb-key-save-delay", "100000000");
        slow.Send("SYNC");
        Until(() => client.Call("INFO", "persistence").Text!.Contains("rdb_bgsave_in_progress:1", StringComparison.Ordinal), "no snapshot", ours);
        proxy.Refuses = true;
        proxy.Cut();
        string value = new('x', 100_000);
        for (int i = 0; i < 200; i++) client.Expect("+OK", "SET", $"key:{i % 10}", value);
        Assert.True(Kept() > 10_000_000, $"{Kept()} bytes");
        proxy.Refuses = false;
        Until(() => client.Call("WAIT", "2", "100").Integer >= 1, "the replica does not follow", replica);
        string stats = client.Call("INFO", "stats").Text!;
        Assert.Contains("sync_full:2\r\n", stats, StringComparison.Ordinal);
        Assert.Contains("sync_partial_ok:1\r\n", stats, StringComparison.Ordinal);
        slow.Dispose();
        Until(() => Kept() == size, "the backlog does not shrink", ours);
        ours.AssertWell();

        long Kept()
        {
            string line = client.Call("INFO", "replication").Text!.Split("\r\n")
                .First(static line => line.StartsWith("repl_backlog_histlen:", StringComparison.Ordinal));
            return long.Parse(line.AsSpan(line.IndexOf(':') + 1), CultureInfo.InvariantCulture);
        }
    }

    /// <summary>The server closes a replica that does not read its stream, and frees the pending output.</summary>
    [Fact]
    public void AReplicaThatDoesNotReadIsClosed()
    {
        using ServerProcess ours = ServerProcess.Ours("--client-output-buffer-limit", "replica", "4mb", "0", "0");
        using var replica = new RespClient(ours.Port, receiveBuffer: 4096);
        using RespClient client = ours.Connect();
        replica.Send("SYNC");
        ReadSnapshot(replica);
        string value = new('x', 100_000);
        for (int i = 0; i < 200; i++) client.Expect("+OK", "SET", $"key:{i % 10}", value);
        Until(() => client.Call("INFO", "replication").Text!.Contains("connected_slaves:0", StringComparison.Ordinal), "the replica stays", ours);
        ours.AssertWell();
    }

    /// <summary>
    /// The replication stream has no room for replies. The server closes a replica whose command needs a reply, and other
    /// replicas are not affected.
    /// </summary>
    [Fact]
    public void AReplicaThatRequestsAReplyIsClosed()
    {
        using ServerProcess ours = ServerProcess.Ours("--repl-ping-replica-period", "3600");
        using RespClient client = ours.Connect(), rogue = ours.Connect(), other = ours.Connect();
        foreach (RespClient replica in new[] { rogue, other })
        {
            // Requests before SYNC get their replies.
            replica.SendRaw("PING\r\nSYNC\r\n");
            Assert.Equal("+PONG", replica.ReadLine());
            ReadSnapshot(replica);
            replica.Send("REPLCONF", "ACK", "0");
        }
        client.Expect("+OK", "SET", "k", "v");
        rogue.Send("ECHO", "mark");
        Assert.DoesNotContain("mark", rogue.ReadToClose(), StringComparison.Ordinal);
        Until(() => client.Call("INFO", "replication").Text!.Contains("connected_slaves:1", StringComparison.Ordinal), "the replica stays", ours);
        client.Expect("+OK", "SET", "k", "w");
        foreach (string expected in new[] { "0", "v", "w" }) Assert.Contains($"\"{expected}\"", other.Read().ToString(), StringComparison.Ordinal);
        ours.AssertWell();
    }

    private static string ContentsOf(RespClient client) => Contents.Of(client, withEncodings: false);

    private static string[] StreamOf(ServerProcess server, string[] requests)
    {
        using RespClient replica = server.Connect();
        using RespClient client = server.Connect();
        client.Expect("+OK", "CONFIG", "SET", "repl-ping-replica-period", "3600");
        client.Expect("+OK", "SET", "before", "1");
        replica.Send("SYNC");
        ReadSnapshot(replica);
        foreach (string request in requests) client.Call(request.Split(' '));
        var commands = new List<string>();
        string database = "";
        do
        {
            // The letter case differs between commands of clients and commands of the server, so the test ignores it.
            string command = replica.Read().ToString().ToLowerInvariant();
            bool selects = command.Contains("select", StringComparison.Ordinal);
            if (!selects || command != database) commands.Add(command);
            if (selects) database = command;
        }
        while (!commands[^1].Contains("end", StringComparison.Ordinal));
        return [.. commands];
    }

    private static void ReadSnapshot(RespClient replica)
    {
        string line = replica.ReadLine().TrimStart('\n');
        Assert.StartsWith("$", line, StringComparison.Ordinal);
        replica.Skip(int.Parse(line[1..], System.Globalization.CultureInfo.InvariantCulture));
    }

    /// <summary>Leaves the transaction that a random request may have opened.</summary>
    private static void Leave(RespClient client)
    {
        client.Call("DISCARD");
        client.Expect("+OK", "SELECT", "0");
    }

    private static void Until(Func<bool> isSo, string complaint, ServerProcess server)
    {
        for (int looks = 0; !isSo(); looks++)
        {
            Assert.True(looks < 600, $"{complaint}\n{server.Output}");
            Thread.Sleep(100);
        }
    }
}
