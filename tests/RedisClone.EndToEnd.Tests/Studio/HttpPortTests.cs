using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using RedisClone.EndToEnd.Tests.Support;
using RedisClone.EndToEnd.Tests.Tls;

namespace RedisClone.EndToEnd.Tests.Studio;

/// <summary>The HTTP port of a server process: TLS, and clients that hold connections without a request.</summary>
public sealed class HttpPortTests
{
    [Fact]
    public async Task TlsUsesTheCertificatesOfTheServer()
    {
        using var authority = new TestAuthority();
        (string certificate, string key) = authority.Issue("server");
        int http = Ports.Free();
        using ServerProcess server = ServerProcess.Ours(
            "--http-port", $"{http}", "--http-tls", "yes", "--tls-cert-file", certificate, "--tls-key-file", key, "--requirepass", "secret");
        string before = await CertificateAsync(authority, http);
        await Assert.ThrowsAsync<HttpRequestException>(() => AskAsync(authority, $"http://localhost:{http}/studio/"));
        using var other = new TestAuthority();
        await Assert.ThrowsAsync<HttpRequestException>(() => AskAsync(other, $"https://localhost:{http}/studio/"));
        // A new certificate takes effect without a restart.
        authority.Issue("server");
        using RespClient client = server.Connect();
        client.Expect("+OK", "AUTH", "secret");
        client.Expect("+OK", "CONFIG", "SET", "tls-cert-file", certificate);
        Assert.NotEqual(before, await CertificateAsync(authority, http));
    }

    [Fact]
    public async Task AThousandIdleSocketsDoNoHarm()
    {
        int http = Ports.Free();
        using ServerProcess server = ServerProcess.Ours("--http-port", $"{http}");
        using RespClient client = server.Connect();
        using (var crowd = new Crowd())
        {
            for (int i = 0; i < 1000; i++)
            {
                await BeginAsync(crowd.Add(), http, request: i % 3 == 1 ? "GET /studio/ HTTP/1.1\r\nHost: loc" : "");
                if (i % 100 == 0) client.Expect("+PONG", "PING");
            }
            client.Expect("+PONG", "PING");
            Assert.InRange(server.ResidentBytes, 1, 500 << 20);
            // The server closes all of them by itself.
            foreach (Socket socket in crowd.Sockets.Where(static socket => socket.Connected)) await AssertClosedAsync(socket);
        }
        using var browser = new HttpClient();
        Assert.Contains("RedisClone Studio", await browser.GetStringAsync($"http://127.0.0.1:{http}/studio/"), StringComparison.Ordinal);
        server.AssertWell();
    }

