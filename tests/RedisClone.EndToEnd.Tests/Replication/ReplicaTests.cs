using RedisClone.EndToEnd.Tests.Differential;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>This server feeds replicas: a real redis-server, and clients that ask by SYNC.</summary>
public sealed class ReplicaTests
{
    private const int Requests = 4000;

    /// <summary>Redis joins in the middle of random requests of all families, and has in the end what is here.</summary>
    [Theory]
    [InlineData("no", "everysec")]
    [InlineData("yes", "always")]
    public void RedisFollows(string appendOnly, string flush)
    {
        using ServerProcess ours = ServerProcess.Ours("--appendonly", appendOnly, "--appendfsync", flush, "--enable-debug-command", "yes", "--repl-ping-replica-period", "1");
        using ServerProcess redis = ServerProcess.Redis("--enable-debug-command", "yes", "--appendonly", "no");
        HashSet<string> known = CommandNames.Of(ours), theirs = CommandNames.Of(redis);
        // What a newer Redis brought cannot be sent to an old one.
        Template[] common = [.. Families.Everything.Where(t => t.IsIn(known) && t.IsIn(theirs) && t.Name != "NOSUCHCOMMAND")];
        var stream = new CommandStream(common, Seed.Random($"replica {appendOnly}"));
        using RespClient client = ours.Connect();
        using RespClient replica = redis.Connect();
        foreach (string[] request in CommandStream.Preparation(known)) client.Call(request);
        for (int i = 0; i < Requests; i++)
        {
            if (i == Requests / 4) replica.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{ours.Port}");
            client.Call(stream.Next());
        }
        Leave(client);
        Until(() => client.Call("WAIT", "1", "1000").Integer == 1, "Redis does not follow", redis);
        // What expires meanwhile is told to the replica a moment later.
        for (int looks = 0; looks < 1200 && ContentsOf(client) != ContentsOf(replica); looks++) Thread.Sleep(50);
        Assert.Equal(ContentsOf(client), ContentsOf(replica));
        Assert.Contains("state=online", client.Call("INFO", "replication").Text, StringComparison.Ordinal);
        replica.Expect("+OK", "REPLICAOF", "NO", "ONE");
        Until(() => client.Call("INFO", "replication").Text!.Contains("connected_slaves:0", StringComparison.Ordinal), "the replica stays", redis);
        ours.AssertWell();
    }

    /// <summary>redis-cli asks for all and for functions at the same time; each gets what it wants, and redis-server loads it.</summary>
    [Fact]
    public async Task SnapshotsOfFunctionsAloneHaveNoKeys()
    {
        using ServerProcess ours = ServerProcess.Ours();
        using RespClient client = ours.Connect();
        client.Call("SET", "k", "v");
        client.Expect("$\"l\"", "FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() return 7 end)");
        string folder = Directory.CreateTempSubdirectory("redisclone-functions-").FullName;
        (string Option, string File, string Keys)[] wanted = [("--rdb", "all.rdb", ":1"), ("--functions-rdb", "functions.rdb", ":0")];
        (int Code, string Output)[] said = await Task.WhenAll(wanted.Select(w => Repository.RunAsync("redis-cli", "-p", $"{ours.Port}", w.Option, Path.Combine(folder, w.File))));
        Assert.All(said, done => Assert.True(done.Code == 0, done.Output));
        foreach ((_, string file, string keys) in wanted)
        {
            using ServerProcess redis = ServerProcess.Redis("--dir", folder, "--dbfilename", file);
            using RespClient loaded = redis.Connect();
            loaded.Expect(keys, "DBSIZE");
            loaded.Expect(":7", "FCALL", "f", "0");
        }
        Directory.Delete(folder, recursive: true);
    }

    /// <summary>The same requests on both servers: who asked by SYNC gets the same effects from both.</summary>
    [Fact]
    public void TheStreamIsThatOfRedis()
    {
        string[] requests =
        [
            "SET a 1", "SET b 2 PXAT 4000000000000", "INCRBYFLOAT a 1.5", "GETDEL a", "SADD s x", "SPOP s", "SELECT 3", "RPUSH l 1 2 3", "LMPOP 1 l LEFT COUNT 2",
            "MULTI", "SET a 1", "SELECT 4", "SET b 2", "EXEC", "MULTI", "SET one 1", "EXEC", "MULTI", "GET one", "EXEC", "PUBLISH c m",
            "EVAL return{redis.call('SET','x','1'),redis.call('INCR','x')} 0", "EVAL return(redis.call('SET','y','1')) 0", "GET x", "DEL nothing", "SET x 5 NX",
            "RENAME x z", "PEXPIREAT z 1", "GETEX y PERSIST", "HSET h f 1", "HINCRBYFLOAT h f 0.5", "XADD st 1-1 f v", "XGROUP CREATE st g 0", "FLUSHALL", "SET end 1",
        ];
        using ServerProcess ours = ServerProcess.Ours(), redis = ServerProcess.Redis("--repl-diskless-sync", "no");
        Assert.Equal(StreamOf(redis, requests), StreamOf(ours, requests));
    }

    /// <summary>Who does not take what it asked for is let go, and what waited for it too.</summary>
    [Fact]
    public void WhoDoesNotReadIsLetGo()
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

    /// <summary>What a replica is sent has no room for replies: one that asks for any is let go, and the others do not notice.</summary>
    [Fact]
    public void WhoAsksForRepliesAsAReplicaIsLetGo()
    {
        using ServerProcess ours = ServerProcess.Ours("--repl-ping-replica-period", "3600");
        using RespClient client = ours.Connect(), rogue = ours.Connect(), other = ours.Connect();
        foreach (RespClient replica in new[] { rogue, other })
        {
            // What came before is answered.
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
            // Whose command it is decides of its letters: the client's, or the server's own.
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

    /// <summary>A random request may have left a transaction open.</summary>
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
