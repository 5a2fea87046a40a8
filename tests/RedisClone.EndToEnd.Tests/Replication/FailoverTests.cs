using System.Net.Sockets;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>FAILOVER: a primary hands its role over to a replica.</summary>
public sealed class FailoverTests
{
    private static readonly string[] OfTests = ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1"];

    /// <summary>
    /// Writers count while the role moves from one server to the other. No write that was confirmed is lost, and a writer that is
    /// refused finds the new primary.
    /// </summary>
    [Fact]
    public async Task NoConfirmedWriteIsLost()
    {
        // The writers fill the usual backlog of 1 MB within the second that a replica waits before it connects again.
        string[] arguments = [.. OfTests, "--repl-backlog-size", "64mb"];
        using ServerProcess one = ServerProcess.Ours(arguments), two = ServerProcess.Ours(arguments), three = ServerProcess.Redis(arguments);
        foreach (ServerProcess replica in new[] { two, three }) FollowingTests.Follow(replica, one);
        using var stop = new CancellationTokenSource();
        // Other tests block the threads of the pool, so a writer could begin after the last failover.
        Task<int>[] writers = [.. Enumerable.Range(0, 3).Select(number => Task.Factory.StartNew(
            () => Count(number, [one, two, three], stop.Token), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default))];
        ServerProcess[] order = [two, one, three, one];
        ServerProcess present = one;
        foreach (ServerProcess next in order)
        {
            using RespClient leader = present.Connect(), heir = next.Connect();
            // A server knows one past ID of replication: a replica that misses two failovers in a row asks for the whole.
            FollowingTests.Until(() => ReplicationIds(one, two, three).Distinct().Count() == 1, "a replica stays behind", present);
            string replica = $"port={next.Port},state=online";
            FollowingTests.Until(() => leader.Call("INFO", "replication").Text!.Contains(replica, StringComparison.Ordinal), "no replica", present);
            leader.Expect("+OK", "FAILOVER", "TO", "127.0.0.1", $"{next.Port}", "TIMEOUT", "30000");
            FollowingTests.Until(() => heir.Call("ROLE")[0].Text == "master" && leader.Call("ROLE")[0].Text == "slave", "the roles stay", present);
            FollowingTests.Until(
                () => leader.Call("INFO", "replication").Text!.Contains("master_failover_state:no-failover", StringComparison.Ordinal), "no end", present);
            present = next;
        }
        await stop.CancelAsync();
        int[] counts = await Task.WhenAll(writers);
        using RespClient client = present.Connect();
        for (int i = 0; i < counts.Length; i++)
        {
            Assert.True(counts[i] > 0);
            client.Expect($"$\"{counts[i]}\"", "GET", $"counter:{i}");
        }
        FollowingTests.AssertSame(one, two, byDigest: true);
        string stats = client.Call("INFO", "stats").Text!;
        Assert.True(stats.Contains("sync_full:2\r\n", StringComparison.Ordinal), $"{stats}\n{one.Output}\n{two.Output}\n{three.Output}");
        one.AssertWell();
        two.AssertWell();
    }

