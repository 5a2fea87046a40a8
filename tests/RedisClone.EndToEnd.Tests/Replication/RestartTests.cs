using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>What a restart keeps of a role and of the position in the stream.</summary>
public sealed class RestartTests : IDisposable
{
    private static readonly string[] OfTests = ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1"];

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-restart-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    /// <summary>
    /// A role that was set at run time holds after a restart with the same options, and after a crash. Another replicaof in the
    /// options wins.
    /// </summary>
    [Fact]
    public void TheRoleHoldsWithoutAConfigurationFile()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests);
        string port = $"{Ports.Free()}", other = $"{Ports.Free()}";
        string[] plain = [.. OfTests, "--dir", _folder, "--port", port];
        using (ServerProcess server = ServerProcess.Ours(plain))
        {
            using RespClient client = server.Connect();
            client.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        }
        using (ServerProcess server = ServerProcess.Ours(plain))
        {
            using RespClient client = server.Connect();
            Assert.Equal("slave", client.Call("ROLE")[0].Text);
            FollowingTests.Until(() => client.Call("ROLE")[3].Text == "connected", "no link", server);
            client.Expect("+OK", "REPLICAOF", "NO", "ONE");
        }
        using (ServerProcess server = ServerProcess.Ours(plain))
        {
            using RespClient client = server.Connect();
            Assert.Equal("master", client.Call("ROLE")[0].Text);
        }
        string[] asReplica = [.. plain, "--replicaof", "127.0.0.1", $"{primary.Port}"];
        using (ServerProcess server = ServerProcess.Ours(asReplica))
        {
            using RespClient client = server.Connect();
            Assert.Equal("slave", client.Call("ROLE")[0].Text);
            FollowingTests.Until(() => client.Call("REPLICAOF", "NO", "ONE").ToString() == "+OK", "the data stays loading", server);
        }
        using (ServerProcess server = ServerProcess.Ours(asReplica))
        {
            using RespClient client = server.Connect();
            Assert.Equal("master", client.Call("ROLE")[0].Text);
        }
        using (ServerProcess server = ServerProcess.Ours([.. plain, "--replicaof", "127.0.0.1", other]))
        {
            using RespClient client = server.Connect();
            Assert.Equal(other, client.Call("ROLE")[2].Text);
        }
    }

    /// <summary>With a configuration file, CONFIG REWRITE keeps the role, and nothing else does.</summary>
    [Fact]
    public void AConfigurationFileKeepsTheRole()
    {
        string port = $"{Ports.Free()}", file = Path.Combine(_folder, "redis.conf");
        File.WriteAllLines(file, [$"port {port}", $"dir {_folder}", "save \"\""]);
        foreach (bool rewrites in new[] { false, true })
        {
            using (ServerProcess server = ServerProcess.Ours(file, "--port", port, "--dir", _folder))
            {
                using RespClient client = server.Connect();
                Assert.Equal("master", client.Call("ROLE")[0].Text);
                client.Expect("+OK", "REPLICAOF", "127.0.0.1", "1");
                if (rewrites) client.Expect("+OK", "CONFIG", "REWRITE");
            }
        }
        using (ServerProcess server = ServerProcess.Ours(file, "--port", port, "--dir", _folder))
        {
            using RespClient client = server.Connect();
            Assert.Equal("slave", client.Call("ROLE")[0].Text);
        }
    }

    /// <summary>A primary ends in order and starts again: its replica continues without a copy, under a new name of the history.</summary>
    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public void AReplicaContinuesAfterARestartOfThePrimary(string appendOnly)
    {
        using ServerProcess replica = ServerProcess.Ours(OfTests);
        string port = $"{Ports.Free()}";
        string[] options = [.. OfTests, "--dir", _folder, "--port", port, "--appendonly", appendOnly];
        string history;
        using (ServerProcess primary = ServerProcess.Ours(options))
        {
            FollowingTests.Follow(replica, primary);
            using RespClient client = primary.Connect();
            FollowingTests.Load(primary, 0, rounds: 5);
            client.Expect("+OK", "DEBUG", "SET-ACTIVE-EXPIRE", "0");
            client.Expect("+OK", "SET", "expiring", "1", "PX", "300");
            history = client.Figure("master_replid", "replication");
            End(primary, client, appendOnly);
        }
        Thread.Sleep(400);
        using (ServerProcess primary = ServerProcess.Ours(options))
        {
            using RespClient client = primary.Connect();
            Assert.NotEqual(history, client.Figure("master_replid", "replication"));
            FollowingTests.Load(primary, 1, rounds: 5);
            AssertSame(client, replica);
            string stats = client.Call("INFO", "stats").Text!;
            Assert.Contains("sync_full:0\r\n", stats, StringComparison.Ordinal);
            Assert.Contains("sync_partial_ok:1\r\n", stats, StringComparison.Ordinal);
            client.Expect("+OK", "CONFIG", "RESETSTAT");
            Assert.Contains("sync_partial_ok:0\r\n", client.Call("INFO", "stats").Text!, StringComparison.Ordinal);
            string persistence = client.Call("INFO", "persistence").Text!;
            if (appendOnly == "no") Assert.DoesNotContain("rdb_last_load_keys_expired:0\r\n", persistence, StringComparison.Ordinal);
        }
    }

    /// <summary>
    /// A shutdown waits for a replica that is behind. INFO shows it, a second SHUTDOWN waits for the first one, and SHUTDOWN ABORT
    /// answers both with an error.
    /// </summary>
    [Fact]
    public void AShutdownThatWaitsForReplicasCanBeAborted()
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--save", ""]), replica = ServerProcess.Ours(OfTests);
        FollowingTests.Follow(replica, primary);
        using RespClient client = primary.Connect(), first = primary.Connect(), second = primary.Connect();
        ReplicaParameterTests.Signal(replica, "STOP");
        try
        {
            client.Expect("+OK", "SET", "key", "1");
            first.Send("SHUTDOWN");
            FollowingTests.Until(
                () => client.Call("INFO", "server").Text!.Contains("shutdown_in_milliseconds:", StringComparison.Ordinal), "it does not wait", primary);
            second.Send("SHUTDOWN", "NOSAVE");
            FollowingTests.Until(
                () => client.Call("INFO", "clients").Text!.Contains("blocked_clients:2\r\n", StringComparison.Ordinal), "they do not wait", primary);
            client.Expect("+OK", "SHUTDOWN", "ABORT");
            foreach (RespClient waiting in new[] { first, second })
                Assert.Equal("-ERR Errors trying to SHUTDOWN. Check logs.", waiting.Read().ToString());
            client.Expect("-ERR No shutdown in progress.", "SHUTDOWN", "ABORT");
            Assert.DoesNotContain("shutdown_in_milliseconds:", client.Call("INFO", "server").Text!, StringComparison.Ordinal);
            client.Expect("+OK", "SET", "key", "2");
            // Scripts go on as before.
            client.Expect(":3000000", "EVAL", "local n = 0 while n < 3e6 do n = n + 1 end return n", "0");
            client.Expect("+OK", "CONFIG", "SET", "shutdown-timeout", "1");
            client.Send("SHUTDOWN");
            FollowingTests.Until(() => primary.HasExited, "the server does not end", primary);
            primary.AssertLogs("0 of 1 replicas are in sync when shutting down.");
            primary.AssertLogs("Lagging replica");
        }
        finally
        {
            ReplicaParameterTests.Signal(replica, "CONT");
        }
    }

    /// <summary>
    /// While a shutdown waits for a replica, a transaction that is refused ends at once. CLIENT PAUSE ALL does not hold the acknowledgements of
    /// the replica.
    /// </summary>
    [Fact]
    public void AShutdownThatWaitsHoldsWritesOnly()
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--save", "", "--shutdown-timeout", "600"]), replica = ServerProcess.Ours(OfTests);
        FollowingTests.Follow(replica, primary);
        using RespClient client = primary.Connect(), transaction = primary.Connect(), asking = primary.Connect();
        ReplicaParameterTests.Signal(replica, "STOP");
        try
        {
            client.Expect("+OK", "SET", "key", "1");
            transaction.Expect("+OK", "MULTI");
            transaction.Expect("+QUEUED", "SET", "key", "2");
            client.Expect("+OK", "CONFIG", "SET", "min-replicas-to-write", "3");
            asking.Send("SHUTDOWN");
            FollowingTests.Until(
                () => client.Call("INFO", "server").Text!.Contains("shutdown_in_milliseconds:", StringComparison.Ordinal), "it does not wait", primary);
            Assert.StartsWith("-EXECABORT", transaction.Call("EXEC").ToString());
            client.Expect("+OK", "CLIENT", "PAUSE", "600000", "ALL");
        }
        finally
        {
            ReplicaParameterTests.Signal(replica, "CONT");
        }
        FollowingTests.Until(() => primary.HasExited, "the server does not end", primary);
    }

    /// <summary>A primary that was killed does not know what its replica has, so all data is copied.</summary>
    [Fact]
    public void AKilledPrimaryHasANewHistory()
    {
        using ServerProcess replica = ServerProcess.Ours(OfTests);
        string port = $"{Ports.Free()}";
        string[] options = [.. OfTests, "--dir", _folder, "--port", port, "--appendonly", "yes"];
        string history;
        using (ServerProcess primary = ServerProcess.Ours(options))
        {
            FollowingTests.Follow(replica, primary);
            using RespClient client = primary.Connect();
            FollowingTests.Load(primary, 0, rounds: 5);
            history = client.Figure("master_replid", "replication");
        }
        using (ServerProcess primary = ServerProcess.Ours(options))
        {
            using RespClient client = primary.Connect();
            Assert.NotEqual(history, client.Figure("master_replid", "replication"));
            Assert.Equal(new string('0', 40), client.Figure("master_replid2", "replication"));
            FollowingTests.Until(() => client.Call("INFO", "stats").Text!.Contains("sync_full:1\r\n", StringComparison.Ordinal), "no full copy", primary);
            AssertSame(client, replica);
        }
    }

    /// <summary>A replica of either server ends in order and starts again: it continues where it was.</summary>
    [Theory]
    [InlineData("yes", false)]
    [InlineData("no", false)]
    [InlineData("yes", true)]
    [InlineData("no", true)]
    public void AReplicaContinuesAfterItsRestart(string appendOnly, bool ofRedis)
    {
        using ServerProcess primary = ofRedis ? ServerProcess.Redis(OfTests) : ServerProcess.Ours(OfTests);
        string port = $"{Ports.Free()}";
        string[] options = [.. OfTests, "--dir", _folder, "--port", port, "--appendonly", appendOnly, "--replicaof", "127.0.0.1", $"{primary.Port}"];
        FollowingTests.Load(primary, 0, rounds: 5);
        using (ServerProcess replica = ServerProcess.Ours(options))
        {
            using RespClient client = replica.Connect();
            FollowingTests.Until(() => client.Call("ROLE")[3].Text == "connected", "no link", replica);
            using RespClient there = primary.Connect();
            FollowingTests.Load(primary, 1, rounds: 5);
            there.Expect(":1", "WAIT", "1", "30000");
            FollowingTests.Until(
                () => client.Call("INFO", "persistence").Text!.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal), "no base", replica);
            End(replica, client, appendOnly);
        }
        FollowingTests.Load(primary, 2, rounds: 2);
        using (ServerProcess replica = ServerProcess.Ours(options))
        {
            using RespClient there = primary.Connect();
            FollowingTests.AssertSame(primary, replica);
            Assert.Contains("sync_full:1\r\n", there.Call("INFO", "stats").Text!, StringComparison.Ordinal);
            Assert.Contains("sync_partial_ok:1\r\n", there.Call("INFO", "stats").Text!, StringComparison.Ordinal);
        }
    }

    /// <summary>
    /// A replica whose append-only directory was removed while it was down has no data. It must not continue where the directory ended.
    /// </summary>
    [Fact]
    public void AReplicaWithoutItsFilesCopiesAll()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests);
        using RespClient there = primary.Connect();
        string[] options = [.. OfTests, "--dir", _folder, "--port", $"{Ports.Free()}", "--appendonly", "yes", "--replicaof", "127.0.0.1", $"{primary.Port}"];
        there.Expect("+OK", "SET", "a", "1");
        using (ServerProcess replica = ServerProcess.Ours(options))
        {
            using RespClient client = replica.Connect();
            FollowingTests.Until(() => client.Call("ROLE")[3].Text == "connected", "no link", replica);
            FollowingTests.Until(
                () => client.Call("INFO", "persistence").Text!.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal), "no base", replica);
            End(replica, client, "yes");
        }
        Directory.Delete(Path.Combine(_folder, "appendonlydir"), recursive: true);
        using (ServerProcess replica = ServerProcess.Ours(options)) FollowingTests.AssertSame(primary, replica);
        Assert.Contains("sync_full:2\r\n", there.Call("INFO", "stats").Text!, StringComparison.Ordinal);
    }

    /// <summary>
    /// A primary whose journal could not begin again starts with older data. Its replicas have newer data, and must not continue.
    /// </summary>
    [Fact]
    public void APositionIsNotKeptWithoutTheDataOfIt()
    {
        string[] options = [.. OfTests, "--dir", _folder, "--port", $"{Ports.Free()}", "--appendonly", "yes"];
        string obstacle = Path.Combine(_folder, "appendonlydir", "temp-appendonly.aof.base");
        using ServerProcess replica = ServerProcess.Ours(OfTests);
        using (ServerProcess server = ServerProcess.Ours(options))
        {
            using RespClient client = server.Connect();
            client.Expect("+OK", "SET", "a", "1");
            FollowingTests.Follow(replica, server);
            client.Expect("+OK", "CONFIG", "SET", "appendonly", "no");
            client.Expect("+OK", "SET", "b", "2");
            client.Expect(":1", "WAIT", "1", "30000");
            Directory.CreateDirectory(obstacle);
            client.Expect("+OK", "CONFIG", "SET", "appendonly", "yes");
            FollowingTests.Until(
                () => client.Call("INFO", "persistence").Text!.Contains("aof_last_bgrewrite_status:err", StringComparison.Ordinal), "a base", server);
            client.Send("SHUTDOWN", "NOSAVE", "FORCE");
            FollowingTests.Until(() => server.HasExited, "the server does not end", server);
        }
        Directory.Delete(obstacle);
        using (ServerProcess server = ServerProcess.Ours(options)) FollowingTests.AssertSame(server, replica, byDigest: true);
    }

    private static void End(ServerProcess server, RespClient client, string appendOnly)
    {
        client.Send("SHUTDOWN", appendOnly == "yes" ? "NOSAVE" : "SAVE");
        FollowingTests.Until(() => server.HasExited, "the server does not end", server);
    }

    private static void AssertSame(RespClient client, ServerProcess other)
    {
        using RespClient there = other.Connect();
        FollowingTests.Until(() => client.Call("DEBUG", "DIGEST").ToString() == there.Call("DEBUG", "DIGEST").ToString(), "the data differ", other);
    }
}
