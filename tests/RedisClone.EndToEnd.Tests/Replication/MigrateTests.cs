using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using RedisClone.EndToEnd.Tests.Support;
using RedisClone.EndToEnd.Tests.Tls;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>MIGRATE between servers of this project and redis-server, and to targets that fail.</summary>
public sealed class MigrateTests
{
    internal static readonly string[] OfTests = ["--enable-debug-command", "yes"];

    /// <summary>Keys of every type move from this server to redis-server and back, and keep their values and expiry.</summary>
    [Fact]
    public void KeysMoveToRedisServerAndBack()
    {
        using ServerProcess ours = ServerProcess.Ours(OfTests), redis = ServerProcess.Redis(OfTests);
        using RespClient here = ours.Connect(), there = redis.Connect();
        Fill(here);
        string digest = here.Call("DEBUG", "DIGEST").ToString();
        string[] keys = [.. here.Call("KEYS", "*").Items!.Select(key => key.Text!)];
        here.Expect("+OK", "MIGRATE", "127.0.0.1", $"{redis.Port}", keys[0], "0", "5000");
        here.Expect("+OK", ["MIGRATE", "127.0.0.1", $"{redis.Port}", "", "0", "5000", "KEYS", .. keys]);
        here.Expect(":0", "DBSIZE");
        there.Expect($":{keys.Length}", "DBSIZE");
        Assert.InRange(there.Call("TTL", "expiring").Integer, 9000, 10_000);
        Assert.Contains("migrate_cached_sockets:1\r\n", here.Call("INFO", "stats").Text!, StringComparison.Ordinal);
        there.Expect("+OK", ["MIGRATE", "127.0.0.1", $"{ours.Port}", "", "0", "5000", "KEYS", .. keys]);
        Assert.Equal(digest, here.Call("DEBUG", "DIGEST").ToString());
        ours.AssertWell();
    }

    /// <summary>The replies are those of redis-server, word for word.</summary>
    [Fact]
    public void TheRepliesAreThoseOfRedis()
    {
        using ServerProcess ours = ServerProcess.Ours(OfTests), redis = ServerProcess.Redis(OfTests), target = ServerProcess.Redis("--databases", "4");
        using ServerProcess locked = ServerProcess.Redis("--requirepass", "secret", "--user", "mover", "on", ">pass", "~*", "+@all");
        string port = $"{target.Port}", other = $"{locked.Port}", closed = $"{Ports.Free()}";
        string[][] requests =
        [
            ["MIGRATE", "127.0.0.1", port, "absent", "0", "1000"], ["MIGRATE", "127.0.0.1", port, "a", "0", "1000", "COPY"],
            ["MIGRATE", "127.0.0.1", port, "a", "0", "1000", "COPY"], ["MIGRATE", "127.0.0.1", port, "a", "0", "1000", "COPY", "REPLACE"],
            ["MIGRATE", "127.0.0.1", port, "a", "0", "1000"], ["EXISTS", "a"], ["MIGRATE", "127.0.0.1", port, "a", "9", "1000"],
            ["MIGRATE", "127.0.0.1", port, "a", "3", "1000", "COPY"], ["MIGRATE", "127.0.0.1", port, "a", "x", "1000"],
            ["MIGRATE", "127.0.0.1", port, "a", "0", "x"], ["MIGRATE", "127.0.0.1", port, "a", "0", "1000", "KEYS", "b"],
            ["MIGRATE", "127.0.0.1", port, "", "0", "1000", "KEYS", "absent", "other"], ["MIGRATE", "127.0.0.1", port, "a", "0", "1000", "WHAT"],
            ["MIGRATE", "127.0.0.1", port, "a", "0", "1000", "AUTH"], ["MIGRATE", "127.0.0.1", port, "a", "0", "1000", "AUTH2", "u"],
            ["MIGRATE", "127.0.0.1", port, "", "1", "1000", "COPY", "KEYS", "a", "b", "absent"],
            ["MIGRATE", "127.0.0.1", port, "", "1", "1000", "KEYS", "b", "c"],
            ["EXISTS", "b"], ["EXISTS", "c"],
            ["MIGRATE", "127.0.0.1", closed, "a", "0", "1000"], ["MIGRATE", "127.0.0.1", "none", "a", "0", "1000"],
            ["MIGRATE", "127.0.0.1", other, "a", "0", "1000"], ["MIGRATE", "127.0.0.1", other, "a", "0", "1000", "AUTH", "wrong"],
            ["MIGRATE", "127.0.0.1", other, "a", "0", "1000", "AUTH", "secret", "COPY"],
            ["MIGRATE", "127.0.0.1", other, "a", "0", "1000", "AUTH2", "mover", "wrong"],
            ["MIGRATE", "127.0.0.1", other, "b", "0", "1000", "AUTH2", "mover", "pass"], ["EXISTS", "b"], ["MIGRATE", "127.0.0.1", port, "a", "0"],
            ["COMMAND", "GETKEYS", "MIGRATE", "h", "1", "", "0", "1", "COPY", "AUTH", "KEYS", "KEYS", "x", "y"],
            ["COMMAND", "GETKEYS", "MIGRATE", "h", "1", "k", "0", "1"],
        ];
        Assert.Equal(Replies(redis), Replies(ours));
        ours.AssertWell();

        string Replies(ServerProcess source)
        {
            using (RespClient clean = target.Connect()) clean.Call("FLUSHALL");
            using (RespClient clean = locked.Connect())
            {
                clean.Expect("+OK", "AUTH", "secret");
                clean.Expect("+OK", "FLUSHALL");
            }
            using RespClient client = source.Connect();
            foreach (string key in new[] { "a", "b", "c" }) client.Expect("+OK", "SET", key, "1");
            return string.Join('\n', requests.Select(request => $"{Requests.Show(request)}: {client.Call(request)}"));
        }
    }

