using System.Net.Sockets;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>What other clients may do while MIGRATE waits for its target.</summary>
public sealed class MigrateWaitTests
{
    private static readonly string[] OfTests = MigrateTests.OfTests;

    /// <summary>A target that takes the connection and says nothing. The server serves others meanwhile, and the key stays.</summary>
    [Fact]
    public void ASilentTargetDoesNotStopTheServer()
    {
        using TcpListener silent = MigrateTests.Listen(out string port);
        using ServerProcess server = ServerProcess.Ours([.. OfTests, "--io-loops", "1"]);
        using RespClient client = server.Connect(), other = server.Connect(), writer = server.Connect();
        client.Expect("+OK", "SET", "k", "v");
        client.Send("MIGRATE", "127.0.0.1", port, "k", "0", "3000");
        UntilBlocked(server, other);
        writer.Send("SET", "k", "changed");
        other.Expect("$\"v\"", "GET", "k");
        other.Expect("+OK", "SET", "other", "v");
        other.Expect(":2", "DBSIZE");
        Assert.False(client.Socket.Poll(0, SelectMode.SelectRead), "MIGRATE has a reply");
        Assert.Equal("-IOERR error or timeout reading to target instance", client.Read().ToString());
        Assert.Equal("+OK", writer.Read().ToString());
        client.Expect("$\"changed\"", "GET", "k");
        client.Expect("-ERR MIGRATE cannot run in a transaction or a script, because it waits for another server",
            "EVAL", "return redis.pcall('MIGRATE', '127.0.0.1', ARGV[1], KEYS[1], '0', '100')", "1", "k", port);
        silent.Stop();
        server.AssertWell();
    }

    /// <summary>
    /// The target serves its copy before this server has the confirmation. A write that comes between would be sent after the copy, over
    /// what clients of the target have written. It waits, also in a transaction or a script, and then finds the key gone.
    /// </summary>
    [Theory]
    [InlineData("RPUSH q c")]
    [InlineData("DEL q", ":0")]
    [InlineData("EVAL return(redis.call('RPUSH',KEYS[1],'c')) 1 q")]
    [InlineData("EVAL return(redis.call('RPUSH','q','c')) 0")]
    [InlineData("EXEC", "*[:1]")]
    [InlineData("LMOVE from q LEFT LEFT", "$\"x\"")]
    [InlineData("FLUSHALL", "+OK")]
    [InlineData("MIGRATE 127.0.0.1 PORT q 0 5000 REPLACE", "+NOKEY")]
    public async Task AWriteWaitsWhileItsKeyMoves(string write, string expected = ":1")
    {
        using TcpListener target = MigrateTests.Listen(out string port);
        using ServerProcess server = ServerProcess.Ours(OfTests);
        using RespClient client = server.Connect(), writer = server.Connect(), other = server.Connect();
        client.Expect(":2", "RPUSH", "q", "a", "b");
        client.Expect(":1", "RPUSH", "from", "x");
        client.Send("MIGRATE", "127.0.0.1", port, "q", "0", "60000");
        using TcpClient link = await AcceptKeyAsync(target);
        if (write == "EXEC")
        {
            writer.Expect("+OK", "MULTI");
            writer.Expect("+QUEUED", "RPUSH", "q", "c");
        }
        writer.Send(write.Replace("PORT", port, StringComparison.Ordinal).Split(' '));
        other.Expect(":2", "LLEN", "q");
        Assert.False(writer.Socket.Poll(100_000, SelectMode.SelectRead), "the write did not wait");
        await link.Client.SendAsync("+OK\r\n"u8.ToArray());
        Assert.Equal("+OK", client.Read().ToString());
        Assert.Equal(expected, writer.Read().ToString());
        // The key was sent once.
        Assert.False(link.Client.Poll(100_000, SelectMode.SelectRead), "the target got more than the key");
        server.AssertWell();
    }

    /// <summary>A blocked client that a push wakes would change another key, which moves. Its command waits, as a command of its own would.</summary>
    [Fact]
    public async Task ABlockedClientDoesNotChangeAMovingKey()
    {
        using TcpListener target = MigrateTests.Listen(out string port);
        using ServerProcess server = ServerProcess.Ours(OfTests);
        using RespClient client = server.Connect(), blocked = server.Connect(), other = server.Connect();
        other.Expect(":1", "RPUSH", "q", "a");
        blocked.Send("BLMOVE", "from", "q", "LEFT", "RIGHT", "0");
        UntilBlocked(server, other);
        client.Send("MIGRATE", "127.0.0.1", port, "q", "0", "60000");
        using TcpClient link = await AcceptKeyAsync(target);
        other.Expect(":1", "RPUSH", "from", "x");
        other.Expect(":1", "LLEN", "q");
        other.Expect(":1", "LLEN", "from");
        await link.Client.SendAsync("+OK\r\n"u8.ToArray());
        Assert.Equal("+OK", client.Read().ToString());
        Assert.Equal("$\"x\"", blocked.Read().ToString());
        other.Expect("*[$\"x\"]", "LRANGE", "q", "0", "-1");
        // The key was sent once.
        Assert.False(link.Client.Poll(100_000, SelectMode.SelectRead), "the target got more than the key");
        server.AssertWell();
    }