    /// <summary>A health check is answered although other clients keep all connections and use them.</summary>
    [Fact]
    public async Task ClientsThatKeepAllConnectionsDoNotLockOutOthers()
    {
        const int places = 32;
        int metrics = Ports.Free();
        using ServerProcess server = ServerProcess.Ours("--metrics-port", $"{metrics}");
        using (var crowd = new Crowd())
        {
            for (int i = 0; i < places; i++)
            {
                Socket socket = crowd.Add();
                await BeginAsync(socket, metrics, "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
                Assert.NotEqual(0, await socket.ReceiveAsync(new byte[4096]));
            }
            for (int i = 0; i < places; i++)
            {
                using var probe = new HttpClient();
                Assert.Equal("alive\n", await probe.GetStringAsync($"http://127.0.0.1:{metrics}/health/live"));
            }
        }
        server.AssertWell();
    }

    /// <summary>A sign-in whose body does not arrive keeps no other client from the port.</summary>
    [Fact]
    public async Task IncompleteBodiesDoNotLockOutOthers()
    {
        const int places = 64;
        int http = Ports.Free();
        using ServerProcess server = ServerProcess.Ours("--http-port", $"{http}");
        using (var crowd = new Crowd())
        {
            for (int i = 0; i < 2 * places; i++)
            {
                await BeginAsync(crowd.Add(), http, $"POST /studio/api/session HTTP/1.1\r\nHost: localhost:{http}\r\n"
                    + "Content-Type: application/json\r\nContent-Length: 15000\r\n\r\n{");
            }
            using var browser = new HttpClient();
            Assert.Contains("RedisClone Studio", await browser.GetStringAsync($"http://127.0.0.1:{http}/studio/"), StringComparison.Ordinal);
        }
        server.AssertWell();
    }

    /// <summary>Clients that ask much and read nothing keep no health check from the port.</summary>
    [Fact]
    public async Task ClientsThatDoNotReadDoNotLockOutOthers()
    {
        const int places = 32;
        int metrics = Ports.Free();
        using ServerProcess server = ServerProcess.Ours("--metrics-port", $"{metrics}");
        using (var crowd = new Crowd())
        {
            string requests = string.Concat(Enumerable.Repeat("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 200));
            for (int i = 0; i < places; i++)
            {
                await BeginAsync(crowd.Add(receiveBufferBytes: 1024), metrics, requests);
            }
            await Task.Delay(TimeSpan.FromSeconds(1));
            for (int i = 0; i < places; i++)
            {
                using var probe = new HttpClient();
                Assert.Equal("alive\n", await probe.GetStringAsync($"http://127.0.0.1:{metrics}/health/live"));
            }
        }
        server.AssertWell();
    }

    /// <summary>Clients that guess passwords wait for each other, and keep no other client from the port.</summary>
    [Fact]
    public async Task WrongPasswordsDoNotLockOutOthers()
    {
        const int guessers = 100;
        const string body = "{\"user\":\"ann\",\"password\":\"wrong\"}";
        int http = Ports.Free();
        using ServerProcess server = ServerProcess.Ours("--http-port", $"{http}", "--user", "ann", "on", ">secret", "+@all");
        using (var crowd = new Crowd())
        {
            for (int i = 0; i < guessers; i++)
            {
                await BeginAsync(crowd.Add(), http, $"POST /studio/api/session HTTP/1.1\r\nHost: localhost:{http}\r\n"
                    + $"Content-Type: application/json\r\nContent-Length: {body.Length}\r\n\r\n{body}");
            }
            using var browser = new HttpClient();
            Assert.Contains("RedisClone Studio", await browser.GetStringAsync($"http://127.0.0.1:{http}/studio/"), StringComparison.Ordinal);
        }
        server.AssertWell();
    }

    /// <summary>Without a password, the studio opens while a script runs for too long.</summary>
    [Fact]
    public async Task ABusyServerOpensTheStudio()
    {
        int http = Ports.Free();
        using ServerProcess server = ServerProcess.Ours("--http-port", $"{http}", "--busy-reply-threshold", "50");
        using RespClient busy = server.Connect(), client = server.Connect();
        busy.Send("EVAL", "while true do end", "0");
        Replication.FollowingTests.Until(() => client.Call("PING").IsError, "the script does not run", server);
        using var browser = new HttpClient();
        using var body = new StringContent("{}", Encoding.UTF8, "application/json");
        using HttpResponseMessage answer = await browser.PostAsync(new Uri($"http://127.0.0.1:{http}/studio/api/session"), body);
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        client.Expect("+OK", "SCRIPT", "KILL");
        Replication.FollowingTests.Until(() => !client.Call("PING").IsError, "the script does not end", server);
        server.AssertWell();
    }

    /// <summary>A name that is no valid international name is refused like any other name.</summary>
    [Theory]
    [InlineData("xn--")]
    [InlineData("xn--\u00ff:80")]
    [InlineData("[::1")]
    [InlineData("a:b:c")]
    public async Task AnInvalidHostIsRefused(string name)
    {
        int http = Ports.Free();
        using ServerProcess server = ServerProcess.Ours("--http-port", $"{http}");
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await BeginAsync(socket, http, $"GET /studio/ HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
        byte[] answer = new byte[4096];
        int read = await socket.ReceiveAsync(answer);
        Assert.Matches("^HTTP/1.1 40[03] ", Encoding.ASCII.GetString(answer, 0, read));
        server.AssertWell();
    }

    private static async Task BeginAsync(Socket socket, int port, string request)
    {
        try
        {
            await socket.ConnectAsync(IPAddress.Loopback, port);
            if (request.Length > 0) await socket.SendAsync(Encoding.ASCII.GetBytes(request));
        }
        catch (SocketException)
        {
            // The server has closed the connection, because there are too many.
        }
    }

    private static async Task AssertClosedAsync(Socket socket)
    {
        using var patience = new CancellationTokenSource(TimeSpan.FromSeconds(60));
        byte[] buffer = new byte[4096];
        try
        {
            while (await socket.ReceiveAsync(buffer, patience.Token) > 0)
            {
                // The answer to a request that did not end in time.
            }
        }
        catch (SocketException)
        {
            // The connection was reset.
        }
    }

    private static async Task<string> CertificateAsync(TestAuthority authority, int port)
    {
        (HttpStatusCode status, string thumbprint) = await AskAsync(authority, $"https://localhost:{port}/studio/");
        Assert.Equal(HttpStatusCode.OK, status);
        return thumbprint;
    }

    private static async Task<(HttpStatusCode Status, string Thumbprint)> AskAsync(TestAuthority authority, string url)
    {
        string thumbprint = "";
        using var handler = new SocketsHttpHandler();
        handler.SslOptions.CertificateChainPolicy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck,
        };
        handler.SslOptions.CertificateChainPolicy.CustomTrustStore.ImportFromPemFile(authority.File);
        handler.PlaintextStreamFilter = (context, _) =>
        {
            if (context.PlaintextStream is SslStream { RemoteCertificate: { } certificate }) thumbprint = certificate.GetCertHashString();
            return ValueTask.FromResult(context.PlaintextStream);
        };
        using var http = new HttpClient(handler);
        using HttpResponseMessage response = await http.GetAsync(url);
        return (response.StatusCode, thumbprint);
    }

    /// <summary>Sockets that a test holds open together.</summary>
    private sealed class Crowd : IDisposable
    {
        private readonly List<Socket> _sockets = [];

        public IReadOnlyList<Socket> Sockets => _sockets;

        public Socket Add(int? receiveBufferBytes = null)
        {
            var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
            if (receiveBufferBytes is { } bytes) socket.ReceiveBufferSize = bytes;
            _sockets.Add(socket);
            return socket;
        }

        public void Dispose()
        {
            foreach (Socket socket in _sockets) socket.Dispose();
        }
    }
}
