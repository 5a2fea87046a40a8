using System.Diagnostics;
using System.Globalization;
using RedisClone.EndToEnd.Tests.Support;
using RedisClone.EndToEnd.Tests.Tls;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>What the parameters of replicas change.</summary>
public sealed class ReplicaParameterTests
{
    private static readonly string[] OfTests = ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1"];

    /// <summary>A replica follows through TLS, and refuses a primary whose certificate comes from another authority.</summary>
    [Fact]
    public void AReplicaFollowsThroughTls()
    {
        using var authority = new TestAuthority();
        using var others = new TestAuthority();
        (string certificate, string key) = authority.Issue("server");
        string port = $"{Ports.Free()}";
        using ServerProcess primary = ServerProcess.Ours(
            [.. OfTests, "--tls-port", port, "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", authority.File]);
        FollowingTests.Load(primary, 0, rounds: 5);
        string[] encrypted = [.. OfTests, "--replicaof", "127.0.0.1", port, "--tls-replication", "yes"];
        (string ownCertificate, string ownKey) = authority.Issue("replica");
        string[] shown = [.. encrypted, "--tls-cert-file", ownCertificate, "--tls-key-file", ownKey];
        using (ServerProcess replica = ServerProcess.Ours([.. shown, "--tls-ca-cert-file", authority.File]))
        {
            FollowingTests.AssertSame(primary, replica, byDigest: true);
            FollowingTests.Load(primary, 1, rounds: 5);
            FollowingTests.AssertSame(primary, replica, byDigest: true);
            replica.AssertWell();
        }
        using ServerProcess refused = ServerProcess.Ours([.. shown, "--tls-ca-cert-file", others.File]);
        refused.AssertLogs("Error condition on socket for SYNC");
        using RespClient client = refused.Connect();
        Assert.NotEqual("connected", client.Call("ROLE")[3].Text);
    }

