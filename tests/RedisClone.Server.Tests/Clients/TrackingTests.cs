using System.Globalization;
using RedisClone.Configuration;
using RedisClone.Server.Tests.Embedding;

namespace RedisClone.Server.Tests.Clients;

/// <summary>
/// Clients that cache get an invalidation for every change of the keys that they have read, after the reply that contains the
/// value.
/// </summary>
public sealed class TrackingTests
{
    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task AReaderGetsOneInvalidationForEachKindOfChange(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient cache = server.Connect(), writer = server.Connect();
        cache.Run("HELLO 3");
        cache.Run("CLIENT TRACKING ON");
        string[][] changes =
        [
            ["SET", "k", "2"], ["DEL", "k"], ["RENAME", "other", "k"], ["EVAL", "return redis.call('incr', 'k')", "0"],
            ["PEXPIRE", "k", "100000"], ["LPUSH", "k", "x"],
            ["PEXPIREAT", "k", "1"], ["MOVE", "k", "1"],
        ];
        foreach (string[] change in changes)
        {
            writer.Run("FLUSHALL");
            Assert.Equal("[invalidate nil]", cache.Read());
            writer.Run("SET other 5");
            if (change[0] is not ("LPUSH" or "RENAME")) writer.Run("SET k 1");
            cache.Run("GET k");
            cache.Run("EXISTS k other");
            string answer = writer.Call(change);
            Assert.DoesNotContain("ERR", answer, StringComparison.Ordinal);
            HashSet<string> wanted = change[0] == "RENAME" ? ["[invalidate [other]]", "[invalidate [k]]"] : ["[invalidate [k]]"];
            while (wanted.Count > 0) Assert.True(wanted.Remove(cache.Read()), string.Join(' ', change));
            writer.Run("SET k 3");
            Assert.Equal("PONG", cache.Run("PING"));
        }
    }