    /// <summary>A server that is named as its own target keeps the key. With REPLACE, it would restore the key and then delete it.</summary>
    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("localhost")]
    [InlineData("127.0.0.2")]
    public void AServerIsNotItsOwnTarget(string host)
    {
        using ServerProcess ours = ServerProcess.Ours([.. OfTests, "--bind", "0.0.0.0", "--protected-mode", "no"]);
        using RespClient client = ours.Connect();
        client.Expect("+OK", "SET", "a", "1");
        for (int i = 0; i < 2; i++) client.Expect("-ERR Target instance is this server", "MIGRATE", host, $"{ours.Port}", "a", "0", "1000", "REPLACE");
        client.Expect("$\"1\"", "GET", "a");
        ours.AssertWell();
    }

    /// <summary>Two servers that hand the same key over to each other both had it confirmed and deleted it.</summary>
    [Fact]
    public async Task AKeyThatTwoServersHandOverToEachOtherIsNotLost()
    {
        using ServerProcess one = ServerProcess.Ours(OfTests), two = ServerProcess.Ours(OfTests);
        using RespClient first = one.Connect(), second = two.Connect();
        for (int i = 0; i < 60; i++)
        {
            first.Expect("+OK", "SET", "k", $"{i}");
            second.Expect("+OK", "SET", "k", $"{i}");
            await Task.WhenAll(
                Task.Run(() => first.Call("MIGRATE", "127.0.0.1", $"{two.Port}", "k", "0", "300", "REPLACE")),
                Task.Run(() => second.Call("MIGRATE", "127.0.0.1", $"{one.Port}", "k", "0", "300", "REPLACE")));
            Assert.Contains($"{i}", new[] { first.Call("GET", "k").Text, second.Call("GET", "k").Text });
        }
        one.AssertWell();
        two.AssertWell();
    }

    /// <summary>A value that is sent in parts arrives whole.</summary>
    [Fact]
    public void ALongValueMovesInParts()
    {
        using ServerProcess one = ServerProcess.Ours(OfTests), two = ServerProcess.Ours(OfTests);
        using RespClient first = one.Connect(), second = two.Connect();
        string[] values = [new('a', 64 * 1024 - 12), new('b', 64 * 1024), new('c', 5_000_000)];
        for (int i = 0; i < values.Length; i++) first.Expect("+OK", "SET", $"k{i}", values[i]);
        second.Expect("+OK", "SET", "k2", "old");
        first.Expect("+OK", "MIGRATE", "127.0.0.1", $"{two.Port}", "", "0", "10000", "REPLACE", "KEYS", "k0", "k1", "k2");
        for (int i = 0; i < values.Length; i++) Assert.Equal(values[i], second.Call("GET", $"k{i}").Text);
        first.Expect(":0", "DBSIZE");
        one.AssertWell();
    }

    /// <summary>The client gets an error and does not wait for ever.</summary>
    [Fact]
    public void ANameThatIsNoneIsAnError()
    {
        using ServerProcess ours = ServerProcess.Ours(OfTests);
        using RespClient client = ours.Connect();
        client.Expect("+OK", "SET", "a", "1");
        foreach (string host in new[] { "", " ", new string('h', 300), "a\0b", "*" })
            client.Expect("-IOERR error or timeout connecting to the client", "MIGRATE", host, "7000", "a", "0", "1000");
        client.Expect("+OK", "REPLICAOF", "no", "one");
        ours.AssertWell();
    }

    /// <summary>A key that clients change all the time moves without the loss of a change.</summary>
    [Fact]
    public async Task NoChangeOfAMovingKeyIsLost()
    {
        using ServerProcess one = ServerProcess.Ours(OfTests), two = ServerProcess.Ours(OfTests);
        using RespClient client = one.Connect(), other = two.Connect();
        int begun = 0;
        Task<int>[] writers = [.. Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            using RespClient writer = one.Connect();
            int count = 0;
            // The counter begins again at 1 when the key has moved.
            for (long last = 0; ; count++)
            {
                long value = writer.Call("INCR", "hot").Integer;
                if (value <= last) break;
                if (last == 0) Interlocked.Increment(ref begun);
                last = value;
            }
            return count;
        }))];
        FollowingTests.Until(() => Volatile.Read(ref begun) == writers.Length && client.Call("GET", "hot").Text is { Length: > 2 }, "no load", one);
        client.Expect("+OK", "MIGRATE", "127.0.0.1", $"{two.Port}", "hot", "0", "5000");
        long moved = other.Call("GET", "hot").Number();
        int before = (await Task.WhenAll(writers)).Sum();
        // A writer counts every increment that the moved value has. Each stopped at its first increment of the new key.
        Assert.Equal(before, moved);
        one.AssertWell();
    }

    /// <summary>Values that wait for a stalled target count as memory of their clients, and together take a part of the heap at most.</summary>
    [Fact]
    public async Task WaitingValuesAreCountedAndLimited()
    {
        using TcpListener stalled = Listen(out string port);
        // An eighth of the heap may wait: 32 MB.
        using ServerProcess server = ServerProcess.OursWith(("DOTNET_GCHeapHardLimit", "0x10000000"));
        using RespClient one = server.Connect(), two = server.Connect(), three = server.Connect(), other = server.Connect();
        // A value that does not compress.
        string value = Convert.ToBase64String(RandomNumberGenerator.GetBytes(13_500_000));
        foreach (string key in new[] { "a", "b", "c" }) other.Expect("+OK", "SET", key, value);
        var targets = new List<TcpClient>();
        foreach ((RespClient client, string key) in new[] { (one, "a"), (two, "b") })
        {
            client.Send("MIGRATE", "127.0.0.1", port, key, "0", "60000");
            TcpClient target = await stalled.AcceptTcpClientAsync();
            targets.Add(target);
            // The server has asked for database 0. The target answers, and reads nothing more.
            await target.Client.ReceiveAsync(new byte[23]);
            await target.Client.SendAsync("+OK\r\n"u8.ToArray());
        }
        FollowingTests.Until(() => Clients() >= 36_000_000, "the values do not count", server);
        three.Expect("-ERR the values of other MIGRATE commands, which wait for their targets, take too much memory",
            "MIGRATE", "127.0.0.1", port, "c", "0", "60000");
        stalled.Stop();
        foreach (TcpClient target in targets) target.Dispose();
        Assert.StartsWith("-IOERR", one.Read().ToString(), StringComparison.Ordinal);
        Assert.StartsWith("-IOERR", two.Read().ToString(), StringComparison.Ordinal);
        FollowingTests.Until(() => Clients() < 1_000_000, "the values count still", server);
        other.Expect(":3", "EXISTS", "a", "b", "c");

        long Clients() => long.Parse(
            other.Call("INFO", "memory").Text!.Split("mem_clients_normal:")[1].Split("\r\n")[0], CultureInfo.InvariantCulture);
    }

    /// <summary>
    /// A key moves although its client goes away or is killed, or the server is told to end meanwhile. It never stays on both servers.
    /// </summary>
    [Theory]
    [InlineData("close")]
    [InlineData("kill")]
    [InlineData("shutdown")]
    public void AMoveEndsWithoutItsClient(string end)
    {
        string folder = Directory.CreateTempSubdirectory("redisclone-migrate-").FullName;
        using (ServerProcess two = ServerProcess.Ours(OfTests))
        {
            using RespClient target = two.Connect();
            // With always, EXISTS shows the move only once it is durable, so that the test may kill the server then.
            using (ServerProcess one = ServerProcess.Ours([.. OfTests, "--appendonly", "yes", "--appendfsync", "always", "--dir", folder]))
            {
                using RespClient other = one.Connect();
                other.Expect("+OK", "SET", "k", new string('v', 10_000_000));
                ReplicaParameterTests.Signal(two, "STOP");
                using (RespClient client = one.Connect())
                {
                    string id = $"{client.Call("CLIENT", "ID").Integer}";
                    client.Send("MIGRATE", "127.0.0.1", $"{two.Port}", "k", "0", "20000");
                    FollowingTests.Until(() => other.Call("INFO", "clients").Text!.Contains("blocked_clients:1", StringComparison.Ordinal), "no wait", one);
                    other.Expect(":0", "CLIENT", "UNBLOCK", id);
                    if (end == "close") client.Socket.Close();
                    else if (end == "kill") other.Expect(":1", "CLIENT", "KILL", "ID", id);
                    else other.Send("SHUTDOWN");
                    // The server notices the end of the client while the target still says nothing.
                    Thread.Sleep(200);
                }
                ReplicaParameterTests.Signal(two, "CONT");
                FollowingTests.Until(() => target.Call("EXISTS", "k").Integer == 1, "the key does not arrive", two);
                if (end == "shutdown")
                {
                    FollowingTests.Until(() => one.HasExited, "the server stays", one);
                }
                else
                {
                    FollowingTests.Until(() => other.Call("EXISTS", "k").Integer == 0, "the key stays", one);
                    FollowingTests.Until(() => other.Call("INFO", "clients").Text!.Contains("blocked_clients:0", StringComparison.Ordinal), "it waits", one);
                    one.AssertWell();
                }
            }
            using ServerProcess again = ServerProcess.Ours([.. OfTests, "--appendonly", "yes", "--dir", folder]);
            using RespClient reader = again.Connect();
            reader.Expect(":0", "EXISTS", "k");
            target.Expect(":10000000", "STRLEN", "k");
        }
        Directory.Delete(folder, recursive: true);
    }

    /// <summary>A kept connection that the target has closed is opened again.</summary>
    [Fact]
    public void AClosedConnectionIsOpenedAgain()
    {
        using ServerProcess one = ServerProcess.Ours(OfTests), two = ServerProcess.Ours(OfTests);
        using RespClient client = one.Connect(), target = two.Connect();
        for (int i = 0; i < 3; i++)
        {
            client.Expect("+OK", "SET", $"k{i}", "v");
            client.Expect("+OK", "MIGRATE", "127.0.0.1", $"{two.Port}", $"k{i}", "0", "5000");
            target.Call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        }
        target.Expect(":3", "DBSIZE");
    }

    /// <summary>The connection to the target is encrypted if those of the cluster are.</summary>
    [Fact]
    public void KeysMoveThroughTls()
    {
        using var authority = new TestAuthority();
        string port = $"{Ports.Free()}";
        string[] encrypted = Encrypted(authority);
        using ServerProcess one = ServerProcess.Ours(encrypted), two = ServerProcess.Ours([.. encrypted, "--tls-port", port]);
        using RespClient client = one.Connect(), target = two.Connect();
        client.Expect("+OK", "MSET", "a", "1", "b", "2");
        client.Expect("+OK", "MIGRATE", "127.0.0.1", port, "", "0", "5000", "KEYS", "a", "b");
        target.Expect(":2", "EXISTS", "a", "b");
        client.Expect(":0", "DBSIZE");
        client.Expect("+OK", "SET", "a", "3");
        Assert.StartsWith("-IOERR", client.Call("MIGRATE", "127.0.0.1", $"{two.Port}", "a", "0", "1000").ToString(), StringComparison.Ordinal);
        client.Expect(":1", "EXISTS", "a");
    }

    /// <summary>
    /// A kept connection ends when another authority is trusted. The log names what is wrong with the certificate or the files.
    /// </summary>
    [Fact]
    public void AnotherAuthorityEndsKeptConnections()
    {
        using TestAuthority authority = new(), other = new();
        string port = $"{Ports.Free()}";
        string[] encrypted = Encrypted(authority);
        using ServerProcess one = ServerProcess.Ours(encrypted), two = ServerProcess.Ours([.. encrypted, "--tls-port", port]);
        using RespClient client = one.Connect(), target = two.Connect();
        client.Expect("+OK", "MSET", "a", "1", "b", "2");
        client.Expect("+OK", "MIGRATE", "127.0.0.1", port, "a", "0", "5000");
        client.Expect("+OK", "CONFIG", "SET", "tls-ca-cert-file", other.File);
        Assert.StartsWith("-IOERR", client.Call("MIGRATE", "127.0.0.1", port, "b", "0", "5000").ToString(), StringComparison.Ordinal);
        one.AssertLogs($"MIGRATE cannot connect to 127.0.0.1:{port} with TLS: ");
        client.Expect("+OK", "CONFIG", "SET", "tls-ca-cert-file", authority.File);
        client.Expect("+OK", "MIGRATE", "127.0.0.1", port, "b", "0", "5000");
        target.Expect(":2", "EXISTS", "a", "b");
    }

    /// <summary>A connection on which the target has sent more than the replies is not used again.</summary>
    [Fact]
    public async Task SurplusRepliesConfirmNoLaterMove()
    {
        using TcpListener talkative = Listen(out string port);
        using ServerProcess server = ServerProcess.Ours(OfTests);
        using RespClient client = server.Connect();
        client.Expect("+OK", "MSET", "a", "1", "b", "2");
        client.Send("MIGRATE", "127.0.0.1", port, "a", "0", "5000");
        using TcpClient first = await talkative.AcceptTcpClientAsync();
        await first.Client.ReceiveAsync(new byte[4096]);
        await first.Client.SendAsync("+OK\r\n+OK\r\n+OK\r\n+OK\r\n"u8.ToArray());
        Assert.Equal("+OK", client.Read().ToString());

        client.Send("MIGRATE", "127.0.0.1", port, "b", "0", "5000");
        using TcpClient second = await talkative.AcceptTcpClientAsync();
        second.Close();
        Assert.StartsWith("-IOERR", client.Read().ToString(), StringComparison.Ordinal);
        client.Expect(":1", "EXISTS", "b");
    }

    /// <summary>What moved is gone after a restart from the journal and on a replica.</summary>
    [Fact]
    public void AMoveIsADeletionForJournalAndReplicas()
    {
        using ServerProcess target = ServerProcess.Redis(), replica = ServerProcess.Ours(OfTests);
        using ServerProcess server = ServerProcess.Ours([.. OfTests, "--appendonly", "yes"]);
        FollowingTests.Follow(replica, server);
        using RespClient client = server.Connect();
        Fill(client);
        client.Expect("+OK", "MIGRATE", "127.0.0.1", $"{target.Port}", "", "0", "5000", "KEYS", "text", "list", "absent");
        client.Expect("+OK", "DEBUG", "LOADAOF");
        client.Expect(":0", "EXISTS", "text", "list");
        client.Expect(":1", "EXISTS", "hash");
        FollowingTests.AssertSame(server, replica, byDigest: true);
    }

    /// <summary>The arguments of a server that encrypts its connections to others.</summary>
    private static string[] Encrypted(TestAuthority authority)
    {
        (string certificate, string key) = authority.Issue("server");
        return [.. OfTests, "--tls-cluster", "yes", "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", authority.File];
    }

    /// <summary>A target that the test plays.</summary>
    internal static TcpListener Listen(out string port)
    {
        var target = new TcpListener(IPAddress.Loopback, 0);
        target.Start();
        port = ((IPEndPoint)target.LocalEndpoint).Port.ToString(CultureInfo.InvariantCulture);
        return target;
    }

    private static void Fill(RespClient client)
    {
        string[][] requests =
        [
            ["SET", "text", new string('t', 200_000)], ["SET", "expiring", "1", "EX", "10000"],
            ["RPUSH", "list", "a", "b"], ["HSET", "hash", "f", "v"],
            ["SADD", "set", "1", "2"], ["ZADD", "scores", "1.5", "a"], ["XADD", "stream", "1-1", "f", "v"], ["PFADD", "log", "a"],
        ];
        foreach (string[] request in requests) Assert.False(client.Call(request).IsError);
    }
}