    /// <summary>The role comes from a file or from the environment too.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void TheRoleComesFromAFileOrTheEnvironment(bool fromFile)
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests);
        string file = Path.GetTempFileName();
        File.WriteAllText(file, $"replicaof 127.0.0.1 {primary.Port}\n");
        using ServerProcess replica = fromFile
            ? ServerProcess.Ours(file)
            : ServerProcess.OursWith(("REDISCLONE_REPLICAOF", $"127.0.0.1 {primary.Port}"));
        using RespClient client = replica.Connect();
        FollowingTests.Until(() => client.Call("ROLE").Items is [_, _, _, { Text: "connected" }, ..], "no link", replica);
        File.Delete(file);
    }

    /// <summary>
    /// A replica that acknowledges nothing is too far behind after min-replicas-max-lag, and is disconnected after repl-timeout,
    /// although the primary still sends to it.
    /// </summary>
    [Fact]
    public void ASilentReplicaIsLeft()
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "1"]);
        using ServerProcess replica = ServerProcess.Ours(OfTests);
        FollowingTests.Follow(replica, primary);
        using RespClient client = primary.Connect();
        FollowingTests.Until(() => client.Call("SET", "key", "1").ToString() == "+OK", "no replica is good", primary);
        Signal(replica, "STOP");
        try
        {
            FollowingTests.Until(() => client.Call("SET", "key", "2").ToString()!.StartsWith("-NOREPLICAS", StringComparison.Ordinal), "writes go on", primary);
            client.Expect("+OK", "CONFIG", "SET", "repl-timeout", "3");
            FollowingTests.Until(
                () => client.Call("INFO", "replication").Text!.Contains("connected_slaves:0\r\n", StringComparison.Ordinal), "the replica stays", primary);
        }
        finally
        {
            Signal(replica, "CONT");
        }
        primary.AssertWell();
    }

    /// <summary>
    /// A writable replica removes the keys that its own clients have written when they expire. Those of its primary wait for the primary.
    /// </summary>
    [Fact]
    public void AWritableReplicaExpiresItsOwnKeys()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests), replica = ServerProcess.Ours([.. OfTests, "--replica-read-only", "no"]);
        FollowingTests.Follow(replica, primary);
        using RespClient there = primary.Connect(), client = replica.Connect();
        there.Expect("+OK", "DEBUG", "SET-ACTIVE-EXPIRE", "0");
        there.Expect("+OK", "SET", "of the primary", "1", "PX", "10");
        FollowingTests.Until(() => client.Call("DBSIZE").Integer == 1, "no key", replica);
        client.Expect("+OK", "SET", "stays", "1", "EX", "1000");
        string[] keys = ["a", "b", "c"];
        foreach (string key in keys) client.Expect("+OK", "SET", key, "1");
        client.Expect(":1", "PEXPIRE", "a", "1000000");
        client.Expect(":1", "EVAL", "return redis.call('PEXPIRE', KEYS[1], 1000000)", "1", "b");
        client.Expect("+OK", "MULTI");
        client.Expect("+QUEUED", "SET", "c", "2", "PX", "1000000");
        client.Expect("*[+OK]", "EXEC");
        Assert.Contains("slave_expires_tracked_keys:4\r\n", client.Call("INFO", "stats").Text!, StringComparison.Ordinal);
        foreach (string key in keys) client.Expect(":1", "PEXPIRE", key, "10");
        FollowingTests.Until(() => client.Call("DBSIZE").Integer == 2, "the keys stay", replica);
        Assert.Contains("slave_expires_tracked_keys:1\r\n", client.Call("INFO", "stats").Text!, StringComparison.Ordinal);
        there.Expect("+OK", "DEBUG", "SET-ACTIVE-EXPIRE", "1");
        FollowingTests.Until(() => client.Call("DBSIZE").Integer == 1, "the key of the primary stays", replica);

        // A key of the primary that a command only reads is not one of its own.
        there.Expect(":1", "SADD", "set", "x");
        there.Expect(":1", "EXPIRE", "set", "1000");
        FollowingTests.Until(() => client.Call("TTL", "set").Integer > 0, "no set", replica);
        client.Expect(":1", "SUNIONSTORE", "union", "set");
        Assert.Contains("slave_expires_tracked_keys:1\r\n", client.Call("INFO", "stats").Text!, StringComparison.Ordinal);
        replica.AssertWell();
    }

    /// <summary>DEBUG SLEEP stops the signs of life of a primary, so that a replica leaves it. Afterwards the replica continues.</summary>
    [Fact]
    public void ASleepingPrimaryIsLeft()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests), replica = ServerProcess.Ours([.. OfTests, "--repl-timeout", "2"]);
        FollowingTests.Follow(replica, primary);
        using RespClient sleeper = primary.Connect();
        sleeper.Send("DEBUG", "SLEEP", "4");
        replica.AssertLogs("MASTER timeout: no data nor PING received");
        Assert.Equal("+OK", sleeper.Read().ToString());
        sleeper.Expect("+OK", "SET", "key", "1");
        FollowingTests.AssertSame(primary, replica, byDigest: true);
    }

    /// <summary>CLIENT PAUSE on a replica stops the stream too, and nothing of it is lost.</summary>
    [Fact]
    public void APauseStopsTheStream()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests), replica = ServerProcess.Ours(OfTests);
        FollowingTests.Follow(replica, primary);
        using RespClient client = replica.Connect(), writer = primary.Connect();
        client.Expect("+OK", "CLIENT", "PAUSE", "100000", "WRITE");
        writer.Expect("+OK", "SET", "key", "1");
        FollowingTests.Until(
            () => !client.Call("INFO", "replication").Text!.Contains("slave_read_repl_offset:0\r\n", StringComparison.Ordinal), "nothing arrives", replica);
        Thread.Sleep(200);
        client.Expect("$nil", "GET", "key");
        client.Expect("+OK", "CLIENT", "UNPAUSE");
        FollowingTests.Until(() => client.Call("GET", "key").Text == "1", "the stream does not continue", replica);
        replica.AssertWell();
    }

    /// <summary>The link to the primary comes from bind-source-addr, and a replica has its own oom-score-adj.</summary>
    [Fact]
    public void AReplicaHasItsOwnAddressAndScore()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests);
        using ServerProcess replica = ServerProcess.Ours(
            [.. OfTests, "--bind-source-addr", "127.0.0.2", "--oom-score-adj", "yes", "--oom-score-adj-values", "100", "120", "130"]);
        string path = $"/proc/{replica.Id}/oom_score_adj";
        int asPrimary = int.Parse(File.ReadAllText(path), CultureInfo.InvariantCulture);
        FollowingTests.Follow(replica, primary);
        using RespClient client = primary.Connect();
        Assert.Contains("slave0:ip=127.0.0.2,", client.Call("INFO", "replication").Text!, StringComparison.Ordinal);
        Assert.Equal(asPrimary + 20, int.Parse(File.ReadAllText(path), CultureInfo.InvariantCulture));
    }

    /// <summary>A primary that says nothing for repl-timeout is left. Here it is stopped, and later continues.</summary>
    [Fact]
    public void ASilentPrimaryIsLeft()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests), replica = ServerProcess.Ours([.. OfTests, "--repl-timeout", "2"]);
        FollowingTests.Follow(replica, primary);
        Signal(primary, "STOP");
        using RespClient client = replica.Connect();
        replica.AssertLogs("MASTER timeout: no data nor PING received...");
        FollowingTests.Until(
            () => client.Call("INFO", "replication").Text!.Contains("master_link_status:down", StringComparison.Ordinal), "the link stays", replica);
        Signal(primary, "CONT");
        FollowingTests.AssertSame(primary, replica, byDigest: true);
        replica.AssertWell();
    }

    /// <summary>A primary without replicas frees its backlog after repl-backlog-ttl, and its history gets another name.</summary>
    [Fact]
    public void ABacklogWithoutReplicasIsFreed()
    {
        using ServerProcess primary = ServerProcess.Ours([.. OfTests, "--repl-backlog-ttl", "1"]);
        using RespClient client = primary.Connect();
        string before;
        using (ServerProcess replica = ServerProcess.Ours(OfTests))
        {
            FollowingTests.Follow(replica, primary);
            before = client.Call("INFO", "replication").Text!;
            Assert.Contains("repl_backlog_active:1", before, StringComparison.Ordinal);
        }
        FollowingTests.Until(() => client.Call("INFO", "replication").Text!.Contains("repl_backlog_active:0", StringComparison.Ordinal), "it stays", primary);
        string history = before.Split("\r\n").First(line => line.StartsWith("master_replid:", StringComparison.Ordinal));
        Assert.DoesNotContain(history, client.Call("INFO", "replication").Text!, StringComparison.Ordinal);
        const string notice = "Replication backlog freed after 1 seconds without connected replicas.";
        primary.AssertLogs(notice);
    }

    /// <summary>The primary reports the announced address, and Sentinel is not told of a replica that is not announced.</summary>
    [Fact]
    public void AReplicaAnnouncesItsAddress()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests);
        using ServerProcess replica = ServerProcess.Ours(
        [
            .. OfTests, "--replica-announce-ip", "replica.example", "--replica-announce-port", "7777", "--replica-announced", "no", "--replica-priority", "7",
        ]);
        FollowingTests.Follow(replica, primary);
        using RespClient client = primary.Connect(), other = replica.Connect();
        Assert.Contains("slave0:ip=replica.example,port=7777,state=online", client.Call("INFO", "replication").Text!, StringComparison.Ordinal);
        Reply role = client.Call("ROLE");
        Assert.Equal(["replica.example", "7777"], role[2][0].Items![..2].Select(item => item.Text));
        string info = other.Call("INFO", "replication").Text!;
        Assert.Contains("replica_announced:0\r\n", info, StringComparison.Ordinal);
        Assert.Contains("slave_priority:7\r\n", info, StringComparison.Ordinal);
    }

    /// <summary>CLIENT KILL TYPE master ends the link, and the replica connects again and continues.</summary>
    [Fact]
    public void TheLinkCanBeKilled()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests), replica = ServerProcess.Ours(OfTests);
        FollowingTests.Follow(replica, primary);
        using RespClient client = primary.Connect(), other = replica.Connect();
        other.Expect(":1", "CLIENT", "KILL", "TYPE", "master");
        client.Expect("+OK", "SET", "after", "1");
        FollowingTests.AssertSame(primary, replica, byDigest: true);
        string stats = client.Call("INFO", "stats").Text!;
        Assert.Contains("sync_full:1\r\n", stats, StringComparison.Ordinal);
        Assert.Contains("sync_partial_ok:1\r\n", stats, StringComparison.Ordinal);
        client.Expect(":1", "CLIENT", "KILL", "TYPE", "slave");
        FollowingTests.AssertSame(primary, replica, byDigest: true);
    }

    /// <summary>A replica leaves eviction to its primary, unless replica-ignore-maxmemory is off.</summary>
    [Fact]
    public void AReplicaEvictsNothingOfItsOwn()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests);
        using ServerProcess replica = ServerProcess.Ours([.. OfTests, "--maxmemory", "1mb", "--maxmemory-policy", "allkeys-random"]);
        FollowingTests.Follow(replica, primary);
        using RespClient client = primary.Connect(), other = replica.Connect();
        for (int i = 0; i < 100; i++) client.Expect("+OK", "SET", $"k{i}", new string('x', 50_000));
        FollowingTests.AssertSame(primary, replica, byDigest: true);
        Assert.Contains("evicted_keys:0\r\n", other.Call("INFO", "stats").Text!, StringComparison.Ordinal);
        other.Expect("+OK", "CONFIG", "SET", "replica-ignore-maxmemory", "no");
        FollowingTests.Until(() => other.Call("DBSIZE").Integer < 100, "nothing is evicted", replica);
        client.Expect(":100", "DBSIZE");
    }

    /// <summary>
    /// Two replicas of each other: the second is refused, and the log says why. A longer circle gets no PING from any primary, so
    /// that its links end after repl-timeout.
    /// </summary>
    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void ACircleIsFound(int length)
    {
        ServerProcess[] servers = [.. Enumerable.Range(0, length).Select(_ => ServerProcess.Ours([.. OfTests, "--repl-timeout", "2"]))];
        for (int i = 1; i < length; i++) FollowingTests.Follow(servers[i], servers[i - 1]);
        using (RespClient client = servers[0].Connect())
        {
            client.Expect("+OK", "SET", "k", "v");
            client.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{servers[^1].Port}");
            string sign = length == 2 ? "NOMASTERLINK Can't SYNC with my own master" : "MASTER timeout: no data nor PING received...";
            FollowingTests.Until(() => servers.Any(server => server.Output.Contains(sign, StringComparison.Ordinal)), "nothing is logged", servers[0]);
            client.Expect("$\"v\"", "GET", "k");
            client.Expect("+OK", "REPLICAOF", "NO", "ONE");
            client.Expect("+OK", "SET", "k", "w");
        }
        foreach (ServerProcess server in servers[1..]) FollowingTests.AssertSame(servers[0], server, byDigest: true);
        foreach (ServerProcess server in servers) server.Dispose();
    }

    internal static void Signal(ServerProcess server, string signal) => Process.Start("kill", [$"-{signal}", $"{server.Id}"]).WaitForExit();
}