    /// <summary>The role moves once the transfer has ended. The key would stay on this server and its replicas otherwise.</summary>
    [Fact]
    public async Task AFailoverWaitsForATransfer()
    {
        using TcpListener target = MigrateTests.Listen(out string port);
        using ServerProcess server = ServerProcess.Ours(OfTests), heir = ServerProcess.Ours(OfTests);
        FollowingTests.Follow(heir, server);
        using RespClient client = server.Connect(), other = server.Connect(), next = heir.Connect();
        other.Expect("+OK", "SET", "k", "v");
        client.Send("MIGRATE", "127.0.0.1", port, "k", "0", "60000");
        using TcpClient link = await AcceptKeyAsync(target);
        FollowingTests.Until(() => other.Call("FAILOVER", "TIMEOUT", "30000").ToString() == "+OK", "the failover does not begin", server);
        Assert.False(client.Socket.Poll(300_000, SelectMode.SelectRead), "MIGRATE has a reply");
        Assert.Equal("master", other.Call("ROLE")[0].Text);
        await link.Client.SendAsync("+OK\r\n"u8.ToArray());
        Assert.Equal("+OK", client.Read().ToString());
        FollowingTests.Until(() => next.Call("ROLE")[0].Text == "master" && other.Call("ROLE")[0].Text == "slave", "the roles stay", server);
        next.Expect(":0", "EXISTS", "k");
        other.Expect(":0", "EXISTS", "k");
        server.AssertWell();
        heir.AssertWell();
    }

    /// <summary>A reader changes nothing, so it is served while one of its streams moves.</summary>
    [Fact]
    public async Task ABlockedReaderIsServedWhileItsStreamMoves()
    {
        using TcpListener target = MigrateTests.Listen(out string port);
        using ServerProcess server = ServerProcess.Ours(OfTests);
        using RespClient client = server.Connect(), reader = server.Connect(), other = server.Connect();
        foreach (string key in new[] { "s", "other" }) other.Call("XADD", key, "1-1", "f", "v");
        reader.Send("XREAD", "BLOCK", "0", "STREAMS", "s", "other", "$", "$");
        UntilBlocked(server, other);
        client.Send("MIGRATE", "127.0.0.1", port, "s", "0", "60000");
        using TcpClient link = await target.AcceptTcpClientAsync();
        await link.Client.ReceiveAsync(new byte[4096]);
        other.Call("XADD", "other", "2-1", "f", "v");
        Assert.Equal("2-1", reader.Read().Items![0].Items![1].Items![0].Items![0].Text);
        server.AssertWell();
    }

    /// <summary>A node that loses the slot of a key while the key moves answers with a redirection, and the key can be written again.</summary>
    [Fact]
    public async Task AKeyIsFreeAfterItsMoveWasRedirected()
    {
        using TcpListener target = MigrateTests.Listen(out string port);
        using ServerProcess server = ServerProcess.Ours([.. OfTests, "--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"]);
        using RespClient client = server.Connect(), other = server.Connect();
        other.Expect("+OK", "CLUSTER", "ADDSLOTSRANGE", "0", "16383");
        FollowingTests.Until(() => other.Call("SET", "k", "1").ToString() == "+OK", "the node does not serve", server);
        client.Send("MIGRATE", "127.0.0.1", port, "k", "0", "60000");
        TcpClient link = await target.AcceptTcpClientAsync();
        Assert.True(await link.Client.ReceiveAsync(new byte[4096]) > 0);
        string slot = $"{other.Call("CLUSTER", "KEYSLOT", "k").Integer}";
        other.Expect("+OK", "CLUSTER", "DELSLOTS", slot);
        link.Dispose();
        target.Stop();
        Assert.StartsWith("-CLUSTERDOWN", client.Read().ToString(), StringComparison.Ordinal);
        other.Expect("+OK", "CLUSTER", "ADDSLOTS", slot);
        FollowingTests.Until(() => other.Call("SET", "k", "2").ToString() == "+OK", "the node does not serve the slot", server);
        server.AssertWell();
    }

    /// <summary>Takes the connection of MIGRATE, answers its SELECT and waits for the key, without an answer to that.</summary>
    private static async Task<TcpClient> AcceptKeyAsync(TcpListener target)
    {
        TcpClient link = await target.AcceptTcpClientAsync();
        await link.Client.ReceiveAsync(new byte[4096]);
        await link.Client.SendAsync("+OK\r\n"u8.ToArray());
        Assert.True(await link.Client.ReceiveAsync(new byte[4096]) > 0);
        return link;
    }

    private static void UntilBlocked(ServerProcess server, RespClient client) => FollowingTests.Until(
        () => client.Call("INFO", "clients").Text!.Contains("blocked_clients:1", StringComparison.Ordinal), "no client waits", server);
}
