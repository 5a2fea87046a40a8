using System.Net.Sockets;
using System.Text;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>What clients see on a replica, at a change of the role, and after bad input of a primary.</summary>
public sealed class ReplicaRoleTests
{
    private const string ReadOnly = "-READONLY You can't write against a read only replica.";
    private const string History = "0123456789012345678901234567890123456789";

    /// <summary>A snapshot without keys, without a checksum.</summary>
    private const string EmptySnapshot = "REDIS0010\u00ff\0\0\0\0\0\0\0\0";

    private static readonly string[] OfTests = ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1"];

    [Fact]
    public void AReplicaRefusesWrites()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests), replica = ServerProcess.Ours(OfTests);
        FollowingTests.Follow(replica, primary);
        using RespClient client = replica.Connect();
        client.Expect(ReadOnly, "SET", "k", "v");
        client.Expect(ReadOnly, "BLPOP", "k", "1");
        client.Expect(ReadOnly, "FLUSHALL");
        Assert.Contains("READONLY", client.Call("EVAL", "return redis.call('SET', 'k', 'v')", "0").Text!, StringComparison.Ordinal);
        client.Expect("+OK", "MULTI");
        client.Expect(ReadOnly, "SET", "k", "v");
        client.Expect("-EXECABORT Transaction discarded because of previous errors.", "EXEC");
        Assert.StartsWith("ERR WAIT cannot be used with replica instances.", client.Call("WAIT", "0", "1").Text!, StringComparison.Ordinal);
        client.Expect("$nil", "GET", "k");
        client.Expect(":0", "PUBLISH", "channel", "message");
        Assert.Contains(" flags=Me ", client.Call("CLIENT", "LIST", "TYPE", "master").Text!, StringComparison.Ordinal);
        client.Expect("+OK", "CONFIG", "SET", "replica-read-only", "no");
        client.Expect("+OK", "SET", "own", "v");
        client.Expect("+OK", "REPLICAOF", "NO", "ONE");
        client.Expect("+OK", "SET", "k", "v");
    }

    /// <summary>An expired key is gone for clients of a replica, and stays until its primary deletes it.</summary>
    [Fact]
    public void AReplicaHidesExpiredKeys()
    {
        using ServerProcess primary = ServerProcess.Redis(OfTests), replica = ServerProcess.Ours(OfTests);
        using RespClient client = primary.Connect(), reader = replica.Connect();
        FollowingTests.Follow(replica, primary);
        client.Expect("+OK", "DEBUG", "SET-ACTIVE-EXPIRE", "0");
        client.Expect("+OK", "SET", "k", "v", "PX", "100");
        client.Expect(":1", "WAIT", "1", "10000");
        FollowingTests.Until(() => reader.Call("EXISTS", "k").Integer == 0, "the key does not expire", replica);
        reader.Expect("$nil", "GET", "k");
        reader.Expect("*[]", "KEYS", "*");
        reader.Expect(":1", "DBSIZE");
        client.Expect("$nil", "GET", "k");
        FollowingTests.Until(() => reader.Call("DBSIZE").Integer == 0, "the primary does not delete the key", replica);
        replica.AssertWell();
    }

    [Fact]
    public void ClientsLearnOfTheRole()
    {
        using ServerProcess primary = ServerProcess.Ours(OfTests), replica = ServerProcess.Ours([.. OfTests, "--replica-serve-stale-data", "no"]);
        using RespClient client = replica.Connect(), blocked = replica.Connect();
        client.Expect("*[$\"master\" :0 *[]]", "ROLE");
        blocked.Send("BLPOP", "list", "0");
        FollowingTests.Until(() => client.Call("INFO", "clients").Text!.Contains("blocked_clients:1", StringComparison.Ordinal), "no client blocks", replica);
        FollowingTests.Follow(replica, primary);
        Assert.Equal("-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)", blocked.Read().ToString());
        Assert.Equal("", blocked.ReadToClose());
        Reply role = client.Call("ROLE");
        Assert.Equal(["slave", "127.0.0.1", $"{primary.Port}", "connected"], role.Items![..4].Select(part => part.Text));
        client.Expect("+OK Already connected to specified master", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        Assert.Contains("$\"replica\"", client.Call("HELLO", "2").ToString(), StringComparison.Ordinal);
        client.Expect("$nil", "GET", "k");
        primary.Kill();
        const string down = "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
        FollowingTests.Until(() => client.Call("GET", "k").ToString() == down, "the link stays", replica);
        const string stale = "#!lua flags=allow-stale,no-writes\nreturn redis.pcall(ARGV[1], 'k')";
        client.Expect("-ERR Can not execute the command on a stale replica", "EVAL", stale, "0", "GET");
        Assert.Contains("run_id", client.Call("EVAL", stale.Replace("'k'", "'server'", StringComparison.Ordinal), "0", "INFO").Text!, StringComparison.Ordinal);
        client.Expect(down, "EVAL", "return 1", "0");
        client.Expect("+OK", "REPLICAOF", "NO", "ONE");
        client.Expect("$nil", "GET", "k");
    }

    /// <summary>The old data stays, the log says why, and the replica tries again.</summary>
    [Theory]
    [InlineData("+FULLRESYNC " + History + " 10\r\nhello\r\n", "Bad protocol from MASTER")]
    [InlineData("+FULLRESYNC " + History + " 10\r\n$5\r\nhello", "the old data stays")]
    [InlineData("+FULLRESYNC " + History + " 10\r\n$40\r\n" +
        "REDIS0010\u00fe\0\0\u0001k\u0005value\u00ff\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008 and more bytes", "the old data stays")]
    [InlineData("+FULLRESYNC " + History + " 10\r\n$EOF:" + History + "\r\nREDIS0010\u00ff\0\0\0\0\0\0\0\u0001" + History, "the old data stays")]
    [InlineData("+FULLRESYNC " + History + " 10\r\n$1000\r\nREDIS0010", "Timeout receiving bulk data from MASTER...")]
    [InlineData("+FULLRESYNC here there\r\n", "Unexpected reply to PSYNC from master")]
    [InlineData("  \r\n", "the master answers with an empty line")]
    [InlineData("+CONTINUE\r\n", "the master continues a stream that was not requested")]
    [InlineData("-ERR no\r\n", "Unexpected reply to PSYNC from master")]
    [InlineData("garbage\u0001\u0002\r\n", "Unexpected reply to PSYNC from master")]
    [InlineData(null, "the master sent an endless line")]
    [InlineData("", "Timeout connecting to the MASTER...")]
    public void ABadCopyLeavesTheOldData(string? answer, string reason)
    {
        using var primary = new FakePrimary(_ => answer ?? new string('x', 100_000));
        using ServerProcess replica = ServerProcess.Ours([.. OfTests, "--repl-timeout", "2"]);
        using RespClient client = replica.Connect();
        client.Expect("+OK", "SET", "old", "data");
        client.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(() => primary.Asked >= 2, "the replica does not try again", replica);
        replica.AssertLogs(reason);
        client.Expect("$\"data\"", "GET", "old");
        client.Expect(ReadOnly, "SET", "k", "v");
        replica.AssertWell();
    }

    /// <summary>After a stream that cannot be applied, the replica copies all data again. Commands before the bad one are kept.</summary>
    [Theory]
    [InlineData("*1\r\n$9\r\nNOCOMMAND\r\n")]
    [InlineData("*2\r\n$3\r\nGET\r\n:5\r\n")]
    [InlineData("*2\r\n$6\r\nSELECT\r\n$2\r\n99\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n")]
    [InlineData("*1\r\n$4\r\nEXEC\r\n")]
    public void ABadStreamLeadsToACopy(string bad)
    {
        string copy = $"+FULLRESYNC {History} 10\r\n${EmptySnapshot.Length}\r\n{EmptySnapshot}";
        const string good = "*3\r\n$3\r\nSET\r\n$4\r\ngood\r\n$1\r\n1\r\n";
        using var primary = new FakePrimary(asked => copy + good + (asked == 1 ? bad : ""));
        using ServerProcess replica = ServerProcess.Ours(OfTests);
        using RespClient client = replica.Connect();
        client.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(() => replica.Output.Split("Finished with success").Length - 1 == 2, "the replica does not copy again", replica);
        string offset = $"slave_repl_offset:{10 + good.Length}\r\n";
        FollowingTests.Until(() => client.Call("INFO", "replication").Text!.Contains(offset, StringComparison.Ordinal), "the stream is not applied", replica);
        client.Expect("$\"1\"", "GET", "good");
        replica.AssertWell();
    }

    /// <summary>
    /// A server that could not apply its stream has no position in it. After its promotion it accepts writes, and a replica that
    /// still has the old position must copy all data.
    /// </summary>
    [Fact]
    public void AnOldPositionIsOfNoUseAfterABadStream()
    {
        string copy = $"+FULLRESYNC {History} 10\r\n${EmptySnapshot.Length}\r\n{EmptySnapshot}";
        using var primary = new FakePrimary(asked => asked == 1 ? copy + "*1\r\n$9\r\nNOCOMMAND\r\n" : "-ERR no\r\n");
        using ServerProcess server = ServerProcess.Ours(OfTests);
        using RespClient client = server.Connect();
        client.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(() => primary.Asked >= 2, "the replica does not ask again", server);
        client.Expect("+OK", "REPLICAOF", "NO", "ONE");
        client.Expect("+OK", "SET", "k", "1");
        using TcpClient first = Ask(server, "PSYNC ? -1\r\n"), second = Ask(server, $"PSYNC {History} 11\r\n");
        Assert.StartsWith("+FULLRESYNC", FirstLine(first), StringComparison.Ordinal);
        Assert.StartsWith("+FULLRESYNC", FirstLine(second), StringComparison.Ordinal);

        static TcpClient Ask(ServerProcess server, string request)
        {
            var socket = new TcpClient("127.0.0.1", server.Port);
            socket.GetStream().Write(Encoding.ASCII.GetBytes(request));
            return socket;
        }

        // Empty lines may come first: signs of life while the snapshot is taken.
        static string FirstLine(TcpClient socket)
        {
            using var reader = new StreamReader(socket.GetStream(), Encoding.Latin1);
            string line;
            while ((line = reader.ReadLine()!).Length == 0)
            {
            }
            return line;
        }
    }

    /// <summary>A transaction whose end has not arrived is not visible, and is not applied after the link breaks.</summary>
    [Fact]
    public void AHalfTransactionIsNotApplied()
    {
        string copy = $"+FULLRESYNC {History} 0\r\n${EmptySnapshot.Length}\r\n{EmptySnapshot}";
        const string half = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$1\r\n2\r\n";
        using var primary = new FakePrimary(_ => copy + half);
        using ServerProcess replica = ServerProcess.Ours(OfTests);
        using RespClient client = replica.Connect();
        client.Expect("+OK", "REPLICAOF", "127.0.0.1", $"{primary.Port}");
        FollowingTests.Until(() => client.Call("GET", "a").Text == "1", "the stream is not applied", replica);
        client.Expect("$nil", "GET", "b");
        client.Expect("+OK", "REPLICAOF", "NO", "ONE");
        client.Expect("$nil", "GET", "b");
        replica.AssertWell();
    }

    /// <summary>A user and a password at the primary, and the role from the command line.</summary>
    [Fact]
    public void AReplicaLogsIn()
    {
        using ServerProcess primary = ServerProcess.Redis(
            [.. OfTests, "--user", "copier", "on", ">secret", "+psync", "+replconf", "+ping"]);
        using RespClient client = primary.Connect();
        client.Expect("+OK", "SET", "k", "v");
        client.Expect("+OK", "CONFIG", "SET", "requirepass", "other");
        using ServerProcess replica = ServerProcess.Ours(
            [.. OfTests, "--replicaof", "127.0.0.1", $"{primary.Port}", "--masteruser", "copier", "--masterauth", "wrong"]);
        using RespClient reader = replica.Connect();
        replica.AssertLogs("Unable to AUTH to MASTER");
        reader.Expect("+OK", "CONFIG", "SET", "masterauth", "secret");
        FollowingTests.Until(() => reader.Call("GET", "k").Text == "v", "the replica does not follow", replica);
        replica.AssertWell();
    }
}
