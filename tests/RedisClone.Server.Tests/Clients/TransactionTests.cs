using System.Globalization;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Protocol;
using RedisClone.Server.Tests.Embedding;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Clients;

/// <summary>MULTI, EXEC and WATCH, as clients and the journal observe them.</summary>
public sealed class TransactionTests(ITestOutputHelper output)
{
    [Fact]
    public async Task AMillionQueuedCommandsTakeLittleMoreThanTheirBytes()
    {
        const int batch = 2000, batches = 500, mostBytesPerCommand = 160;
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), observer = server.Connect();
        string id = client.Run("CLIENT ID");
        client.Run("MULTI");
        string requests = string.Concat(Enumerable.Repeat(TestClient.Encode("INCR", "counter"), batch));
        byte[] replies = new byte["+QUEUED\r\n".Length * batch];
        for (int i = 0; i < batches; i++)
        {
            client.SendRaw(requests);
            for (int read = 0; read < replies.Length;) read += client.Socket.Receive(replies, read, replies.Length - read, System.Net.Sockets.SocketFlags.None);
        }
        Assert.All(Encoding.ASCII.GetString(replies).Split("\r\n")[..^1], line => Assert.Equal("+QUEUED", line));
        string[] fields = observer.Run($"CLIENT LIST ID {id}").Split(' ');
        Assert.Contains($"multi={batch * batches}", fields);
        string field = fields.Single(f => f.StartsWith("multi-mem=", StringComparison.Ordinal));
        long held = long.Parse(field["multi-mem=".Length..], System.Globalization.CultureInfo.InvariantCulture);
        Assert.InRange(held, 1, (long)mostBytesPerCommand * batch * batches);
        Assert.Equal("OK", client.Run("DISCARD"));
        Assert.Equal("nil", client.Run("GET counter"));
        Assert.Contains(" multi-mem=0 ", observer.Run($"CLIENT LIST ID {id}"), StringComparison.Ordinal);
    }

    /// <summary>A lookup before SWAPDB says nothing about the keys after it.</summary>
    [Fact]
    public async Task AKeyThatSwapdbBroughtIsNotNew()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), listener = server.Connect();
        client.Run("SET k before");
        client.Run("SELECT 1");
        client.Run("CONFIG SET notify-keyspace-events En");
        listener.Run("PSUBSCRIBE *");
        foreach (string command in (string[])["MULTI", "GET k", "SWAPDB 0 1", "SET k after", "SET other x"]) client.Run(command);
        Assert.Equal("[nil OK OK OK]", client.Run("EXEC"));
        Assert.Equal("[pmessage * __keyevent@1__:new other]", listener.Read());
    }

    [Fact]
    public async Task RestoreMakesANewKeyOnce()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), listener = server.Connect();
        client.Run("SET k v");
        string dump = client.Run("DUMP k");
        client.Run("CONFIG SET notify-keyspace-events Eng");
        listener.Run("PSUBSCRIBE *");
        Assert.Equal("OK", client.Call("RESTORE", "absent", "0", dump));
        Assert.Equal("OK", client.Call("RESTORE", "k", "0", dump, "REPLACE"));
        foreach (string made in (string[])["new absent", "restore absent", "new k", "restore k"])
            Assert.Equal($"[pmessage * __keyevent@0__:{made}]", listener.Read());
    }

    /// <summary>
    /// The server checks the queued commands again at EXEC, because its state may have changed since they were queued.
    /// </summary>
    [Theory]
    [InlineData("SET k v", "EXECABORT Transaction discarded because of: LOADING Redis is loading the dataset in memory")]
    [InlineData("GET k", "EXECABORT Transaction discarded because of: LOADING Redis is loading the dataset in memory")]
    [InlineData("PING", "EXECABORT Transaction discarded because of: LOADING Redis is loading the dataset in memory")]
    [InlineData("ECHO a;INFO;SELECT 0", null)]
    [InlineData("CONFIG GET port", null)]
    public async Task ExecRunsOnlyCommandsThatAreAllowedDuringLoading(string queued, string? refusal)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Run("MULTI");
        foreach (string command in queued.Split(';')) Assert.Equal("QUEUED", client.Run(command));
        string reply = "";
        server.Core.LoadAgain(() =>
        {
            reply = client.Run("EXEC");
            return null;
        }, canBeCancelled: false);
        if (refusal is null) Assert.StartsWith("[", reply, StringComparison.Ordinal);
        else Assert.Equal(refusal, reply);
        Assert.Equal("ERR EXEC without MULTI", client.Run("EXEC"));
        Assert.Equal("nil", client.Run("GET k"));
    }

    [Theory]
    [InlineData("SET k v", "min-replicas-to-write 1", "NOREPLICAS Not enough good replicas to write.")]
    [InlineData("GET k;INCR k", "min-replicas-to-write 1", "NOREPLICAS Not enough good replicas to write.")]
    [InlineData("GET k", "min-replicas-to-write 1", null)]
    [InlineData("SET k v", "maxmemory 1", "OOM command not allowed when used memory > 'maxmemory'.")]
    [InlineData("GET k;SET k v", "maxmemory 1", "OOM command not allowed when used memory > 'maxmemory'.")]
    [InlineData("GET k;DEL k", "maxmemory 1", null)]
    public async Task ExecIsRefusedIfOneOfItsCommandsWouldBeRefused(string queued, string setting, string? refusal)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), admin = server.Connect();
        client.Run("MULTI");
        foreach (string command in queued.Split(';')) Assert.Equal("QUEUED", client.Run(command));
        Assert.Equal("OK", admin.Run("CONFIG SET " + setting));
        string reply = client.Run("EXEC");
        if (refusal is null) Assert.StartsWith("[", reply, StringComparison.Ordinal);
        else Assert.Equal("EXECABORT Transaction discarded because of: " + refusal, reply);
        Assert.Equal("nil", client.Run("GET k"));
    }

    /// <summary>
    /// Commands of every length, with any number of arguments, are queued and read unchanged. No memory remains at the end.
    /// </summary>
    [Fact]
    public void QueuedCommandsAreReadUnchanged()
    {
        var random = Seed.Random(output);
        var commands = new CommandTable(CommandFamilies.All);
        var transaction = new Transaction(commands);
        var queued = new List<(CommandRow Row, string[] Arguments, int Wire)>();
        for (int i = 0; i < 2000; i++)
        {
            CommandRow row = commands.All[random.Next(commands.All.Length)];
            int count = random.Next(1, random.Next(10) == 0 ? 100 : 5);
            string[] arguments =
            [
                .. Enumerable.Range(0, count).Select(_ => new string((char)random.Next('a', 'z'), random.Next(Most(random)))),
            ];
            queued.Add((row, arguments, random.Next()));
            var slices = new List<ArgSlice>();
            foreach (string argument in arguments) slices.Add(new ArgSlice(slices.Count == 0 ? 0 : slices[^1].Offset + slices[^1].Length, argument.Length));
            transaction.Add(row, new Request(Encoding.Latin1.GetBytes(string.Concat(arguments)), slices.ToArray(), queued[^1].Wire), row.Flags, hash: 0);
        }
        Assert.Equal(queued.Count, transaction.Count);
        int at = 0;
        foreach (Transaction.Queued command in transaction)
        {
            Assert.Same(queued[at].Row, command.Row);
            Assert.Equal(queued[at].Wire, command.Request.WireLength);
            var arguments = new string[command.Request.Count];
            for (int i = 0; i < arguments.Length; i++) arguments[i] = Encoding.Latin1.GetString(command.Request[i]);
            Assert.Equal(queued[at++].Arguments, arguments);
        }
        Assert.Equal(queued.Count, at);
        // Half of the last block may be unused, because block sizes are powers of two.
        Assert.InRange(
            transaction.HeldBytes,
            queued.Sum(command => command.Arguments.Sum(a => (long)a.Length)),
            3 * queued.Sum(command => command.Arguments.Sum(a => 8L + a.Length) + 16));
        transaction.Release();
        Assert.Equal(0, transaction.HeldBytes);

        static int Most(Random random) => random.Next(100) == 0 ? 100_000 : random.Next(4) == 0 ? 1 : 200;
    }

    /// <summary>Pages that the system has taken back read as zero. The test queues more bytes than any pool keeps.</summary>
    [Theory]
    [InlineData("DISCARD")]
    [InlineData("RESET")]
    [InlineData("EXEC")]
    [InlineData("CLIENT KILL")]
    public async Task TheMemoryOfATransactionIsReturnedAtItsEnd(string end)
    {
        const int commands = 8, length = 2 << 20;
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), other = server.Connect();
        string id = client.Run("CLIENT ID");
        client.Run("MULTI");
        for (int i = 0; i < commands; i++) Assert.Equal("QUEUED", client.Call("SET", "k", new string('v', length)));
        Transaction transaction = server.Core.Sessions.Unordered.Single(session => session.Transaction is not null).Transaction!;
        ReadOnlyMemory<byte>[] blocks = [.. transaction.Blocks];
        Assert.All(blocks, block => Assert.Equal((byte)'v', block.Span[length / 2]));
        if (end == "CLIENT KILL") Assert.Equal("1", other.Run($"CLIENT KILL ID {id}"));
        else client.Run(end);
        await other.UntilAsync("PING", _ => transaction.HeldBytes == 0);
        if (OperatingSystem.IsLinux()) Assert.All(blocks, block => Assert.Equal(0, block.Span[length / 2]));
    }

    /// <summary>The thread of the event loop serves other clients, so it does not write megabytes of replies at once.</summary>
    [Theory]
    [InlineData(1000, true)]
    [InlineData(1 << 20, false)]
    public async Task ATransactionThatReadsMuchRunsOnAWorker(int length, bool onLoop)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Call("SET", "k", new string('v', length));
        var sink = new UnitSink();
        server.Core.Effects.Attach(sink);
        foreach (string line in new[] { "MULTI", "GET k", "INCR n" }) client.Run(line);
        Assert.Equal($"[{new string('v', length)} 1]", client.Run("EXEC"));
        Assert.Single(sink.Units);
        Assert.Equal(onLoop, sink.Threads.Single()?.StartsWith("loop-", StringComparison.Ordinal) ?? false);
    }

    [Fact]
    public async Task ATransactionIsOneUnitOfEffects()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        var sink = new UnitSink();
        server.Core.Effects.Attach(sink);
        string[] lines =
        [
            "MULTI", "SET a 1", "SELECT 3", "RPUSH l x y", "SELECT 0", "INCR l", "INCR a",
            "EVAL return{redis.call('set','b',1),redis.call('del','a')} 0",
        ];
        foreach (string line in lines)
            client.Run(line);
        Assert.StartsWith("[OK OK 2 OK 1 2 ", client.Run("EXEC"), StringComparison.Ordinal);
        string unit = Assert.Single(sink.Units);
        Assert.StartsWith("*1\r\n$5\r\nMULTI\r\n", unit, StringComparison.Ordinal);
        Assert.EndsWith("*1\r\n$4\r\nEXEC\r\n", unit, StringComparison.Ordinal);
        foreach (string part in new[] { "RPUSH", "select\r\n$1\r\n3", "INCR", "set", "del" }) Assert.Contains(part, unit, StringComparison.Ordinal);

        // Transactions that only read and aborted transactions have no effects.
        foreach (string line in new[] { "MULTI", "GET b", "EXEC", "MULTI", "SET c 1", "DISCARD", "WATCH b", "SET b 2", "MULTI", "SET c 1" }) client.Run(line);
        Assert.Equal("nil", client.Run("EXEC"));
        Assert.Equal(2, sink.Units.Count);
    }

    /// <summary>The length of one SCAN step depends on the database in which the transaction begins.</summary>
    [Fact]
    public async Task ATransactionCanScanAnotherDatabase()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Run("DEBUG POPULATE 1000");
        client.Run("SELECT 1");
        client.Run("MSET a 1 b 2 c 3 d 4 e 5 f 6");
        var found = new SortedSet<string>(StringComparer.Ordinal);
        string cursor = "0";
        do
        {
            foreach (string line in new[] { "SELECT 0", "MULTI", "SELECT 1", $"SCAN {cursor}" }) client.Run(line);
            string text = client.Run("EXEC").Replace("[", "", StringComparison.Ordinal).Replace("]", "", StringComparison.Ordinal);
            string[] reply = text.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            cursor = reply[1];
            found.UnionWith(reply[2..]);
        }
        while (cursor != "0");
        Assert.Equal(["a", "b", "c", "d", "e", "f"], found);
    }

    [Fact]
    public async Task AWatchedKeyThatExpiresOrIsEvictedHasChanged()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, c => c.MaxMemoryPolicy = MaxMemoryPolicy.AllKeysLru);
        using TestClient client = server.Connect(), other = server.Connect();
        foreach (bool removed in new[] { true, false })
        {
            // The first round detects the expiry by a command of another client, the second round by EXEC.
            client.Run($"DEBUG SET-ACTIVE-EXPIRE {(removed ? 1 : 0)}");
            int milliseconds = WatchVolatile(client);
            if (removed) await other.UntilAsync("EXISTS k", answer => answer == "0");
            else await Task.Delay(milliseconds + 50);
            client.Run("MULTI");
            client.Run("SET done 1");
            Assert.Equal("nil", client.Run("EXEC"));
        }
        client.Run("SET k v");
        client.Run("WATCH k");
        other.Run("CONFIG SET maxmemory 1");
        await other.UntilAsync("EXISTS k", answer => answer == "0");
        other.Run("CONFIG SET maxmemory 0");
        client.Run("MULTI");
        client.Run("SET done 1");
        Assert.Equal("nil", client.Run("EXEC"));
        Assert.Equal("0", client.Run("EXISTS done"));

        // A key that had expired before WATCH did not exist for the client, so its removal is not a change.
        client.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        client.Run("SET k v PX 1");
        await Task.Delay(30);
        client.Run("WATCH k");
        Assert.Equal("0", other.Run("EXISTS k"));
        client.Run("MULTI");
        client.Run("SET done 1");
        Assert.Equal("[OK]", client.Run("EXEC"));
    }

    /// <summary>
    /// A key is created for a blocked client and expires before the end of the transaction that creates it. It is removed
    /// directly after the transaction.
    /// </summary>
    [Fact]
    public async Task AKeyThatExpiresBeforeABlockedClientGetsItIsRemovedAtOnce()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), blocked = server.Connect();
        var sink = new UnitSink();
        server.Core.Effects.Attach(sink);
        client.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        blocked.Send("BLPOP", "k", "0");
        await client.UntilAsync("INFO clients", answer => answer.Contains("blocked_clients:1", StringComparison.Ordinal));
        client.Run("MULTI");
        foreach (string line in new[] { "RPUSH k v", "PEXPIRE k 1", "DEBUG SLEEP 0.02" }) client.Run(line);
        Assert.Equal("[1 1 OK]", client.Run("EXEC"));
        lock (sink.Units)
        {
            Assert.Equal(2, sink.Units.Count);
            Assert.Contains("RPUSH", sink.Units[0], StringComparison.Ordinal);
            Assert.Equal("*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n", sink.Units[1]);
        }
        client.Run("RPUSH k w");
        Assert.Equal("[k w]", blocked.Read());
    }

    /// <summary>
    /// A client waits for streams in several shards. It is unblocked when one of its keys expires, although the thread that
    /// detects the expiry holds only the shard of this key.
    /// </summary>
    [Fact]
    public async Task ABlockedReaderOfSeveralStreamsIsUnblockedWhenOneExpires()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), blocked = server.Connect();
        string[] keys = [.. Enumerable.Range(0, 8).Select(i => $"s{i}")];
        foreach (string key in keys) client.Run($"XGROUP CREATE {key} g $ MKSTREAM");
        blocked.Send(["XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", .. keys, .. keys.Select(_ => ">")]);
        await client.UntilAsync("INFO clients", answer => answer.Contains("blocked_clients:1", StringComparison.Ordinal));
        client.Run("PEXPIRE s5 1");
        Assert.StartsWith("NOGROUP", blocked.Read());
        Assert.Equal("PONG", client.Run("PING"));
    }

    /// <summary>The commands of one batch may take seconds together. Each has the time at which it runs.</summary>
    [Fact]
    public async Task ALongTransactionDoesNotDelayTheClockOfTheNextCommand()
    {
        const string work = "local e = os.clock() + 0.3 while os.clock() < e do end";
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        string[][] commands = [["MULTI"], ["EVAL", work, "1", "k"], ["EXEC"], ["TIME"], ["SET", "k", "v", "PX", "1000"], ["PEXPIRETIME", "k"]];
        client.SendRaw(string.Concat(commands.Select(TestClient.Encode)));
        string[] replies = [.. commands.Select(_ => client.Read())];
        string[] time = replies[3].Trim('[', ']').Split(' ');
        long before = (long.Parse(time[0], CultureInfo.InvariantCulture) * 1000) + (long.Parse(time[1], CultureInfo.InvariantCulture) / 1000);
        Assert.InRange(long.Parse(replies[5], CultureInfo.InvariantCulture), before + 1000 - 1, long.MaxValue);
    }

    [Fact]
    public async Task AMonitorDoesNotBeginInATransaction()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.Auto);
        using TestClient client = server.Connect(), control = server.Connect();
        Assert.Equal("OK", client.Run("MULTI"));
        Assert.Equal("QUEUED", client.Run("MONITOR"));
        Assert.Contains("ERR MONITOR isn't allowed for DENY BLOCKING client", client.Run("EXEC"), StringComparison.Ordinal);
        Assert.DoesNotContain(" flags=O ", control.Run("CLIENT LIST"), StringComparison.Ordinal);
        Assert.Equal("PONG", client.Run("PING"));
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task AMonitorSeesEveryCommandInTheOrderOfItsClient(TransportKind transport)
    {
        const int writers = 3, commands = 500;
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient monitor = server.Connect(), control = server.Connect();
        monitor.Run("MONITOR");
        Assert.Contains(" flags=O ", control.Run("CLIENT LIST"), StringComparison.Ordinal);
        Task[] all = [.. Enumerable.Range(0, writers).Select(w => Task.Run(() =>
        {
            using TestClient writer = server.Connect();
            for (int i = 0; i < commands; i++) writer.Call("SET", $"w{w}", $"{i}");
        }))];
        int[] next = new int[writers];
        while (next.Sum() < writers * commands)
        {
            string[] words = monitor.Read().Split(' ');
            if (words[3] != "\"SET\"") continue;
            int writer = words[4][2] - '0';
            Assert.Equal($"\"{next[writer]++}\"", words[5]);
        }
        await Task.WhenAll(all);
        Assert.Equal("RESET", monitor.Run("RESET"));
        Assert.DoesNotContain(" flags=O ", control.Run("CLIENT LIST"), StringComparison.Ordinal);
    }

    /// <summary>
    /// Watches a key that exists and expires soon, and returns its lifetime in milliseconds. A slow machine needs a longer
    /// lifetime.
    /// </summary>
    private static int WatchVolatile(TestClient client)
    {
        for (int milliseconds = 100; ; milliseconds *= 2)
        {
            client.Run("UNWATCH");
            client.Run($"SET k v PX {milliseconds}");
            client.Run("WATCH k");
            if (client.Run("EXISTS k") == "1") return milliseconds;
        }
    }

    /// <summary>Stores every unit as text.</summary>
    private sealed class UnitSink : IEffectSink
    {
        public List<string> Units { get; } = [];

        /// <summary>The names of the threads that appended the units.</summary>
        public List<string?> Threads { get; } = [];

        public long Append(EffectBuffer unit)
        {
            lock (Units) Units.Add(Encoding.Latin1.GetString(unit.Unit));
            lock (Threads) Threads.Add(Thread.CurrentThread.Name);
            return 0;
        }
    }
}
