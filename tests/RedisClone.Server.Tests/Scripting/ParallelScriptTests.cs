using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Scripting;

/// <summary>Scripts that hold the shards of their keys only, beside other commands and other scripts.</summary>
public sealed class ParallelScriptTests
{
    private const string Busy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
    private const string Killed = "ERR Script killed by user with SCRIPT KILL... script: ";
    private const string Endless = "while true do redis.call('exists', KEYS[1]) end";
    private const string Increment = "redis.call('incr', KEYS[1]) return redis.call('incr', KEYS[2])";

    private const string Library = """
        #!lua name=lib
        local command, calls = 'incrby', 0
        local function change(key, by) return redis.call(command, key, by) end
        redis.register_function('add', function(keys, args) return change(keys[1], args[1]) end)
        redis.register_function{function_name='read', callback=function(keys) return redis.call('get', keys[1]) end, flags={'no-writes'}}
        redis.register_function('count', function(keys) calls = calls + 1 redis.call('exists', keys[1]) return calls end)
        redis.register_function('endless', function(keys) while true do redis.call('exists', keys[1]) end end)
        """;

    private static Task<RunningServer> StartAsync() => RunningServer.StartAsync(TransportKind.EventLoop, static c => c.BusyReplyThreshold = 20);

    /// <summary>The first run of a script compiles it, for which it holds all shards.</summary>
    private static (long Keys, long All) Counts(RunningServer server) =>
        (server.Core.Lanes.Sum(static lane => lane.ScriptsOnTheirKeys), server.Core.Lanes.Sum(static lane => lane.ScriptsOnAllShards));

