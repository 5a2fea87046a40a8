using System.Globalization;
using RedisClone.EndToEnd.Tests.Differential;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>This server as a replica: of redis-server, of itself, in chains, and through a link that breaks.</summary>
public sealed class FollowingTests
{
    private const int RandomRequests = 3000;

    private static readonly string[] OfTests = ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1"];

    /// <summary>
    /// redis-server is the primary while random requests of all families run. A chain follows it: this server, this server with
    /// a journal, and redis-server again. At the end all of them have the same contents.
    /// </summary>
    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public void AChainFollowsRedisServer(string diskless)
    {
        using ServerProcess primary = ServerProcess.Redis([.. OfTests, "--repl-diskless-sync", diskless]);
        using ServerProcess first = ServerProcess.Ours(OfTests), second = ServerProcess.Ours([.. OfTests, "--appendonly", "yes"]);
        using ServerProcess last = ServerProcess.Redis(OfTests);
        var stream = new CommandStream(new RowTemplates(first, primary).Independent, Seed.Random($"chain {diskless}"));
        using RespClient client = primary.Connect();
        foreach (string[] request in CommandStream.Preparation) client.Call(request);
        for (int i = 0; i < RandomRequests; i++)
        {
            if (i == RandomRequests / 4) Follow(first, primary);
            if (i == RandomRequests / 2) Follow(second, first);
            if (i == RandomRequests / 2 + 100) Follow(last, second);
            client.Call(stream.Next());
        }
        client.Call("DISCARD");
        client.Expect("+OK", "SELECT", "0");
        foreach (ServerProcess replica in new[] { first, second, last }) AssertSame(primary, replica);
        first.AssertWell();
        second.AssertWell();
    }

