using System.Net.Sockets;
using RedisClone.Server.Tests.Embedding;

namespace RedisClone.Server.Tests.Clients;

/// <summary>Admission and refusal of clients, and the limits of their memory, on both transports.</summary>
public sealed class AdmissionTests
{
    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task RequestsWithoutThePasswordAreRefusedAndLimitedInSize(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport, config => config.RequirePass = "secret");
        using (TestClient client = server.Connect())
        {
            Assert.Equal("NOAUTH Authentication required.", client.Run("GET k"));
            Assert.StartsWith("NOAUTH HELLO must be called with the client already authenticated", client.Run("HELLO 3"));
            Assert.Equal("WRONGPASS invalid username-password pair or user is disabled.", client.Run("AUTH wrong"));
            Assert.Equal("WRONGPASS invalid username-password pair or user is disabled.", client.Run("AUTH nobody secret"));
            // The limits after AUTH apply to the rest of the same packet.
            client.SendRaw(TestClient.Encode("AUTH", "secret") + TestClient.Encode("SET", "k", new string('x', 20000)) + TestClient.Encode("GET", "k"));
            Assert.Equal("OK", client.Read());
            Assert.Equal("OK", client.Read());
            Assert.Equal(20000, client.Read().Length);
        }
        foreach ((string sent, string error) in new[]
        {
            ("*100\r\n", "ERR Protocol error: unauthenticated multibulk length"), ("*1\r\n$100000000\r\n", "ERR Protocol error: unauthenticated bulk length"),
        })
        {
            using TestClient client = server.Connect();
            client.SendRaw(sent);
            Assert.Equal(error, client.Read());
            Assert.Equal("", client.ReadToEnd());
        }
        using TestClient greeting = server.Connect();
        Assert.StartsWith("{server redis", greeting.Run("HELLO 3 AUTH default secret"));
    }

    /// <summary>
    /// A client that has not authenticated is closed when it leaves replies unread. With the other transport, the server reads no further
    /// requests instead.
    /// </summary>
    [Fact]
    public async Task AStrangerLeavesFewRepliesUnread()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, config => config.RequirePass = "secret");
        using TestClient client = server.Connect(), stranger = server.Connect();
        Assert.Equal("OK", client.Run("AUTH secret"));
        string requests = string.Concat(Enumerable.Repeat("x\r\n", 20_000));
        Assert.Throws<SocketException>(() =>
        {
            for (int i = 0; i < 1000; i++) stranger.SendRaw(requests);
        });
        await client.UntilAsync("INFO clients", info => info.Contains("connected_clients:1\r", StringComparison.Ordinal));
        Assert.Contains("client_output_buffer_limit_disconnections:1\r", client.Run("INFO stats"), StringComparison.Ordinal);
    }

    /// <summary>A client that ends its requests and does not read its replies stays in the list of clients, and can be killed.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task AClientThatLeavesItsLastRepliesUnreadStaysVisible(bool quits)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect(), leaving = server.Connect();
        Assert.Equal("OK", client.Call("SET", "big", new string('x', 1 << 20)));
        string last = quits ? TestClient.Encode("QUIT") : TestClient.Encode("ECHO", "end");
        leaving.SendRaw(string.Concat(Enumerable.Repeat(TestClient.Encode("GET", "big"), 14)) + last);
        if (!quits) leaving.Socket.Shutdown(SocketShutdown.Send);
        await client.UntilAsync("CLIENT LIST", list => list.Contains(quits ? "cmd=quit" : "cmd=echo", StringComparison.Ordinal));
        for (int i = 0; i < 10; i++)
        {
            await Task.Delay(10);
            Assert.Contains("connected_clients:2\r", client.Run("INFO clients"), StringComparison.Ordinal);
        }
        Assert.Equal("1", client.Run("CLIENT KILL TYPE normal"));
        await client.UntilAsync("INFO clients", info => info.Contains("connected_clients:1\r", StringComparison.Ordinal));
    }

    [Fact]
    public async Task WithoutRequirepassTheDefaultUserAcceptsAnyPassword()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.StartsWith("ERR AUTH <password> called without any password configured", client.Run("AUTH x"));
        Assert.Equal("OK", client.Run("AUTH default x"));
        Assert.Equal("OK", client.Run("CONFIG SET requirepass p"));
        Assert.Equal("PONG", client.Run("PING"));
        using TestClient next = server.Connect();
        Assert.Equal("NOAUTH Authentication required.", next.Run("PING"));
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task AConnectionAboveMaxclientsGetsAnErrorAndIsClosed(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport, config => config.MaxClients = 2);
        using TestClient first = server.Connect();
        first.Run("PING");
        using (TestClient second = server.Connect())
        {
            second.Run("PING");
            using TestClient third = server.Connect();
            Assert.Equal("-ERR max number of clients reached\r\n", third.ReadToEnd());
        }
        await first.UntilAsync("INFO clients", text => text.Contains("connected_clients:1\r\n"));
        Assert.Contains("rejected_connections:1\r\n", first.Run("INFO stats"));
    }

    /// <summary>A client that has closed its connection may connect again, although the server has not seen the end of the old one yet.</summary>
    [Fact]
    public async Task AConnectionWaitsForTheRoomOfOneThatEnds()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, config => config.MaxClients = 20);
        for (int round = 0; round < 20; round++)
        {
            TestClient[] clients = [.. Enumerable.Range(0, 20).Select(_ => server.Connect())];
            foreach (TestClient client in clients) Assert.Equal("PONG", client.Run("PING"));
            foreach (TestClient client in clients) client.Dispose();
        }
        using TestClient last = server.Connect();
        Assert.Contains("rejected_connections:0\r\n", last.Run("INFO stats"));
    }

    [Fact]
    public async Task ErrorsQuoteTheBytesOfTheRequestUnchanged()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal(
            "ERR unknown command '\u00ff\u00fe', with args beginning with: '\u00e9' '\u00c3\u00a9' ",
            client.Call("\u00ff\u00fe", "\u00e9", "\u00c3\u00a9"));
        Assert.Equal("ERR unknown subcommand '\u00ff'. Try CONFIG HELP.", client.Call("CONFIG", "\u00ff", "x"));
        Assert.Equal("ERR Unknown client type '\u00fe\u00ff'", client.Call("CLIENT", "KILL", "TYPE", "\u00fe\u00ff"));
        Assert.Equal("ERR Unsupported option \u00ff", client.Call("EXPIRE", "k", "1", "\u00ff\0x"));
        Assert.Equal("ERR Unknown option or number of arguments for CONFIG SET - '\u00c3\u00a9'", client.Call("CONFIG", "SET", "\u00c3\u00a9", "1"));
        Assert.Equal("\u00ff \u00c3\u00a9", client.Call("EVAL", "return redis.error_reply(ARGV[1])", "0", "\u00ff \u00c3\u00a9"));
        Assert.Equal("ERR Error loading the extension. Please check the server logs.", client.Run("MODULE LOAD m"));
        Assert.Equal("ERR this server has no script debugger", client.Run("SCRIPT DEBUG YES"));
        Assert.Equal("OK", client.Run("SCRIPT DEBUG NO"));
    }

    [Theory]
    [InlineData("POST / HTTP/1.1\r\nHost: localhost\r\n\r\nSET k v\r\n")]
    [InlineData("host: x\r\nSET k v\r\n")]
    public async Task AnHttpRequestIsClosedBeforeItsBodyIsRead(string request)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using (TestClient browser = server.Connect())
        {
            browser.SendWhatIsTaken(request);
            Assert.Equal("", browser.ReadToEnd());
        }
        using TestClient client = server.Connect();
        Assert.Equal("nil", client.Run("GET k"));
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task AClientThatDoesNotReadHasTheLimitOfItsClass(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect(), slow = server.Connect(), subscriber = server.Connect();
        client.Call("SET", "big", new string('x', 100_000));
        Assert.Equal("OK", client.Call("CONFIG", "SET", "client-output-buffer-limit", "normal 1000000 0 0 pubsub 1000000 0 0"));
        slow.SendWhatIsTaken(string.Concat(Enumerable.Repeat(TestClient.Encode("GET", "big"), 400)));
        subscriber.Run("SUBSCRIBE c");
        for (int i = 0; i < 200; i++) client.Call("PUBLISH", "c", new string('m', 100_000));
        // On the event loop, replies accumulate for a client that does not read, until the output limit closes it.
        int gone = transport == TransportKind.EventLoop ? 2 : 1;
        await client.UntilAsync("INFO clients", text => text.Contains($"connected_clients:{3 - gone}\r\n"));
        Assert.Contains($"client_output_buffer_limit_disconnections:{gone}\r\n", client.Run("INFO stats"));
        if (gone == 2) return;
        // On the other transport, replies wait for the client and commands wait for the replies. Nothing accumulates and nothing
        // is lost.
        string largest = client.Run("INFO clients").Split("client_recent_max_output_buffer:")[1].Split('\r')[0];
        long waiting = long.Parse(largest, System.Globalization.CultureInfo.InvariantCulture);
        Assert.InRange(waiting, 1, 1_000_000);
        for (int i = 0; i < 400; i++) Assert.Equal(100_000, slow.Read().Length);
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task NoPartOfAReplyAboveTheLimitIsSent(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect();
        client.Call("SET", "big", new string('x', 200_000));
        client.Call("CONFIG", "SET", "client-output-buffer-limit", "normal 100000 0 0");
        client.Send("GET", "big");
        Assert.Equal("", client.ReadToEnd());
        using TestClient next = server.Connect();
        Assert.Equal("200000", next.Run("STRLEN big"));
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task AQueryAboveItsLimitClosesTheConnection(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport, config => config.ClientQueryBufferLimit = 1 << 20);
        using TestClient client = server.Connect(), greedy = server.Connect();
        greedy.SendWhatIsTaken($"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${1 << 21}\r\n" + new string('x', 1 << 21));
        Assert.Equal("", greedy.ReadToEnd());
        await client.UntilAsync("INFO stats", text => text.Contains("client_query_buffer_limit_disconnections:1\r\n"));
        Assert.Equal("nil", client.Run("GET k"));
    }

    [Fact]
    public async Task TheUnixSocketHasTheConfiguredPermissions()
    {
        string path = Path.Combine(Directory.CreateTempSubdirectory("redisclone-socket-").FullName, "s");
        foreach (TransportKind transport in new[] { TransportKind.EventLoop, TransportKind.Sockets })
        {
            await using RunningServer server = await RunningServer.StartAsync(transport, config =>
            {
                config.UnixSocket = path;
                config.UnixSocketPerm = 0x1C0; // 0700
            });
            const UnixFileMode mode = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;
            if (!OperatingSystem.IsWindows()) Assert.Equal(mode, File.GetUnixFileMode(path));
            using var client = new TestClient(new UnixDomainSocketEndPoint(path));
            Assert.Contains($" flags=U ", client.Run("CLIENT INFO"));
            Assert.StartsWith($"id=", client.Run("CLIENT INFO"));
            Assert.Contains($"addr={path}:0 laddr={path}:0 ", client.Run("CLIENT INFO"));
        }
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task ThePortChangesWhileClientsStayConnected(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect();
        int port = Ports.Free();
        Assert.Equal("OK", client.Run($"CONFIG SET port {port}"));
        Assert.Equal("PONG", client.Run("PING"));
        using (TestClient moved = server.Connect(port)) Assert.Equal("PONG", moved.Run("PING"));
        Assert.Throws<SocketException>(() => server.Connect());

        using var taken = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        taken.Bind(new System.Net.IPEndPoint(System.Net.IPAddress.Loopback, 0));
        taken.Listen();
        int takenPort = ((System.Net.IPEndPoint)taken.LocalEndPoint!).Port;
        Assert.Equal(
            "ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. Check server logs.",
            client.Run($"CONFIG SET port {takenPort}"));
        Assert.Equal($"[port {port}]", client.Run("CONFIG GET port"));
        Assert.Equal(
            "ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified addresses.",
            client.Run("CONFIG SET bind 999.999.999.999"));
        Assert.Equal("OK", client.Call("CONFIG", "SET", "bind", ""));
        Assert.Throws<SocketException>(() => server.Connect(port));
        Assert.Equal("OK", client.Call("CONFIG", "SET", "bind", "127.0.0.1 -::1"));
        using (TestClient back = server.Connect(port)) Assert.Equal("PONG", back.Run("PING"));
    }
}
