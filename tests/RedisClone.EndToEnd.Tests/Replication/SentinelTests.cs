using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>Sentinels of redis-server watch servers of this project and fail over between them.</summary>
public sealed class SentinelTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-sentinel-").FullName;
    private readonly List<Process> _sentinels = [];

    public void Dispose()
    {
        foreach (Process sentinel in _sentinels)
        {
            sentinel.Kill();
            sentinel.WaitForExit();
            sentinel.Dispose();
        }
        Directory.Delete(_folder, recursive: true);
    }

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
        int[] sentinels = [.. Enumerable.Range(0, 3).Select(_ => StartSentinel(port))];
        using var sentinel = new RespClient(sentinels[0]);
        using (var client = new RespClient(port))
        {
            client.Expect("+OK", "SET", "before", "1");
            client.Expect(":2", "WAIT", "2", "30000");
        }
        FollowingTests.Until(
            () => sentinel.Call("SENTINEL", "REPLICAS", "store").Items is { Length: 2 } && Number("num-other-sentinels") == 2, "not all are known", heir);
        FollowingTests.Until(() => sentinel.Call("SENTINEL", "CKQUORUM", "store").Type == '+', "no quorum", heir);
        primary.Dispose();
        FollowingTests.Until(() => sentinel.Call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "store")[1].Text == $"{heir.Port}", "no failover", heir);
        using RespClient leader = heir.Connect();
        FollowingTests.Until(() => leader.Call("SET", "after", "2").ToString() == "+OK", "the replica is not promoted", heir);
        using ServerProcess back = ServerProcess.Ours([.. options, "--port", $"{port}"]);
        FollowingTests.Until(() => leader.Call("WAIT", "2", "1000").Integer == 2, "the others do not follow", heir);
        FollowingTests.AssertSame(heir, other, byDigest: true);
        using var returned = new RespClient(port);
        FollowingTests.Until(() => returned.Call("DEBUG", "DIGEST").ToString() == leader.Call("DEBUG", "DIGEST").ToString(), "the data differ", back);
        leader.Expect("$\"1\"", "GET", "before");

        long Number(string field)
        {
            Reply[] fields = sentinel.Call("SENTINEL", "MASTER", "store").Items!;
            return fields[Array.FindIndex(fields, item => item.Text == field) + 1].Number();
        }
    }

    private int StartSentinel(int primary)
    {
        int port = Ports.Free();
        string file = Path.Combine(_folder, $"{port}.conf");
        File.WriteAllLines(file,
        [
            $"port {port}", "bind 127.0.0.1", $"dir {_folder}", $"sentinel monitor store 127.0.0.1 {primary} 2", "sentinel down-after-milliseconds store 2000",
            "sentinel failover-timeout store 20000",
        ]);
        var start = new ProcessStartInfo("redis-server", [file, "--sentinel"]) { RedirectStandardOutput = true, RedirectStandardError = true };
        Process sentinel = Process.Start(start)!;
        sentinel.OutputDataReceived += static (_, _) => { };
        sentinel.ErrorDataReceived += static (_, _) => { };
        sentinel.BeginOutputReadLine();
        sentinel.BeginErrorReadLine();
        _sentinels.Add(sentinel);
        for (int looks = 0; looks < 100; looks++)
        {
            try
            {
                using var client = new RespClient(port);
                client.Expect("+PONG", "PING");
                return port;
            }
            catch (System.Net.Sockets.SocketException)
            {
                Thread.Sleep(100);
            }
        }
        throw new InvalidOperationException("the sentinel does not start");
    }
}