    /// <summary>
    /// A replica with little memory applies the first half of a transaction. Its clients are refused until it has all data again.
    /// </summary>
    [Fact]
    public void NoClientSeesAPartOfATransaction()
    {
        using ServerProcess primary = ServerProcess.Ours(), replica = ServerProcess.OursWith(("DOTNET_GCHeapHardLimit", "0x6000000"));
        Follow(replica, primary);
        using RespClient there = primary.Connect(), here = replica.Connect();
        there.Expect("+OK", "MULTI");
        foreach (string[] request in new string[][] { ["SET", "a", "1"], ["SETRANGE", "large", "300000000", "x"], ["SET", "b", "2"] })
            there.Expect("+QUEUED", request);
        there.Call("EXEC");
        replica.AssertLogs("A transaction of the primary was applied in part");
        here.Expect("-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "GET", "a");
        there.Expect(":1", "DEL", "large");
        Until(() => here.Call("GET", "b").Text == "2", "no copy", replica);
        here.Expect("$\"1\"", "GET", "a");
    }

    /// <summary>Writes under load reach a replica of this server, with transactions and scripts.</summary>
    [Fact]
    public async Task AReplicaOfThisServerHasAllWritesOfALoad()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests), replica = ServerProcess.Ours(OfTests);
        Task[] writers = [.. Enumerable.Range(0, 4).Select(number => Task.Run(() => Load(primary, number, rounds: 40)))];
        Follow(replica, primary);
        await Task.WhenAll(writers);
        AssertSame(primary, replica, byDigest: true);
        replica.AssertWell();
    }

    /// <summary>A replica whose link is cut again and again continues the stream, and has the same data at the end.</summary>
    [Fact]
    public async Task AReplicaContinuesAfterCutsOfTheLink()
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--repl-backlog-size", "64mb"]), replica = ServerProcess.Ours(OfTests);
        using var proxy = new CutProxy(primary.Port);
        using RespClient client = primary.Connect();
        Follow(replica, proxy.Port);
        Task writer = Task.Run(() => Load(primary, 0, rounds: 300));
        Random random = Seed.Random("cuts");
        for (int cut = 0; cut < 8; cut++)
        {
            await Task.Delay(random.Next(300));
            proxy.CutAfter(random.Next(20_000));
            await Task.Delay(random.Next(300));
            proxy.Cut();
        }
        await writer;
        AssertSame(primary, replica, byDigest: true);
        string stats = client.Call("INFO", "stats").Text!;
        Assert.Contains("sync_full:1\r\n", stats, StringComparison.Ordinal);
        Assert.DoesNotContain("sync_partial_ok:0\r\n", stats, StringComparison.Ordinal);
        replica.AssertWell();
    }

    /// <summary>If the backlog does not reach back far enough, the replica copies all data again.</summary>
    [Fact]
    public void AReplicaThatMissedTooMuchCopiesAllData()
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--repl-backlog-size", "100kb"]), replica = ServerProcess.Ours(OfTests);
        using var proxy = new CutProxy(primary.Port);
        using RespClient client = primary.Connect();
        Follow(replica, proxy.Port);
        proxy.Refuses = true;
        proxy.Cut();
        string value = new('x', 10_000);
        for (int i = 0; i < 100; i++) client.Expect("+OK", "SET", $"key:{i}", value);
        proxy.Refuses = false;
        AssertSame(primary, replica, byDigest: true);
        Assert.Contains("sync_full:2\r\n", client.Call("INFO", "stats").Text!, StringComparison.Ordinal);
        replica.AssertWell();
    }

    /// <summary>
    /// A replica becomes the primary. Its sibling and its former primary follow it and continue without a copy. Then the old
    /// roles come back.
    /// </summary>
    [Fact]
    public void AFailoverNeedsNoCopy()
    {
        // A PING of the former primary after the promotion would make its stream longer than the common part.
        using ServerProcess one = ServerProcess.Ours([.. OfTests, "--repl-ping-replica-period", "3600"]);
        using ServerProcess two = ServerProcess.Ours(OfTests), three = ServerProcess.Ours(OfTests);
        using ServerProcess four = ServerProcess.Redis(OfTests);
        using RespClient first = one.Connect(), second = two.Connect();
        foreach (ServerProcess replica in new[] { two, three, four }) Follow(replica, one);
        Load(one, 0, rounds: 5);
        foreach (ServerProcess replica in new[] { two, three, four }) AssertSame(one, replica);
        second.Expect("+OK", "REPLICAOF", "NO", "ONE");
        second.Expect("+OK", "SET", "new", "primary");
        foreach (ServerProcess replica in new[] { one, three, four }) Follow(replica, two);
        Load(two, 1, rounds: 5);
        foreach (ServerProcess replica in new[] { one, three, four }) AssertSame(two, replica);
        string stats = second.Call("INFO", "stats").Text!;
        Assert.Contains("sync_full:0\r\n", stats, StringComparison.Ordinal);
        Assert.Contains("sync_partial_ok:3\r\n", stats, StringComparison.Ordinal);
        first.Expect("-READONLY You can't write against a read only replica.", "SET", "k", "v");
        first.Expect("+OK", "REPLICAOF", "NO", "ONE");
        Follow(two, one);
        first.Expect("+OK", "SET", "again", "primary");
        AssertSame(one, two, byDigest: true);
        one.AssertWell();
        two.AssertWell();
        three.AssertWell();
    }

    /// <summary>redis-server hands its role over to a replica that is this server.</summary>
    [Fact]
    public void RedisServerFailsOverToThisServer()
    {
        using ServerProcess redis = ServerProcess.Redis(OfTests), ours = ServerProcess.Ours(OfTests);
        using RespClient former = redis.Connect(), leader = ours.Connect();
        Follow(ours, redis);
        Load(redis, 0, rounds: 5);
        former.Expect("+OK", "FAILOVER", "TO", "127.0.0.1", $"{ours.Port}", "TIMEOUT", "20000");
        Until(() => former.Call("ROLE")[0].Text == "slave" && leader.Call("ROLE")[0].Text == "master", "the roles stay", ours);
        Load(ours, 1, rounds: 5);
        AssertSame(ours, redis);
        Assert.Contains("sync_full:0\r\n", leader.Call("INFO", "stats").Text!, StringComparison.Ordinal);
        ours.AssertWell();
    }

    /// <summary>A replica with a journal restarts with its data, follows again and has all later writes.</summary>
    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public void AReplicaRestarts(string appendOnly)
    {
        using ServerProcess primary = ServerProcess.Redis(OfTests);
        string folder = Directory.CreateTempSubdirectory("redisclone-replica-").FullName;
        string[] options = [.. OfTests, "--dir", folder, "--appendonly", appendOnly, "--replicaof", "127.0.0.1", $"{primary.Port}"];
        Load(primary, 0, rounds: 5);
        using (ServerProcess replica = ServerProcess.Ours(options))
        {
            AssertSame(primary, replica);
            using RespClient client = replica.Connect();
            Until(() => client.Call("INFO", "persistence").Text!.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal), "no base", replica);
            client.Send("SHUTDOWN", appendOnly == "yes" ? "NOSAVE" : "SAVE");
            Until(() => replica.HasExited, "the replica does not end", replica);
        }
        using (ServerProcess alone = ServerProcess.Ours([.. OfTests, "--dir", folder, "--appendonly", appendOnly])) AssertSame(primary, alone);
        Load(primary, 1, rounds: 5);
        using (ServerProcess replica = ServerProcess.Ours(options))
        {
            AssertSame(primary, replica);
            replica.AssertWell();
        }
        Directory.Delete(folder, recursive: true);
    }

    internal static void Follow(ServerProcess replica, ServerProcess primary) => Follow(replica, primary.Port);

    internal static void Follow(ServerProcess replica, int port)
    {
        using RespClient client = replica.Connect();
        client.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{port}");
        Until(() => client.Call("INFO", "replication").Text!.Contains("master_link_status:up", StringComparison.Ordinal), "no link", replica);
    }

    internal static void Until(Func<bool> isSo, string complaint, ServerProcess server)
    {
        for (int looks = 0; !isSo(); looks++)
        {
            Assert.True(looks < 600, $"{complaint}\n{server.Output}");
            Thread.Sleep(100);
        }
    }

    /// <summary>Waits until a replica has the offset of a server, and compares the data.</summary>
    internal static void AssertSame(ServerProcess server, ServerProcess replica, bool byDigest = false)
    {
        using RespClient one = server.Connect(), other = replica.Connect();
        bool IsUp() => other.Call("INFO", "replication").Text is { } info
            && (info.Contains("role:master", StringComparison.Ordinal) || info.Contains("master_link_status:up", StringComparison.Ordinal));
        Until(IsUp, "the replica does not follow", replica);
        string Read(RespClient client) => byDigest ? client.Call("DEBUG", "DIGEST").ToString() : Contents.Of(client, withEncodings: false);
        string expected = "", actual = "";
        for (int looks = 0; looks < 600; looks++)
        {
            (expected, actual) = (Read(one), Read(other));
            if (expected == actual) return;
            Thread.Sleep(100);
        }
        string[] there = expected.Split('\n'), here = actual.Split('\n');
        Assert.Fail($"the data differ, {Seed.Note}\n{Lines(there.Except(here))}\nnot\n{Lines(here.Except(there))}\n{server.Output}\n----\n{replica.Output}");

        static string Lines(IEnumerable<string> lines) => string.Join('\n', lines.Take(20));
    }

    /// <summary>Writes values of several types, also in transactions and scripts, in two databases.</summary>
    /// <param name="server">The server.</param>
    /// <param name="writer">The number of the writer, which is part of the names of its keys.</param>
    /// <param name="rounds">How often each command is sent.</param>
    /// <param name="mayFail">Whether the server may refuse commands, for example for lack of memory.</param>
    internal static void Load(ServerProcess server, int writer, int rounds, bool mayFail = false)
    {
        using RespClient client = server.Connect();
        for (int round = 0; round < rounds; round++)
        {
            string number = round.ToString(CultureInfo.InvariantCulture);
            string[][] requests =
            [
                ["SELECT", $"{round % 2}"], ["SET", $"key:{writer}:{round % 50}", new string('v', round % 700)], ["INCR", "counter"],
                ["RPUSH", $"list:{writer}", number, "b"], ["LPOP", $"list:{writer}"], ["HSET", $"hash:{round % 7}", number, "x"],
                ["MULTI"], ["INCR", "a"], ["INCR", "b"], ["SADD", $"set:{writer}", number], ["EXEC"],
                ["ZADD", "scores", number, $"member:{round % 30}"], ["XADD", $"stream:{writer}", "*", "f", number], ["SPOP", $"set:{writer}"],
                ["EVAL", "redis.call('INCR', KEYS[1]); return redis.call('APPEND', KEYS[2], ARGV[1])", "2", "c", $"text:{writer}", "z"],
                ["SET", $"short:{round}", "1", "PX", "20"], ["DEL", $"key:{writer}:{round % 11}"],
            ];
            foreach (Reply reply in client.Pipeline(requests)) Assert.False(reply.IsError && !mayFail, reply.ToString());
        }
    }
}