    /// <summary>A replica whose clients leave no memory for another replica does not take over. Otherwise both servers would be primaries.</summary>
    [Fact]
    public void AReplicaWithoutMemoryStaysAReplica()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests), replica = ServerProcess.OursWith(("DOTNET_GCHeapHardLimit", "0x4000000"));
        FollowingTests.Follow(replica, primary);
        using RespClient leader = primary.Connect(), heir = replica.Connect();
        var idle = new List<RespClient>();
        try
        {
            bool isFull = false;
            while (!isFull)
            {
                RespClient client = replica.Connect();
                idle.Add(client);
                try
                {
                    isFull = client.Call("PING").Text != "PONG";
                }
                catch (IOException)
                {
                    isFull = true;
                }
            }
            // The connection of the former primary finds a place, and its output as a replica does not.
            foreach (RespClient client in idle.TakeLast(8)) client.Dispose();
            heir.Expect("+PONG", "PING");
            leader.Expect("+OK", "FAILOVER");
            primary.AssertLogs("Failover target rejected psync request");
            FollowingTests.Until(
                () => leader.Call("INFO", "replication").Text!.Contains("master_failover_state:no-failover", StringComparison.Ordinal), "no end", primary);
            Assert.Equal("master", leader.Call("ROLE")[0].Text);
            Assert.Equal("slave", heir.Call("ROLE")[0].Text);
        }
        finally
        {
            foreach (RespClient client in idle) client.Dispose();
        }
    }

    /// <summary>The errors are redis-server's.</summary>
    [Fact]
    public void TheErrorsAreThoseOfRedis()
    {
        using ServerProcess ours = ServerProcess.Ours(OfTests), redis = ServerProcess.Redis(OfTests);
        using ServerProcess ourReplica = ServerProcess.Ours(OfTests), theirReplica = ServerProcess.Ours(OfTests);
        Compare(ours, redis, ["FAILOVER"], ["FAILOVER", "ABORT"], ["FAILOVER", "TO", "127.0.0.1", "1"]);
        FollowingTests.Follow(ourReplica, ours);
        FollowingTests.Follow(theirReplica, redis);
        Compare(
            ours, redis,
            ["FAILOVER", "ABORT"], ["FAILOVER", "TO", "127.0.0.1", "1"], ["FAILOVER", "TO", "127.0.0.1"], ["FAILOVER", "TO", "127.0.0.1", "x"],
            ["FAILOVER", "TIMEOUT", "0"], ["FAILOVER", "TIMEOUT", "-1"], ["FAILOVER", "TIMEOUT", "x"], ["FAILOVER", "TIMEOUT"], ["FAILOVER", "FORCE"],
            ["FAILOVER", "FORCE", "TIMEOUT", "5"], ["FAILOVER", "TO", "a", "1", "FORCE"], ["FAILOVER", "FORCE", "FORCE"], ["FAILOVER", "ABORT", "ABORT"],
            ["FAILOVER", "TIMEOUT", "5", "TIMEOUT", "5"], ["PSYNC", "?", "-1", "FAILOVER"]);
        using RespClient replica = ourReplica.Connect();
        replica.Expect("-ERR FAILOVER is not valid when server is a replica.", "FAILOVER");
        replica.Expect("-ERR PSYNC FAILOVER replid must match my replid.", "PSYNC", "?", "-1", "FAILOVER");
    }

    /// <summary>
    /// The replica does not acknowledge. Writes wait, other changes of the role are refused, and ABORT or the timeout ends the
    /// failover: the writes go on.
    /// </summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void AFailoverThatCannotProceedEnds(bool byAbort)
    {
        using ServerProcess server = ServerProcess.Ours(OfTests);
        using var replica = new RespClient(server.Port);
        int port = Introduce(replica);
        using RespClient client = server.Connect(), writer = server.Connect();
        client.Expect("+OK", "SET", "k", "1");
        client.Expect("+OK", byAbort ? ["FAILOVER"] : ["FAILOVER", "TO", "127.0.0.1", $"{port}", "TIMEOUT", "1500"]);
        Assert.Contains("master_failover_state:waiting-for-sync", client.Call("INFO", "replication").Text!, StringComparison.Ordinal);
        client.Expect("-ERR FAILOVER already in progress.", "FAILOVER");
        client.Expect("-ERR REPLICAOF not allowed while failing over.", "REPLICAOF", "127.0.0.1", "1");
        using var late = new RespClient(server.Port);
        late.Expect("-NOMASTERLINK Can't SYNC while failing over", "PSYNC", "?", "-1");
        client.Expect("$\"1\"", "GET", "k");
        writer.Send("INCR", "k");
        Assert.False(writer.Socket.Poll(200_000, SelectMode.SelectRead), "a write did not wait");
        client.Expect("+OK", "CLIENT", "UNPAUSE");
        Assert.False(writer.Socket.Poll(100_000, SelectMode.SelectRead), "CLIENT UNPAUSE released a write");
        if (byAbort) client.Expect("+OK", "FAILOVER", "ABORT");
        Assert.Equal(":2", writer.Read().ToString());
        string reason = byAbort
            ? "FAILOVER to any replica aborted: Failover manually aborted"
            : $"FAILOVER to 127.0.0.1:{port} aborted: Replica never caught up before timeout";
        server.AssertLogs(reason);
        Assert.Contains("master_failover_state:no-failover", client.Call("INFO", "replication").Text!, StringComparison.Ordinal);
        Assert.Equal("master", client.Call("ROLE")[0].Text);
        server.AssertWell();
    }

    /// <summary>
    /// With FORCE, the target is asked although it lacks a part of the stream. If it refuses, the server is the primary again. If
    /// it cannot be reached, ABORT makes it that.
    /// </summary>
    [Theory]
    [InlineData("-ERR no\r\n")]
    [InlineData("-NOMASTERLINK Can't SYNC while not connected with my master\r\n")]
    [InlineData(null)]
    public void ATargetThatDoesNotTakeOverLeavesTheRole(string? answer)
    {
        using var target = new FakePrimary(_ => answer!);
        using ServerProcess server = ServerProcess.Ours(OfTests);
        using var replica = new RespClient(server.Port);
        int port = answer is null ? Introduce(replica) : Introduce(replica, target.Port);
        using RespClient client = server.Connect();
        client.Expect("+OK", "SET", "k", "1");
        client.Expect("+OK", "FAILOVER", "TO", "127.0.0.1", $"{port}", "FORCE", "TIMEOUT", "100");
        if (answer is null)
        {
            const string forced = "master_failover_state:failover-in-progress";
            FollowingTests.Until(() => client.Call("INFO", "replication").Text!.Contains(forced, StringComparison.Ordinal), "not forced", server);
            client.Expect("-READONLY You can't write against a read only replica.", "SET", "k", "2");
            client.Expect("+OK", "FAILOVER", "ABORT");
        }
        else
        {
            server.AssertLogs("aborted: Failover target rejected psync request");
        }
        // The log line comes before the end of the failover.
        const string over = "master_failover_state:no-failover";
        FollowingTests.Until(() => client.Call("INFO", "replication").Text!.Contains(over, StringComparison.Ordinal), "the failover goes on", server);
        Assert.Equal("master", client.Call("ROLE")[0].Text);
        client.Expect("+OK", "SET", "k", "3");
        server.AssertWell();
    }

    /// <summary>The target may have taken over although its answer was lost, so only its answer ends the failover.</summary>
    [Fact]
    public void ATargetThatTookOverWithoutAnAnswerIsFollowed()
    {
        using var target = new FakePrimary(static asked => asked switch
        {
            1 => null,
            2 => "-ERR PSYNC FAILOVER can't be sent to a master.\r\n",
            _ => "+CONTINUE\r\n",
        });
        using ServerProcess server = ServerProcess.Ours(OfTests);
        using var replica = new RespClient(server.Port);
        int port = Introduce(replica, target.Port);
        using RespClient client = server.Connect();
        client.Expect("+OK", "SET", "k", "1");
        client.Expect("+OK", "FAILOVER", "TO", "127.0.0.1", $"{port}", "FORCE", "TIMEOUT", "100");
        const string follows = "master_link_status:up";
        FollowingTests.Until(() => client.Call("INFO", "replication").Text!.Contains(follows, StringComparison.Ordinal), "not followed", server);
        Assert.Equal(3, target.Asked);
        Assert.Contains("master_failover_state:no-failover", client.Call("INFO", "replication").Text!, StringComparison.Ordinal);
        Assert.Equal("slave", client.Call("ROLE")[0].Text);
        server.AssertWell();
    }

    /// <summary>Becomes a replica that takes the snapshot and never acknowledges.</summary>
    private static int Introduce(RespClient replica, int port = 0)
    {
        if (port == 0) port = Ports.Free();
        replica.Expect("+OK", "REPLCONF", "listening-port", $"{port}");
        replica.Expect("+OK", "REPLCONF", "capa", "psync2");
        replica.Send("PSYNC", "?", "-1");
        string line = replica.ReadLine().TrimStart('\n');
        Assert.StartsWith("+FULLRESYNC", line, StringComparison.Ordinal);
        string length = replica.ReadLine().TrimStart('\n');
        replica.Skip(int.Parse(length[1..], System.Globalization.CultureInfo.InvariantCulture));
        // The server counts the replica as online once it has sent the snapshot.
        replica.ReadLine();
        return port;
    }

    private static void Compare(ServerProcess ours, ServerProcess redis, params string[][] requests)
    {
        foreach (string[] request in requests)
        {
            using RespClient one = ours.Connect(), other = redis.Connect();
            Assert.Equal($"{Requests.Show(request)}: {other.Call(request)}", $"{Requests.Show(request)}: {one.Call(request)}");
        }
    }

    private static string[] ReplicationIds(params ServerProcess[] servers) => [.. servers.Select(ReplicationId)];

    private static string ReplicationId(ServerProcess server)
    {
        using RespClient client = server.Connect();
        return client.Call("INFO", "replication").Text!.Split("\r\n").First(line => line.StartsWith("master_replid:", StringComparison.Ordinal));
    }

    /// <summary>Counts with INCR at the server that accepts writes. Returns the last confirmed value.</summary>
    private static int Count(int number, ServerProcess[] servers, CancellationToken stop)
    {
        int count = 0;
        RespClient[] clients = [.. servers.Select(server => server.Connect())];
        for (int at = 0; !stop.IsCancellationRequested;)
        {
            Reply reply = clients[at].Call("INCR", $"counter:{number}");
            if (!reply.IsError)
            {
                Assert.Equal(++count, reply.Integer);
                continue;
            }
            Assert.StartsWith("READONLY", reply.Text, StringComparison.Ordinal);
            at = (at + 1) % clients.Length;
            Thread.Sleep(1);
        }
        foreach (RespClient client in clients) client.Dispose();
        return count;
    }
}
