using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>Sentinels of redis-server watch servers of this project and fail over between them.</summary>
public sealed class SentinelTests
{
    /// <summary>
    /// The primary is killed, a replica takes over, the other replica follows it, and the old primary comes back as a replica.
    /// The replica with priority 0 is never promoted.
    /// </summary>
    [Fact]
    public void SentinelsPromoteAReplica()
    {
        string[] options = ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1"];
        int port = Ports.Free();
        ServerProcess primary = ServerProcess.Ours([.. options, "--port", $"{port}"]);
        using ServerProcess heir = ServerProcess.Ours([.. options, "--replicaof", "127.0.0.1", $"{port}"]);
        using ServerProcess other = ServerProcess.Ours([.. options, "--replicaof", "127.0.0.1", $"{port}", "--replica-priority", "0"]);
        using var sentinels = new Sentinels(port);
        using (RespClient client = primary.Connect())
        {
            client.Expect("+OK", "SET", "before", "1");
            client.Expect(":2", "WAIT", "2", "30000");
        }
        sentinels.AwaitReplicas(2, heir);
        primary.Dispose();
        FollowingTests.Until(() => sentinels.Primary == heir.Port, "no failover", heir);
        using RespClient leader = heir.Connect();
        FollowingTests.Until(() => leader.Call("SET", "after", "2").ToString() == "+OK", "the replica is not promoted", heir);
        using ServerProcess back = ServerProcess.Ours([.. options, "--port", $"{port}"]);
        FollowingTests.Until(() => leader.Call("WAIT", "2", "1000").Integer == 2, "the others do not follow", heir);
        FollowingTests.AssertSame(heir, other, byDigest: true);
        using RespClient returned = back.Connect();
        FollowingTests.Until(() => returned.Call("DEBUG", "DIGEST").ToString() == leader.Call("DEBUG", "DIGEST").ToString(), "the data differ", back);
        leader.Expect("$\"1\"", "GET", "before");
    }
}