    /// <summary>A read that waited in vain has read that there is nothing. The client may keep that until an entry arrives.</summary>
    [Fact]
    public async Task AReadThatTimesOutIsTracked()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient cache = server.Connect(), writer = server.Connect();
        cache.Run("HELLO 3");
        cache.Run("CLIENT TRACKING ON");
        Assert.Equal("nil", cache.Run("XREAD BLOCK 1 STREAMS s $"));
        writer.Run("XADD s * field value");
        Assert.Equal("[invalidate [s]]", cache.Read());
    }

    /// <summary>
    /// A client sends a request after the reply to another client's write. The invalidation arrives before the reply to this
    /// request, although different threads serve the two clients.
    /// </summary>
    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task InvalidationsOfEarlierWritesArriveBeforeTheNextReply(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient cache = server.Connect(), writer = server.Connect();
        cache.Run("HELLO 3");
        cache.Run("CLIENT TRACKING ON");
        for (int i = 0; i < 500; i++)
        {
            cache.Run("GET k");
            writer.Run($"SET k {i}");
            Assert.Equal("[invalidate [k]]", cache.Run("PING"));
            Assert.Equal("PONG", cache.Read());
        }
    }

    [Fact]
    public async Task ExpiryAndEvictionSendInvalidations()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, c => c.MaxMemoryPolicy = MaxMemoryPolicy.AllKeysLru);
        using TestClient cache = server.Connect();
        cache.Run("HELLO 3");
        cache.Run("CLIENT TRACKING ON NOLOOP");
        // No time passes in a transaction, so the key exists when it is read, even on a slow machine.
        foreach (string line in new[] { "MULTI", "SET k v PX 100", "GET k" }) cache.Run(line);
        Assert.Equal("[OK v]", cache.Run("EXEC"));
        Assert.Equal("[invalidate [k]]", cache.Read());
        cache.Run("SET e v");
        cache.Run("GET e");
        using TestClient other = server.Connect();
        other.Run("CONFIG SET maxmemory 1");
        Assert.Equal("[invalidate [e]]", cache.Read());
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task OwnChangesAreReportedAfterTheReplyAndAfterTheTransaction(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect();
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKING ON");
        client.Run("MSET a 1 b 2");
        client.Run("MGET a b");
        client.SendRaw(TestClient.Encode("INCR", "a") + TestClient.Encode("MULTI") + TestClient.Encode("GET", "a") + TestClient.Encode("SET", "b", "3")
            + TestClient.Encode("FLUSHDB") + TestClient.Encode("GET", "b") + TestClient.Encode("EXEC"));
        string[] wanted =
        [
            "2", "[invalidate [a]]", "OK", "QUEUED", "QUEUED", "QUEUED", "QUEUED", "[2 OK OK nil]", "[invalidate [b]]", "[invalidate nil]",
        ];
        Assert.Equal(wanted, wanted.Select(_ => client.Read()));
        client.Run("CLIENT TRACKING ON NOLOOP");
        client.Run("GET a");
        client.Run("SET a 9");
        client.Run("EVAL return{redis.call('get','a'),redis.call('set','a',1)} 0");
        Assert.Equal("PONG", client.Run("PING"));
    }

    [Fact]
    public async Task Resp2ClientsCanRedirectInvalidationsToASecondConnection()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), listener = server.Connect(), writer = server.Connect();
        string id = listener.Run("CLIENT ID");
        listener.Run("SUBSCRIBE __redis__:invalidate");
        Assert.Equal("ERR The client ID you want redirect to does not exist", client.Run("CLIENT TRACKING ON REDIRECT 12345"));
        Assert.Equal("OK", client.Run($"CLIENT TRACKING ON REDIRECT {id}"));
        Assert.Equal(id, client.Run("CLIENT GETREDIR"));
        client.Run("GET k");
        writer.Run("SET k v");
        Assert.Equal("[message __redis__:invalidate [k]]", listener.Read());
        client.Run("GET k");
        writer.Run("FLUSHDB");
        Assert.Equal("[message __redis__:invalidate nil]", listener.Read());
        Assert.Contains($" flags=t ", client.Run("CLIENT INFO"), StringComparison.Ordinal);
        Assert.Contains($" redir={id} ", client.Run("CLIENT INFO"), StringComparison.Ordinal);

        client.Run("HELLO 3");
        client.Run("GET k");
        listener.Dispose();
        await writer.UntilAsync("CLIENT LIST", list => !list.Contains($"id={id} ", StringComparison.Ordinal));
        writer.Run("SET k v");
        Assert.Equal($"[tracking-redir-broken {id}]", client.Read());
        Assert.Contains("broken_redirect", client.Run("CLIENT TRACKINGINFO"), StringComparison.Ordinal);
        Assert.Contains($" flags=tR ", client.Run("CLIENT INFO"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task BroadcastSendsOneMessagePerUnitByPrefixWithoutOwnChanges()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient a = server.Connect(), ab = server.Connect(), writer = server.Connect();
        a.Run("HELLO 3");
        ab.Run("HELLO 3");
        a.Run("CLIENT TRACKING ON BCAST PREFIX a: NOLOOP");
        ab.Run("CLIENT TRACKING ON BCAST PREFIX a: PREFIX b:");
        Assert.Equal(
            "ERR Prefix 'a:x' overlaps with an existing prefix 'a:'. Prefixes for a single client must not overlap.",
            ab.Run("CLIENT TRACKING ON BCAST PREFIX a:x"));
        Assert.Contains("tracking_total_prefixes:2", writer.Run("INFO stats"), StringComparison.Ordinal);
        writer.Run("MSET a:1 x a:2 x c:1 x b:1 x");
        Assert.Equal("a:1 a:2", KeysOf(a.Read()));
        string[] both = [KeysOf(ab.Read()), KeysOf(ab.Read())];
        Assert.Equal(["a:1 a:2", "b:1"], both.Order(StringComparer.Ordinal));
        a.Run("SET a:3 y");
        Assert.Equal("a:3", KeysOf(ab.Read()));
        Assert.Equal("PONG", a.Run("PING"));
        ab.Run("CLIENT TRACKING OFF");
        a.Dispose();
        await writer.UntilAsync("INFO stats", info => info.Contains("tracking_total_prefixes:0", StringComparison.Ordinal));
        Assert.Contains("tracking_clients:0", writer.Run("INFO clients"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task OptInAndOptOutApplyToTheNextCommandOrTransaction()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), writer = server.Connect();
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKING ON OPTIN");
        Assert.Equal("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.", client.Run("CLIENT CACHING NO"));
        string[] lines = ["GET a", "CLIENT CACHING YES", "CLIENT ID", "GET b", "GET c", "CLIENT CACHING YES", "NOSUCH", "GET d"];
        foreach (string line in lines) client.Run(line);
        foreach (string line in new[] { "CLIENT CACHING YES", "MULTI", "GET e", "GET f", "EXEC", "GET g" }) client.Run(line);
        Assert.Equal(["b", "e", "f"], Invalidated());
        client.Run("CLIENT TRACKING OFF");
        client.Run("CLIENT TRACKING ON OPTOUT");
        foreach (string line in new[] { "GET a", "CLIENT CACHING NO", "GET b", "GET c" }) client.Run(line);
        Assert.Equal(["a", "c"], Invalidated());

        List<string> Invalidated()
        {
            foreach (char key in "abcdefg") writer.Run($"SET {key} {key}");
            writer.Run("FLUSHALL");
            var keys = new List<string>();
            for (string news = client.Read(); news != "[invalidate nil]"; news = client.Read()) keys.Add(KeysOf(news));
            return keys;
        }
    }

    /// <summary>The command after CLIENT CACHING may be refused when it already holds its shard, as a redirected one in a cluster is.</summary>
    [Fact]
    public async Task ARefusedCommandUsesUpTheChoice()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), writer = server.Connect();
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKING ON OPTIN");
        writer.Run("CONFIG SET maxmemory 1");
        client.Run("CLIENT CACHING YES");
        Assert.StartsWith("OOM ", client.Run("SET a 1"), StringComparison.Ordinal);
        client.Run("GET b");
        writer.Run("CONFIG SET maxmemory 0");
        writer.Run("SET b 1");
        writer.Run("FLUSHALL");
        Assert.Equal("[invalidate nil]", client.Read());
    }

    /// <summary>A command that blocks and is not served uses the choice up too.</summary>
    [Theory]
    [InlineData("BLPOP none 0.01")]
    [InlineData("XREAD BLOCK 10 STREAMS none $")]
    [InlineData("WAIT 1 10")]
    public async Task ATimeoutUsesUpTheChoice(string blocking)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), writer = server.Connect();
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKING ON OPTOUT");
        client.Run("CLIENT CACHING NO");
        client.Run(blocking);
        client.Run("GET b");
        writer.Run("SET b 1");
        Assert.Equal("[invalidate [b]]", client.Read());
    }

    [Fact]
    public async Task AClientLearnsWhatItsScriptChangesInItsPrefixes()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKING ON BCAST NOLOOP");
        client.Run("SET own 1");
        client.Send("EVAL", "return redis.call('SET', KEYS[1], '2')", "1", "script");
        string[] both = [client.Read(), client.Read()];
        Assert.Equal(["OK", "[invalidate [script]]"], both.Order(StringComparer.Ordinal));
    }

    /// <summary>
    /// A client that hears of a change, from an event, a message or the reply to another client, may read its cache next. The invalidation
    /// comes first, as in Redis. In broadcast mode it comes after the messages.
    /// </summary>
    [Theory]
    [InlineData("", "[invalidate [k]]", "[pmessage * __keyspace@0__:k set]", "[pmessage * ch x]")]
    [InlineData(" BCAST", "[pmessage * __keyspace@0__:k set]", "[pmessage * ch x]", "[invalidate [k list]]")]
    public async Task AnInvalidationIsNotLate(string mode, params string[] expected)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), waiting = server.Connect(), writer = server.Connect();
        writer.Run("CONFIG SET notify-keyspace-events K$");
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKING ON" + mode);
        client.Run("GET k");
        client.Run("PSUBSCRIBE *");
        waiting.Send("BLPOP", "list", "0");
        Assert.True(SpinWait.SpinUntil(() => server.Core.Blocked.Count == 1, TimeSpan.FromSeconds(60)));
        writer.Run("MULTI");
        writer.Run("SET k v");
        writer.Run("PUBLISH ch x");
        writer.Run("RPUSH list x");
        writer.Run("EXEC");
        Assert.Equal("[list x]", waiting.Read());
        string[] messages = [client.Read(), client.Read(), client.Read()];
        Assert.Equal(expected, messages);
    }

    [Fact]
    public async Task PrefixesOfAnyLengthAndNumberAreFound()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient all = server.Connect(), two = server.Connect(), many = server.Connect(), writer = server.Connect();
        foreach (TestClient client in new[] { all, two, many }) client.Run("HELLO 3");
        all.Run("CLIENT TRACKING ON BCAST");
        two.Run("CLIENT TRACKING ON BCAST PREFIX a PREFIX bb:");
        many.Run("CLIENT TRACKING ON BCAST " + string.Join(' ', Enumerable.Range(0, 1000).Select(static i => $"PREFIX p{i}:")));
        writer.Run("MULTI");
        foreach (string key in new[] { "a", "a1", "b", "bb:x", "p77:y", "p7", "p7:y" }) writer.Run($"SET {key} v");
        writer.Run("EXEC");
        Assert.Equal("[invalidate [a a1 b bb:x p77:y p7 p7:y]]", all.Read());
        Assert.Equal(["[invalidate [a a1]]", "[invalidate [bb:x]]"], [two.Read(), two.Read()]);
        Assert.Equal(["[invalidate [p77:y]]", "[invalidate [p7:y]]"], [many.Read(), many.Read()]);
        many.Run("CLIENT TRACKING OFF");
        Assert.Equal(3, server.Core.Invalidations.PrefixCount);
    }

    /// <summary>Data that is loaded again may differ from what clients keep. The table of the old data goes with it.</summary>
    [Fact]
    public async Task AReloadInvalidatesEverything()
    {
        string folder = Directory.CreateTempSubdirectory("redisclone-tracking-").FullName;
        await using (RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, c => c.Dir = folder))
        {
            using TestClient client = server.Connect(), admin = server.Connect();
            admin.Run("SET a 1");
            client.Run("HELLO 3");
            client.Run("CLIENT TRACKING ON");
            client.Run("GET a");
            client.Run("WATCH a");
            Assert.Equal("OK", admin.Run("DEBUG RELOAD"));
            Assert.Equal("[invalidate nil]", client.Read());
            client.Run("MULTI");
            Assert.Equal("nil", client.Run("EXEC"));
            for (int i = 0; i < server.Core.Shards.Count; i++) Assert.Null(server.Core.Shards[i].Keys.Readers);
        }
        Directory.Delete(folder, recursive: true);
    }

    [Fact]
    public async Task TheTableIsBoundedAndIsFreedWithTheLastClient()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, c => c.TrackingTableMaxKeys = 100);
        using TestClient client = server.Connect(), watcher = server.Connect();
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKING ON");
        var cached = new HashSet<string>();
        for (int i = 0; i < 300; i++) client.Send("GET", $"k{i}");
        for (int replies = 0; replies < 300;)
        {
            string text = client.Read();
            if (text != "nil") cached.Add(KeysOf(text));
            else replies++;
        }
        while (cached.Count < 200) cached.Add(KeysOf(client.Read()));
        Assert.Contains("tracking_total_keys:100\r\ntracking_total_items:100\r\n", watcher.Run("INFO stats"), StringComparison.Ordinal);
        watcher.Run("CONFIG SET tracking-table-max-keys 10");
        while (cached.Count < 290) cached.Add(KeysOf(client.Read()));
        client.Dispose();
        await watcher.UntilAsync("INFO stats", info => info.Contains("tracking_total_keys:0\r\ntracking_total_items:0\r\n", StringComparison.Ordinal));
    }

    [Fact]
    public async Task FormerReadersDoNotAccumulateAtAKeyThatNeverChanges()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient stays = server.Connect();
        stays.Run("CLIENT TRACKING ON");
        for (int i = 0; i < 200; i++)
        {
            using TestClient passing = server.Connect();
            passing.Run("CLIENT TRACKING ON");
            passing.Run("GET hot");
            passing.Run("CLIENT TRACKING OFF");
        }
        long items = server.Core.Invalidations.Items;
        Assert.True(items < 50, items.ToString(CultureInfo.InvariantCulture));
    }

    [Fact]
    public async Task NoInvalidationIsLostDuringConcurrentReadsAndWrites()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        const int keys = 20, writes = 3000;
        Task[] writers = [.. Enumerable.Range(0, 2).Select(w => Task.Run(() =>
        {
            using TestClient writer = server.Connect();
            for (int i = 0; i < writes; i++) writer.Run($"INCR k{(i * 7 + w) % keys}");
        }))];
        using TestClient reader = server.Connect();
        reader.Run("HELLO 3");
        reader.Run("CLIENT TRACKING ON");
        // The cache of a client that processes replies and invalidations in the order in which they arrive.
        var cache = new Dictionary<string, string>();
        void Note(string news) => cache.Remove(KeysOf(news));
        while (!Task.WhenAll(writers).IsCompleted)
        {
            for (int i = 0; i < keys; i++)
            {
                string key = $"k{i}";
                if (cache.ContainsKey(key)) continue;
                reader.Send("GET", key);
                string text;
                while ((text = reader.Read()).StartsWith("[invalidate", StringComparison.Ordinal)) Note(text);
                cache[key] = text;
            }
        }
        await Task.WhenAll(writers);
        reader.Send("ECHO", "end");
        for (string text = reader.Read(); text != "end"; text = reader.Read()) Note(text);
        using TestClient check = server.Connect();
        foreach ((string key, string value) in cache) Assert.Equal(check.Run($"GET {key}"), value);
    }

    private static string KeysOf(string news)
    {
        Assert.StartsWith("[invalidate [", news, StringComparison.Ordinal);
        return string.Join(' ', news["[invalidate [".Length..^2].Split(' ').Order(StringComparer.Ordinal));
    }
}
