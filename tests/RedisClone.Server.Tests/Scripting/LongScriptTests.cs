using RedisClone.Server.Tests.Clients;
using RedisClone.Server.Tests.Embedding;

namespace RedisClone.Server.Tests.Scripting;

/// <summary>
/// Scripts that do not end. Other clients are served or get an error, and the script can be stopped. Every wait is for a
/// condition.
/// </summary>
public sealed class LongScriptTests
{
    private const string BusyScript = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
    private const string BusyFunction = "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.";
    private const string Killed = "ERR Script killed by user with SCRIPT KILL... script: ";
    private const string Endless = "while true do end";

    public static TheoryData<TransportKind> Transports => [TransportKind.EventLoop, TransportKind.Sockets];

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task AllConnectionsGetTheBusyErrorAndOneOfThemStopsTheScript(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport, c => c.BusyReplyThreshold = 20);
        using TestClient runner = server.Connect();
        TestClient[] others = [.. Enumerable.Range(0, 6).Select(_ => server.Connect())];
        foreach (TestClient other in others) Assert.Equal("PONG", other.Run("PING"));
        runner.Send("EVAL", Endless, "0");
        foreach (TestClient other in others)
        {
            await other.UntilAsync("PING", answer => answer == BusyScript);
            Assert.Equal(BusyScript, other.Run("SET k v"));
            Assert.Equal(BusyScript, other.Run("FUNCTION STATS"));
            Assert.Equal(BusyScript, other.Run("SHUTDOWN"));
            Assert.Equal(BusyScript, other.Run("FUNCTION KILL"));
        }
        Assert.Equal("OK", others[0].Run("SCRIPT KILL"));
        Assert.StartsWith(Killed, runner.Read());
        foreach (TestClient other in others)
        {
            Assert.Equal("PONG", other.Run("PING"));
            Assert.Equal("NOTBUSY No scripts in execution right now.", other.Run("SCRIPT KILL"));
            other.Dispose();
        }
        Assert.Equal("OK", runner.Run("SET k v"));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task ClientsThatWaitedBeforeTheScriptWasBusyGetTheErrorToo(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport, c => c.BusyReplyThreshold = 0);
        using TestClient runner = server.Connect(), admin = server.Connect();
        TestClient[] waiting = [.. Enumerable.Range(0, 6).Select(_ => server.Connect())];
        foreach (TestClient client in waiting) Assert.Equal("PONG", client.Run("PING"));
        foreach (TestClient client in waiting[..3]) Assert.Equal("OK", client.Run("MULTI"));
        foreach (TestClient client in waiting[..3]) Assert.Equal("QUEUED", client.Run("INCR n"));
        runner.Send("EVAL", Endless, "0");
        await admin.UntilAsync("FUNCTION STATS", answer => answer == BusyScript);
        foreach (TestClient client in waiting[..3]) client.Send("EXEC");
        foreach (TestClient client in waiting[3..]) client.SendRaw(TestClient.Encode("INCR", "n") + TestClient.Encode("PING"));
        server.Core.Config.BusyReplyThreshold = 1;
        foreach (TestClient client in waiting[..3]) Assert.Equal("EXECABORT Transaction discarded because of: " + BusyScript, client.Read());
        foreach (TestClient client in waiting[3..])
        {
            Assert.Equal(BusyScript, client.Read());
            Assert.Equal(BusyScript, client.Read());
        }
        Assert.Equal("OK", admin.Run("SCRIPT KILL"));
        Assert.StartsWith(Killed, runner.Read());
        foreach (TestClient client in waiting)
        {
            Assert.Equal("nil", client.Run("GET n"));
            client.Dispose();
        }
    }

    /// <summary>A script may run for busy-reply-threshold. A tool that sends SCRIPT KILL now and then must not end it before.</summary>
    [Fact]
    public async Task AScriptThatIsNotBusyIsNotKilled()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, c => c.BusyReplyThreshold = 0);
        using TestClient runner = server.Connect(), admin = server.Connect();
        runner.Send("EVAL", Endless, "0");
        await admin.UntilAsync("FUNCTION STATS", answer => answer == BusyScript);
        Assert.Equal("NOTBUSY No scripts in execution right now.", admin.Run("SCRIPT KILL"));
        server.Core.Config.BusyReplyThreshold = 1;
        await admin.UntilAsync("SCRIPT KILL", answer => answer == "OK");
        Assert.StartsWith(Killed, runner.Read());
    }

    [Fact]
    public async Task TheBusyErrorDistinguishesFunctionsFromScripts()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, c => c.BusyReplyThreshold = 20);
        using TestClient runner = server.Connect(), other = server.Connect();
        Assert.Equal("lib", runner.Call("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() while true do end end)"));
        runner.Send("FCALL", "f", "0", "some argument", "x");
        await other.UntilAsync("PING", answer => answer == BusyFunction);
        Assert.Equal(BusyFunction, other.Run("SCRIPT KILL"));
        Assert.Contains("[name f command [FCALL f 0 some argument x] duration_ms ", other.Run("FUNCTION STATS"), StringComparison.Ordinal);
        Assert.Equal("OK", other.Run("FUNCTION KILL"));
        Assert.StartsWith("ERR Script killed by user with SCRIPT KILL... script: f, on @user_function:", runner.Read());
        Assert.Contains("[running_script nil ", other.Run("FUNCTION STATS"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task NeitherPcallNorACoroutinePreventsTheEndOfAScript()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, c => c.BusyReplyThreshold = 20);
        using TestClient runner = server.Connect(), other = server.Connect();
        runner.Send("EVAL", "local f = function() while true do redis.call('ping') end end while true do pcall(f) pcall(coroutine.wrap(f)) end", "0");
        await other.UntilAsync("PING", answer => answer == BusyScript);
        Assert.Equal("OK", other.Run("SCRIPT KILL"));
        Assert.StartsWith(Killed, runner.Read());
    }

    /// <summary>The loop has too few instructions to look at the clock. The time of its commands counts.</summary>
    [Fact]
    public async Task AScriptOfFewLongCommandsIsBusyAndCanBeKilled()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, c => c.BusyReplyThreshold = 20);
        using TestClient runner = server.Connect(), other = server.Connect();
        Assert.Equal("0", runner.Run("SETBIT big 268435456 1"));
        runner.Send("EVAL", "for i = 1, 1200 do redis.call('bitcount', 'big') end", "0");
        await other.UntilAsync("PING", answer => answer == BusyScript);
        Assert.Equal("OK", other.Run("SCRIPT KILL"));
        Assert.StartsWith(Killed, runner.Read());
    }

    [Fact]
    public async Task AScriptThatHasWrittenCannotBeKilledAndIsAtomic()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, c => c.BusyReplyThreshold = 20);
        using TestClient runner = server.Connect(), other = server.Connect();
        string answer;
        do
        {
            runner.Send("EVAL", "redis.call('set', 'a', 1) local n = 0 while n < 3e7 do n = n + 1 end redis.call('set', 'b', 1) return n", "0");
            answer = "";
            await other.UntilAsync("SCRIPT KILL", reply =>
                (answer = reply) == "OK" || reply.StartsWith("UNKILLABLE ", StringComparison.Ordinal) ||
                reply.StartsWith("NOTBUSY ", StringComparison.Ordinal));
            // On a busy machine the script may become busy before its first command. It has then written nothing and can be
            // killed.
            if (answer == "OK") Assert.StartsWith(Killed, runner.Read());
        }
        while (answer == "OK");
        Assert.Equal("30000000", runner.Read());
        Assert.Equal("[1 1]", other.Run("MGET a b"));
    }

    /// <summary>SCRIPT KILL comes while a script writes for the first time: one of the two happens.</summary>
    [Fact]
    public async Task AKilledScriptHasNoEffect()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient runner = server.Connect(), killer = server.Connect();
        using var over = new CancellationTokenSource();
        Task kills = Task.Run(() =>
        {
            while (!over.IsCancellationRequested) killer.Run("SCRIPT KILL");
        });
        const string script = "for n = 1, ARGV[2] do end redis.call('SET', 'x', ARGV[1]) for n = 1, 100000 do end redis.call('SET', 'y', ARGV[1])";
        Assert.Equal("OK", runner.Run("MSET x - y -"));
        for (int i = 0; i < 400; i++)
        {
            runner.Send("EVAL", script, "0", $"{i}", $"{i * 100}");
            runner.Read();
            string[] values = runner.Run("MGET x y").Trim('[', ']').Split(' ');
            Assert.Equal(values[0], values[1]);
        }
        await over.CancelAsync();
        await kills;
    }

    [Fact]
    public async Task ShutdownStopsAScriptThatHasWritten()
    {
        RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, c => c.BusyReplyThreshold = 20);
        using TestClient runner = server.Connect(), other = server.Connect();
        runner.Send("EVAL", "redis.call('set', 'a', 1) while true do end", "0");
        await other.UntilAsync("PING", answer => answer == BusyScript);
        other.Send("SHUTDOWN", "NOSAVE");
        Assert.True(SpinWait.SpinUntil(() => server.Core.Shutdown.HasBegun, TimeSpan.FromSeconds(30)));
        await server.DisposeAsync();
        Assert.Equal("", other.ReadToEnd());
    }

    [Fact]
    public async Task TheEventLoopOfALongScriptServesOtherClients()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, c => (c.BusyReplyThreshold, c.IoLoops) = (0, 1));
        using TestClient runner = server.Connect(), other = server.Connect();
        runner.Send("EVAL", Endless, "0");
        await other.UntilAsync("FUNCTION STATS", answer => answer == BusyScript);
        for (int i = 0; i < 20; i++) Assert.Equal("PONG", other.Run("PING"));
        using (TestClient late = server.Connect()) Assert.Equal("x", late.Run("ECHO x"));
        server.Core.Config.BusyReplyThreshold = 1;
        await other.UntilAsync("SCRIPT KILL", answer => answer == "OK");
        Assert.StartsWith(Killed, runner.Read());
    }
}