    [Fact]
    public async Task InfoCountsScriptsByTheShardsThatTheyHeld()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        Assert.Equal("1", client.Call("EVAL", Increment, "2", "a", "b"));
        Assert.Equal((0, 1), Counts(server));
        string digest = client.Call("SCRIPT", "LOAD", Increment);
        Assert.Equal("2", client.Call("EVAL", Increment, "2", "a", "b"));
        Assert.Equal("3", client.Call("EVALSHA", digest, "2", "a", "b"));
        Assert.Equal((2, 1), Counts(server));
        const string read = "return redis.call('get', KEYS[1])";
        Assert.Equal("3", client.Call("EVAL_RO", read, "1", "a"));
        Assert.Equal("3", client.Call("EVAL_RO", read, "1", "a"));
        Assert.Equal((3, 2), Counts(server));
        // Without keys and with other keys, a script holds all shards.
        Assert.StartsWith("ERR ", client.Call("EVAL", read, "0"), StringComparison.Ordinal);
        for (int i = 0; i < 2; i++) Assert.Equal("3", client.Call("EVAL", "return redis.call('get', 'a')", "1", "a"));
        Assert.Equal((3, 5), Counts(server));
        Assert.Equal("lib", client.Call("FUNCTION", "LOAD", Library));
        Assert.Equal("4", client.Run("FCALL add 1 a 1"));
        Assert.Equal("4", client.Run("FCALL_RO read 1 a"));
        Assert.Equal("1", client.Run("FCALL count 1 a"));
        Assert.Contains("scripts_on_their_keys:5\r\nscripts_on_all_shards:6\r\n", client.Run("INFO stats"), StringComparison.Ordinal);
    }

    /// <summary>
    /// Scripts count their memory at the same time, with a large string that all of them share in a table with many references to it.
    /// </summary>
    [Fact]
    public async Task SharedStringsCountOnceInEachScript()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        string script = $"local s = '{new string('s', 500_000)}' redis.call('exists', KEYS[1]) local t, u = {{}}, {{}} " +
            "for i = 1, 300000 do t[i] = s end for i = 1, 100000 do u[i] = {} end return #t";
        using (TestClient client = server.Connect()) Assert.Equal("300000", client.Call("EVAL", script, "1", "k"));
        await Task.WhenAll(Enumerable.Range(0, 4).Select(number => Task.Run(() =>
        {
            using TestClient client = server.Connect();
            for (int i = 0; i < 10; i++) Assert.Equal("300000", client.Call("EVAL", script, "1", $"k{number}"));
        })));
    }

    /// <summary>A shard channel is no key, so it may belong to a shard that the script does not hold.</summary>
    [Fact]
    public async Task AScriptOnItsKeysPublishesToAnyShardChannel()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        (string held, string other) = KeyProofTests.KeysOfTwoShards(server);
        const string publish = "redis.call('set', KEYS[1], 1) return redis.call('spublish', ARGV[1], 'message')";
        for (int i = 0; i < 2; i++) Assert.Equal("0", client.Call("EVAL", publish, "1", held, other));
        Assert.Equal((1, 1), Counts(server));
    }

    [Fact]
    public async Task ABusyScriptStopsOnlyCommandsThatNeedItsShards()
    {
        await using RunningServer server = await StartAsync();
        using TestClient runner = server.Connect(), other = server.Connect(), second = server.Connect();
        (string held, string free) = KeyProofTests.KeysOfTwoShards(server);
        string digest = other.Call("SCRIPT", "LOAD", Endless);
        string increment = other.Call("SCRIPT", "LOAD", "return redis.call('incr', KEYS[1])");
        runner.Send("EVALSHA", digest, "1", held);
        await other.UntilAsync($"GET {held}", static answer => answer == Busy);
        Assert.Equal("PONG", other.Run("PING"));
        Assert.Equal("OK", other.Run($"SET {free} 1"));
        Assert.Equal("2", other.Run($"EVALSHA {increment} 1 {free}"));
        Assert.Equal(Busy, other.Run($"EVALSHA {increment} 1 {held}"));
        Assert.Equal(Busy, other.Run($"MGET {free} {held}"));
        Assert.Equal(Busy, other.Run("DBSIZE"));
        Assert.Equal(Busy, other.Call("EVAL", "return 1", "0"));
        Assert.Equal(Busy, other.Run("FUNCTION STATS"));
        Assert.Equal(Busy, other.Run("FUNCTION KILL"));
        // A second script becomes busy beside the first one. Both are ended.
        second.Send("EVALSHA", digest, "1", free);
        await other.UntilAsync($"GET {free}", static answer => answer == Busy);
        Assert.Equal("OK", other.Run("SCRIPT KILL"));
        Assert.StartsWith(Killed, runner.Read(), StringComparison.Ordinal);
        Assert.StartsWith(Killed, second.Read(), StringComparison.Ordinal);
        Assert.Equal("NOTBUSY No scripts in execution right now.", other.Run("SCRIPT KILL"));
        Assert.Equal("2", other.Run($"GET {free}"));
        Assert.Equal("nil", other.Run($"GET {held}"));
    }

    /// <summary>The shutdown waits for the script, so writes that it pauses would get no answer as long as the script runs.</summary>
    [Fact]
    public async Task WritesGetTheBusyErrorWhileAShutdownWaitsForAScript()
    {
        await using RunningServer server = await StartAsync();
        using TestClient runner = server.Connect(), other = server.Connect(), waiting = server.Connect();
        (string held, string free) = KeyProofTests.KeysOfTwoShards(server);
        string digest = other.Call("SCRIPT", "LOAD", Endless);
        server.Core.Pause.HoldWrites(withTransfers: true);
        waiting.Send("SET", free, "1");
        SpinWait.SpinUntil(() => server.Core.Pause.WaitingClients == 1);
        runner.Send("EVALSHA_RO", digest, "1", held);
        Assert.Equal(Busy, waiting.Read());
        Assert.Equal(Busy, other.Run($"SET {free} 1"));
        Assert.Equal("nil", other.Run($"GET {free}"));
        Assert.Equal("OK", other.Run("SCRIPT KILL"));
        Assert.StartsWith(Killed, runner.Read(), StringComparison.Ordinal);
        server.Core.Pause.ReleaseWrites(withTransfers: true);
        Assert.Equal("OK", other.Run($"SET {free} 1"));
    }

    [Fact]
    public async Task AScriptThatHasWrittenIsNotKilledAndOthersAre()
    {
        await using RunningServer server = await StartAsync();
        using TestClient writer = server.Connect(), reader = server.Connect(), other = server.Connect();
        (string held, string free) = KeyProofTests.KeysOfTwoShards(server);
        string writes = other.Call("SCRIPT", "LOAD", "redis.call('set', KEYS[1], 1) while true do end");
        string reads = other.Call("SCRIPT", "LOAD", Endless);
        writer.Send("EVALSHA", writes, "1", held);
        await other.UntilAsync($"GET {held}", static answer => answer == Busy);
        reader.Send("EVALSHA", reads, "1", free);
        await other.UntilAsync($"GET {free}", static answer => answer == Busy);
        Assert.Equal("OK", other.Run("SCRIPT KILL"));
        Assert.StartsWith(Killed, reader.Read(), StringComparison.Ordinal);
        Assert.StartsWith("UNKILLABLE ", other.Run("SCRIPT KILL"), StringComparison.Ordinal);
        Assert.Equal("nil", other.Run($"GET {free}"));
    }

    [Fact]
    public async Task AScriptServesClientsThatWaitForItsKeysAtOnce()
    {
        await using RunningServer server = await StartAsync();
        using TestClient waiting = server.Connect(), next = server.Connect(), client = server.Connect();
        (string source, string target) = KeyProofTests.KeysOfTwoShards(server);
        string digest = client.Call("SCRIPT", "LOAD", "redis.call('rpush', KEYS[1], ARGV[1]) return redis.call('llen', KEYS[1])");
        for (int i = 0; i < 20; i++)
        {
            next.Send("BLPOP", target, "0");
            waiting.Send("BLMOVE", source, target, "LEFT", "RIGHT", "0");
            await client.UntilAsync("INFO clients", static answer => answer.Contains("blocked_clients:2\r\n", StringComparison.Ordinal));
            Assert.Equal("1", client.Call("EVALSHA", digest, "1", source, $"{i}"));
            Assert.Equal("[0 0]", $"[{client.Call("EXISTS", source)} {client.Call("EXISTS", target)}]");
            Assert.Equal($"{i}", waiting.Read());
            Assert.Equal($"[{target} {i}]", next.Read());
        }
        Assert.Equal((20, 0), Counts(server));
    }

    /// <summary>Scripts on keys, scripts on all shards, transactions and SCRIPT FLUSH from several connections at once.</summary>
    [Fact]
    public async Task NothingIsLostWhileTheCacheIsFlushed()
    {
        await using RunningServer server = await StartAsync();
        const int clients = 4, rounds = 400;
        await Task.WhenAll(Enumerable.Range(0, clients).Select(n => Task.Run(() =>
        {
            using TestClient client = server.Connect();
            for (int i = 0; i < rounds; i++)
            {
                string first = $"k{(n + i) % 7}", second = $"k{i % 5}";
                if (i % 50 == n) Assert.Equal("OK", client.Run("SCRIPT FLUSH"));
                if (i % 3 == 0) Assert.Equal("[1 1]", client.Call("EVAL", "return {redis.call('incrby', 'all', 2) % 2 + 1, 1}", "1", first));
                else Assert.DoesNotContain("ERR", client.Call("EVAL", Increment, "2", first, second), StringComparison.Ordinal);
            }
        })));
        using TestClient reader = server.Connect();
        long sum = Enumerable.Range(0, 7).Sum(i => long.Parse(reader.Run($"GET k{i}"), System.Globalization.CultureInfo.InvariantCulture));
        long others = clients * Enumerable.Range(0, rounds).Count(static i => i % 3 == 0);
        Assert.Equal(2 * (clients * rounds - others), sum);
        Assert.Equal($"{2 * others}", reader.Run("GET all"));
        Assert.Equal(0, server.Core.Lanes.Sum(static lane => lane.UnexpectedErrors));
        Assert.True(Counts(server).Keys > 0);
    }

    [Fact]
    public async Task AScriptOnItsKeysMayUseAsMuchMemoryAsAnyOther()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        string digest = client.Call("SCRIPT", "LOAD",
            "local t = {} for i = 1, ARGV[1] do t[i] = string.rep('x', 1000000) .. i end redis.call('set', KEYS[1], #t) return #t");
        for (int i = 0; i < 3; i++) Assert.Equal("100", client.Call("EVALSHA", digest, "1", "k", "100"));
        Assert.Contains("not enough memory", client.Call("EVALSHA", digest, "1", "k", "100000"), StringComparison.Ordinal);
        Assert.Equal("100", client.Call("EVALSHA", digest, "1", "k", "100"));
        Assert.Equal(5, Counts(server).Keys);
    }

    /// <summary>The reply of a command may be longer than the memory that the script has without asking for more.</summary>
    [Fact]
    public async Task AScriptOnItsKeysReadsLongReplies()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        client.Run("SETRANGE long 19999999 x");
        for (int i = 0; i < 3; i++) Assert.Equal("20000000", client.Call("EVAL", "return #redis.call('GET', KEYS[1])", "1", "long"));
        Assert.Equal((2, 1), Counts(server));
    }

    [Fact]
    public async Task ATransactionWithProvedScriptsHoldsTheShardsOfItsKeys()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect(), runner = server.Connect();
        (string held, string free) = KeyProofTests.KeysOfTwoShards(server);
        string increment = client.Call("SCRIPT", "LOAD", "return redis.call('incr', KEYS[1])"), endless = client.Call("SCRIPT", "LOAD", Endless);
        Assert.Equal("lib", client.Call("FUNCTION", "LOAD", Library));
        runner.Send("EVALSHA", endless, "1", held);
        await client.UntilAsync($"GET {held}", static answer => answer == Busy);
        Assert.Equal("OK", client.Run("MULTI"));
        Assert.Equal("QUEUED", client.Run($"EVALSHA {increment} 1 {free}"));
        Assert.Equal("QUEUED", client.Run($"FCALL add 1 {free} 5"));
        Assert.Equal("QUEUED", client.Run($"GET {free}"));
        Assert.Equal("[1 6 6]", client.Run("EXEC"));
        Assert.Equal("OK", client.Run("MULTI"));
        // A function that needs all shards is refused when it is queued.
        Assert.Equal(Busy, client.Run($"FCALL count 1 {free}"));
        Assert.StartsWith("EXECABORT ", client.Run("EXEC"), StringComparison.Ordinal);
        Assert.Equal("OK", client.Run("SCRIPT KILL"));
        Assert.StartsWith(Killed, runner.Read(), StringComparison.Ordinal);
        Assert.Equal((3, 0), Counts(server));
    }

    [Fact]
    public async Task ABusyFunctionStopsOnlyCommandsThatNeedItsShards()
    {
        await using RunningServer server = await StartAsync();
        using TestClient runner = server.Connect(), other = server.Connect();
        (string held, string free) = KeyProofTests.KeysOfTwoShards(server);
        Assert.Equal("lib", other.Call("FUNCTION", "LOAD", Library));
        string busy = Busy.Replace("SCRIPT KILL", "FUNCTION KILL", StringComparison.Ordinal);
        runner.Send("FCALL", "endless", "1", held);
        await other.UntilAsync($"GET {held}", answer => answer == busy);
        Assert.Equal("3", other.Run($"FCALL add 1 {free} 3"));
        Assert.Equal(busy, other.Run($"FCALL add 1 {held} 3"));
        Assert.Equal(busy, other.Run("FUNCTION FLUSH"));
        Assert.Contains($"[FCALL endless 1 {held}]", other.Run("FUNCTION STATS"), StringComparison.Ordinal);
        Assert.Equal(busy, other.Run("SCRIPT KILL"));
        Assert.Equal("OK", other.Run("FUNCTION KILL"));
        Assert.Contains("killed by user", runner.Read(), StringComparison.Ordinal);
        Assert.Equal("OK", other.Run("FUNCTION FLUSH"));
    }

    /// <summary>Libraries are replaced, deleted and restored while functions of both kinds run, alone and in transactions.</summary>
    [Fact]
    public async Task NothingIsLostWhileLibrariesChange()
    {
        await using RunningServer server = await StartAsync();
        const int clients = 4, rounds = 300;
        using TestClient first = server.Connect();
        Assert.Equal("lib", first.Call("FUNCTION", "LOAD", Library));
        long[] added = new long[clients];
        await Task.WhenAll(Enumerable.Range(0, clients).Select(n => Task.Run(() =>
        {
            using TestClient client = server.Connect();
            for (int i = 0; i < rounds; i++)
            {
                string key = $"k{(n + i) % 5}";
                // The other library has the same function, which needs all shards.
                string other = Library.Replace("change(keys[1]", "change(keys[1] .. ''", StringComparison.Ordinal);
                if (i % 30 == n) Assert.Equal("lib", client.Call("FUNCTION", "LOAD", "REPLACE", i % 60 == n ? other : Library));
                if (i % 70 == n) Assert.Equal("OK", client.Run("FUNCTION FLUSH"));
                if (i % 70 == n) Assert.Equal("lib", client.Call("FUNCTION", "LOAD", "REPLACE", Library));
                bool inTransaction = i % 3 == 0;
                if (inTransaction) Assert.Equal("OK", client.Run("MULTI"));
                string reply = client.Run($"FCALL add 1 {key} 1");
                if (inTransaction) reply = client.Run("EXEC");
                if (!reply.Contains("ERR", StringComparison.Ordinal)) added[n]++;
                else Assert.Contains("Function not found", reply, StringComparison.Ordinal);
            }
        })));
        long sum = Enumerable.Range(0, 5).Sum(i => long.Parse(first.Run($"GET k{i}"), System.Globalization.CultureInfo.InvariantCulture));
        Assert.Equal(added.Sum(), sum);
        Assert.Equal(0, server.Core.Lanes.Sum(static lane => lane.UnexpectedErrors));
        Assert.True(Counts(server).Keys > 0 && Counts(server).All > 0);
    }

    [Fact]
    public async Task LatencyNamesScriptsThatHeldAllShards()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, static c => c.LatencyMonitorThreshold = 1);
        using TestClient client = server.Connect();
        string slow = client.Call("SCRIPT", "LOAD", "local n = 0 for i = 1, 1000000 do n = n + 1 end return redis.call('exists', KEYS[1])");
        Assert.Equal("0", client.Run($"EVALSHA {slow} 1 k"));
        Assert.Contains("command", client.Run("LATENCY LATEST"), StringComparison.Ordinal);
        Assert.DoesNotContain("script-on-all-shards", client.Run("LATENCY LATEST"), StringComparison.Ordinal);
        string other = client.Call("SCRIPT", "LOAD", "for i = 1, 1000000 do local n = i end return redis.call('exists', 'k')");
        Assert.Equal("0", client.Run($"EVALSHA {other} 1 k"));
        Assert.Contains("script-on-all-shards", client.Run("LATENCY LATEST"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task AScriptOnItsKeysLeavesNoState()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        string digest = client.Call("SCRIPT", "LOAD",
            "local before = table.concat(ARGV, ',') .. #KEYS redis.setresp(3) math.randomseed(1) cjson.encode_max_depth(1) " +
            "redis.call('incr', KEYS[1]) return before .. tostring(pcall(cjson.encode, {{{1}}}))");
        for (int i = 0; i < 3; i++) Assert.Equal("a,b1false", client.Call("EVALSHA", digest, "1", "k", "a", "b"));
        string json = client.Call("SCRIPT", "LOAD", "redis.call('get', KEYS[1]) return cjson.encode({{{1}}})");
        Assert.Equal("[[[1]]]", client.Call("EVALSHA", json, "1", "k"));
        string random = client.Call("SCRIPT", "LOAD", "redis.call('get', KEYS[1]) return tostring(math.random())");
        Assert.NotEqual(client.Call("EVALSHA", random, "1", "k"), client.Call("EVALSHA", random, "1", "k"));
    }
}
