using System.Collections.Concurrent;
using System.Globalization;
using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>An orderly shutdown while clients write and scripts run.</summary>
public sealed class ShutdownTests : IDisposable
{
    private const int Rounds = 6, Writers = 12;

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-shutdown-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    /// <summary>
    /// Every write that was confirmed is there after the restart: those of other clients while a long script is abandoned, and those that
    /// waited for the shards while the last snapshot was written.
    /// </summary>
    [Theory]
    [InlineData("--appendonly", "yes", "--appendfsync", "always", "--save", "")]
    [InlineData("--appendonly", "no", "--save", "3600 1")]
    public async Task WritesConfirmedDuringAShutdownSurvive(params string[] durability)
    {
        string[] arguments = [.. durability, "--dir", _folder, "--io-loops", "3"];
        var confirmed = new ConcurrentDictionary<string, long>();
        for (int round = 0; round < Rounds; round++)
        {
            using ServerProcess server = ServerProcess.Ours(arguments);
            Check(server, confirmed);
            int port = server.Port;
            IEnumerable<Task> writers = Enumerable.Range(0, Writers).Select(i => Task.Run(() => Write(port, i, confirmed)));
            Task[] clients = [.. writers, Task.Run(() => RunScripts(port))];
            await Task.Delay(150 + round * 20);
            ReplicaParameterTests.Signal(server, "TERM");
            FollowingTests.Until(() => server.HasExited, "the server does not end", server);
            await Task.WhenAll(clients);
        }
        using (ServerProcess last = ServerProcess.Ours(arguments)) Check(last, confirmed);
    }

    /// <summary>
    /// Of a transaction with a script that the shutdown abandons, nothing survives and nothing is confirmed. Clients that wait for its keys get
    /// nothing.
    /// </summary>
    [Fact]
    public void ATransactionWithAnAbandonedScriptIsDropped()
    {
        string[] arguments = ["--dir", _folder, "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--busy-reply-threshold", "50"];
        using (ServerProcess server = ServerProcess.Ours(arguments))
        {
            using RespClient client = server.Connect(), runner = server.Connect(), waiting = server.Connect();
            waiting.Send("BLMOVE", "list", "target", "LEFT", "LEFT", "0");
            FollowingTests.Until(() => client.Figure("blocked_clients") == "1", "the client does not wait", server);
            runner.Expect("+OK", "MULTI");
            runner.Expect("+QUEUED", "SET", "before", "1");
            runner.Expect("+QUEUED", "EVAL", "redis.call('SET', 'inside', '1') while true do end", "0");
            runner.Expect("+QUEUED", "SET", "after", "1");
            runner.Expect("+QUEUED", "RPUSH", "list", "a");
            runner.Send("EXEC");
            FollowingTests.Until(() => client.Call("PING").ToString().StartsWith("-BUSY", StringComparison.Ordinal), "the script is not busy", server);
            ReplicaParameterTests.Signal(server, "TERM");
            FollowingTests.Until(() => server.HasExited, "the server does not end", server);
            Assert.Equal("", runner.ReadToClose());
            Assert.Equal("", waiting.ReadToClose());
        }
        using (ServerProcess again = ServerProcess.Ours(arguments))
        using (RespClient client = again.Connect()) client.Expect(":0", "DBSIZE");
    }

    /// <summary>A shutdown waits for a busy script before it saves. SHUTDOWN NOSAVE ends the script, whose changes are then not saved.</summary>
    [Fact]
    public void NoSaveEndsAShutdownThatWaitsForAScript()
    {
        string[] arguments = ["--dir", _folder, "--appendonly", "no", "--save", "3600 1", "--busy-reply-threshold", "50"];
        using (ServerProcess server = ServerProcess.Ours(arguments))
        {
            using RespClient client = server.Connect(), runner = server.Connect();
            client.Expect("+OK", "MSET", "x", "0", "y", "0");
            client.Expect("+OK", "SAVE");
            runner.Send("EVAL", "redis.call('SET', 'x', '1') while true do end redis.call('SET', 'y', '1')", "0");
            FollowingTests.Until(() => client.Call("PING").ToString().StartsWith("-BUSY", StringComparison.Ordinal), "the script is not busy", server);
            ReplicaParameterTests.Signal(server, "TERM");
            server.AssertLogs("User requested shutdown");
            client.Send("SHUTDOWN", "NOSAVE");
            FollowingTests.Until(() => server.HasExited, "the server does not end", server);
        }
        using (ServerProcess again = ServerProcess.Ours(arguments))
        using (RespClient client = again.Connect()) client.Expect("*[$\"0\" $\"0\"]", "MGET", "x", "y");
    }

    private static void Check(ServerProcess server, ConcurrentDictionary<string, long> confirmed)
    {
        using RespClient client = server.Connect();
        foreach ((string key, long value) in confirmed)
        {
            long found = long.Parse(client.Call("GET", key).Text ?? "0", CultureInfo.InvariantCulture);
            Assert.True(found >= value, $"{key} is {found}, and {value} was confirmed");
            confirmed[key] = found;
        }
    }

    /// <summary>Writes until the server ends: a transaction on several shards, or one key.</summary>
    private static void Write(int port, int number, ConcurrentDictionary<string, long> confirmed) => UntilTheEnd(() =>
    {
        using var client = new RespClient(port);
        string key = $"key:{number}";
        while (true)
        {
            if (number % 2 == 0)
            {
                Reply reply = client.Call("INCR", key);
                if (reply.IsError) return;
                confirmed[key] = reply.Integer;
                continue;
            }
            client.Call("MULTI");
            client.Call("INCR", key);
            client.Call("INCR", $"shared:{number % 3}");
            if (client.Call("EXEC").Items is not { } replies) return;
            confirmed[key] = replies[0].Integer;
        }
    });

    private static void RunScripts(int port) => UntilTheEnd(() =>
    {
        using var client = new RespClient(port);
        while (true) client.Call("EVAL", "redis.call('INCR', KEYS[1]) local n = 0 while n < 3e6 do n = n + 1 end return n", "1", "script");
    });

    private static void UntilTheEnd(Action work)
    {
        try
        {
            work();
        }
        catch (Exception e) when (e is IOException or System.Net.Sockets.SocketException)
        {
            // The server has ended.
        }
    }
}
