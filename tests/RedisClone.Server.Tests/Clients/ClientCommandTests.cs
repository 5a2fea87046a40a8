using RedisClone.Configuration;
using RedisClone.Server.Tests.Embedding;

namespace RedisClone.Server.Tests.Clients;

/// <summary>Connection commands: HELLO, names, lists, kills, pauses and suppressed replies, on both transports.</summary>
public sealed class ClientCommandTests
{
    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task HelloReportsVersionAndIdAndSwitchesTheProtocol(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect();
        string id = client.Run("CLIENT ID");
        Assert.Equal($"[server redis version {ServerVersion.Redis} proto 2 id {id} mode standalone role master modules []]", client.Run("HELLO"));
        Assert.Equal(
            $"{{server redis version {ServerVersion.Redis} proto 3 id {id} mode standalone role master modules []}}",
            client.Run("HELLO 3 SETNAME me"));
        Assert.Equal("me", client.Run("CLIENT GETNAME"));
        Assert.Equal("NOPROTO unsupported protocol version", client.Run("HELLO 4"));
        Assert.Equal("ERR Protocol version is not an integer or out of range", client.Run("HELLO x"));
        Assert.Equal("ERR Syntax error in HELLO option 'what'", client.Run("HELLO 2 what"));
        Assert.Equal("ERR Client names cannot contain spaces, newlines or special characters.", client.Call("HELLO", "2", "SETNAME", "a b"));
        Assert.Equal("RESET", client.Run("RESET"));
        Assert.Equal("nil", client.Run("CLIENT GETNAME"));
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task ClientListShowsTheStateOfAClient(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect(), other = server.Connect();
        other.Run("CLIENT SETNAME other");
        other.Run("CLIENT SETINFO lib-name lib");
        other.Run("SELECT 3");
        other.Run("WATCH a b");
        other.Run("MULTI");
        other.Run("GET a");
        // A reply counts as unsent until the send call of its thread has returned.
        await client.UntilAsync("CLIENT LIST", list => LineOfOther(list).Contains(" obl=0 oll=0 omem=0 ", StringComparison.Ordinal));
        string line = LineOfOther(client.Run("CLIENT LIST"));
        foreach (string field in new[] { " name=other ", " flags=x ", " db=3 ", " multi=1 ", " watch=2 ", " cmd=get ", " lib-name=lib ", " resp=2 " })
            Assert.Contains(field, line);
        Assert.Matches(@"^id=\d+ addr=127\.0\.0\.1:\d+ laddr=127\.0\.0\.1:\d+ fd=\d+ name=", line);
        Assert.Contains(" qbuf=26 ", client.Run("CLIENT LIST").Split('\n').Single(l => l.Contains(" cmd=client|list ", StringComparison.Ordinal)));
        Assert.Equal(client.Run("CLIENT INFO").Split(' ')[0], $"id={client.Run("CLIENT ID")}");
        Assert.Equal("ERR Unknown client type 'x'", client.Run("CLIENT LIST TYPE x"));
        Assert.Equal("ERR Invalid client ID", client.Run("CLIENT LIST ID x"));
        Assert.Equal("", client.Run("CLIENT LIST ID 999999"));

        static string LineOfOther(string list) => list.Split('\n').Single(l => l.Contains(" name=other ", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task KillClosesTheMatchingClientsAndDoesNotCountThemAnyMore(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect(), blocked = server.Connect(), watching = server.Connect(), subscribed = server.Connect();
        long id = long.Parse(blocked.Run("CLIENT ID"), System.Globalization.CultureInfo.InvariantCulture);
        blocked.Send("BLPOP", "nothing", "0");
        watching.Run("WATCH k");
        subscribed.Run("SUBSCRIBE c");
        await client.UntilAsync("INFO clients", text => text.Contains("blocked_clients:1\r\n") && text.Contains("total_watched_keys:1\r\n"));
        Assert.Equal("1", client.Run($"CLIENT KILL ID {id}"));
        Assert.Equal("1", client.Run("CLIENT KILL TYPE pubsub"));
        Assert.Contains("connected_clients:2\r\n", client.Run("INFO clients"));
        Assert.Equal("1", client.Run("CLIENT KILL SKIPME yes"));
        Assert.Equal("", blocked.ReadToEnd());
        Assert.Equal("", watching.ReadToEnd());
        await client.UntilAsync("INFO clients", text => text.Contains("blocked_clients:0\r\n") && text.Contains("total_watched_keys:0\r\n"));
        Assert.Equal("0", client.Run("CLIENT KILL MAXAGE 1000"));
        Assert.Equal("ERR No such client", client.Run("CLIENT KILL 1.2.3.4:5"));
        Assert.Equal("ERR client-id should be greater than 0", client.Run("CLIENT KILL ID 0"));
        Assert.Equal("ERR maxage should be greater than 0", client.Run("CLIENT KILL MAXAGE 0"));
        Assert.Equal("ERR No such user 'nobody'", client.Run("CLIENT KILL USER nobody"));
        // A client that kills itself still gets the reply.
        Assert.Equal("1", client.Run("CLIENT KILL SKIPME no"));
        Assert.Equal("", client.ReadToEnd());
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task APauseDelaysWritesAndAllowsReads(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect(), writer = server.Connect();
        Assert.Equal("OK", client.Run("CLIENT PAUSE 100000 WRITE"));
        writer.SendRaw(TestClient.Encode("GET", "k") + TestClient.Encode("SET", "k", "v") + TestClient.Encode("GET", "k"));
        Assert.Equal("nil", writer.Read());
        await client.UntilAsync("INFO clients", text => text.Contains("blocked_clients:1\r\n"));
        Assert.Contains(" flags=b ", client.Run("CLIENT LIST"));
        Assert.Equal("nil", client.Run("GET k"));
        client.Run("MULTI");
        client.Call("EVAL", "#!lua flags=no-writes\nreturn 12", "0");
        Assert.Equal("[12]", client.Run("EXEC"));
        Assert.Equal("OK", client.Run("CLIENT UNPAUSE"));
        Assert.Equal("OK", writer.Read());
        Assert.Equal("v", writer.Read());
        Assert.Contains("blocked_clients:0\r\n", client.Run("INFO clients"));
        Assert.Equal("ERR timeout is negative", client.Run("CLIENT PAUSE -1"));
        Assert.Equal("ERR CLIENT PAUSE mode must be WRITE or ALL", client.Run("CLIENT PAUSE 1 SOME"));
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task APausedClientCanBeKilledAndAPauseEndsByItself(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect(), writer = server.Connect(), late = server.Connect();
        string id = writer.Run("CLIENT ID");
        client.Run("CLIENT PAUSE 100000 WRITE");
        writer.Send("SET", "k", "v");
        await client.UntilAsync("INFO clients", text => text.Contains("blocked_clients:1\r\n"));
        Assert.Equal("1", client.Run($"CLIENT KILL ID {id}"));
        Assert.Equal("", writer.ReadToEnd());
        await client.UntilAsync("INFO clients", text => text.Contains("blocked_clients:0\r\n"));
        client.Run("CLIENT UNPAUSE");
        Assert.Equal("nil", client.Run("GET k"));
        client.Run("CLIENT PAUSE 50");
        Assert.Equal("OK", late.Run("SET k w"));
    }

    /// <summary>The error that closes the connection is a reply like that of a command: it may be the one to skip, or the one after it.</summary>
    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task AProtocolErrorIsTheReplyThatIsSkipped(TransportKind transport)
    {
        const string malformed = "*1\r\n$x\r\n", error = "-ERR Protocol error: invalid bulk length\r\n";
        await using RunningServer server = await RunningServer.StartAsync(transport);
        string skip = TestClient.Encode("CLIENT", "REPLY", "SKIP"), off = TestClient.Encode("CLIENT", "REPLY", "OFF"), ping = TestClient.Encode("PING");
        Assert.Equal("", Replies(skip + malformed));
        Assert.Equal(error, Replies(skip + ping + malformed));
        Assert.Equal(error, Replies(skip + TestClient.Encode("CLIENT", "REPLY", "x") + malformed));
        Assert.Equal("+PONG\r\n" + error, Replies(skip + ping + ping + malformed));
        Assert.Equal("", Replies(off + ping + malformed));

        string Replies(string requests)
        {
            using TestClient client = server.Connect();
            client.SendRaw(requests);
            return client.ReadToEnd();
        }
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task MessagesArriveWhileRepliesAreTurnedOff(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect(), publisher = server.Connect();
        client.SendRaw(TestClient.Encode("CLIENT", "REPLY", "SKIP") + TestClient.Encode("PING", "1") + TestClient.Encode("PING", "2"));
        Assert.Equal("2", client.Read());
        // As in Redis, RESET ends CLIENT REPLY SKIP or OFF, but SKIP still suppresses the reply to RESET.
        client.SendRaw(TestClient.Encode("CLIENT", "REPLY", "SKIP") + TestClient.Encode("RESET") + TestClient.Encode("PING", "reset"));
        Assert.Equal("reset", client.Read());
        client.SendRaw(TestClient.Encode("CLIENT", "REPLY", "OFF") + TestClient.Encode("RESET"));
        Assert.Equal("RESET", client.Read());
        client.SendRaw(TestClient.Encode("CLIENT", "REPLY", "OFF") + TestClient.Encode("PING", "3") + TestClient.Encode("MULTI") +
            TestClient.Encode("SET", "k", "v") + TestClient.Encode("EXEC") + TestClient.Encode("SUBSCRIBE", "c"));
        await publisher.UntilAsync("PUBLISH c hi", receivers => receivers == "1");
        Assert.Equal("[subscribe c 1]", client.Read());
        Assert.Equal("[message c hi]", client.Read());
        Assert.Equal("v", publisher.Run("GET k"));
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task ClientUnblockUnblocksABlockedClient(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect(), blocked = server.Connect();
        string id = blocked.Run("CLIENT ID");
        blocked.Send("BLPOP", "k", "0");
        await client.UntilAsync($"CLIENT UNBLOCK {id}", answer => answer == "1");
        Assert.Equal("nil", blocked.Read());
        blocked.Send("WAIT", "1", "0");
        await client.UntilAsync($"CLIENT UNBLOCK {id} TIMEOUT", answer => answer == "1");
        Assert.Equal("0", blocked.Read());
        blocked.Send("BLPOP", "k", "0");
        await client.UntilAsync($"CLIENT UNBLOCK {id} ERROR", answer => answer == "1");
        Assert.Equal("UNBLOCKED client unblocked via CLIENT UNBLOCK", blocked.Read());
        Assert.Equal("0", client.Run($"CLIENT UNBLOCK {id}"));
        Assert.Equal("0", client.Run("WAIT 1 10"));
    }

    [Fact]
    public async Task AServedWaitLeavesNoDeadlineForTheNextWait()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), blocked = server.Connect();
        client.Run("XGROUP CREATE s g 0 MKSTREAM");
        client.Run("XADD s 1-1 a 1");
        client.Run("XREADGROUP GROUP g first STREAMS s >");
        blocked.Send("XREADGROUP", "GROUP", "g", "second", "BLOCK", "500", "CLAIM", "100", "STREAMS", "s", ">");
        blocked.Read();
        await Task.Delay(500);
        blocked.Send("BLPOP", "k", "0");
        await client.UntilAsync("INFO clients", text => text.Contains("blocked_clients:1\r\n"));
        client.Run("RPUSH k v");
        Assert.Equal("[k v]", blocked.Read());
    }
}
