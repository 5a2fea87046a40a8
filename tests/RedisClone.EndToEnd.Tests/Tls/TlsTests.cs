using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Text;
using RedisClone.EndToEnd.Tests.Hostile;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Tls;

/// <summary>
/// TLS on its own port: the clients that it accepts, the clients that it refuses, and the same server behind it.
/// </summary>
public sealed class TlsTests : IDisposable
{
    private readonly TestAuthority _authority = new();
    private readonly (string Certificate, string Key) _files;
    private readonly int _port = Ports.Free();

    public TlsTests() => _files = _authority.Issue("server");

    public void Dispose() => _authority.Dispose();

    [Fact]
    public void RedisCliConnectsThroughTls()
    {
        using ServerProcess server = Start("--tls-auth-clients", "no");
        Assert.Equal("PONG", RedisCli("--cacert", _authority.File, "PING"));
        Assert.Equal("OK", RedisCli("--cacert", _authority.File, "SET", "k", new string('x', 100_000)));
        using RespClient plain = server.Connect();
        plain.Expect(":100000", "STRLEN", "k");
        Assert.Equal(100_000, RedisCli("--cacert", _authority.File, "GET", "k").Length);
        using var other = new TestAuthority();
        Assert.Contains("certificate verify failed", RedisCli("--cacert", other.File, "PING"), StringComparison.OrdinalIgnoreCase);
        server.AssertWell();
    }

    [Fact]
    public void ClientsMustShowACertificateIfTheConfigurationRequiresIt()
    {
        using ServerProcess server = Start();
        (string Certificate, string Key) good = _authority.Issue("alice");
        using var others = new TestAuthority();
        using (var client = new TlsClient(_port, good)) Assert.Equal("+PONG", client.Call("PING"));
        Assert.True(IsRefused(certificate: null));
        Assert.True(IsRefused(others.Issue("mallory")));
        using RespClient plain = server.Connect();
        plain.Expect("+OK", "CONFIG", "SET", "tls-auth-clients", "optional");
        using (var client = new TlsClient(_port)) Assert.Equal("+PONG", client.Call("PING"));
        using (var client = new TlsClient(_port, good)) Assert.Equal("+PONG", client.Call("PING"));
        Assert.True(IsRefused(others.Issue("mallory")));
        server.AssertWell();
    }

    [Fact]
    public void ACertificateCanNameTheUser()
    {
        using ServerProcess server = Start("--tls-auth-clients-user", "cn", "--requirepass", "secret");
        using (RespClient admin = server.Connect())
        {
            admin.Expect("+OK", "AUTH", "secret");
            admin.Expect("+OK", "ACL", "SETUSER", "alice", "on", "+acl|whoami", "+ping");
        }
        using var alice = new TlsClient(_port, _authority.Issue("alice"));
        Assert.Equal("$5", alice.Call("ACL WHOAMI"));
        Assert.Equal("alice", alice.Read());
        Assert.StartsWith("-NOPERM", alice.Call("GET k"));
        using var bob = new TlsClient(_port, _authority.Issue("bob"));
        Assert.StartsWith("-NOAUTH", bob.Call("PING"));
    }

    [Fact]
    public void NewConnectionsUseNewCertificateFiles()
    {
        using ServerProcess server = Start("--tls-auth-clients", "no");
        using var before = new TlsClient(_port);
        _authority.Issue("server");
        using RespClient plain = server.Connect();
        plain.Expect("+OK", "CONFIG", "SET", "tls-cert-file", _files.Certificate);
        using var after = new TlsClient(_port);
        Assert.NotEqual(before.ServerSerial, after.ServerSerial);
        Assert.Equal("+PONG", before.Call("PING"));
        Assert.Equal("+PONG", after.Call("PING"));
        // Unreadable files do not replace the current certificate.
        File.WriteAllText(_files.Key, "nonsense");
        plain.Expect(
            $"-ERR CONFIG SET failed (possibly related to argument 'tls-key-file') - Unable to update TLS configuration. Check server logs.",
            "CONFIG", "SET", "tls-key-file", _files.Key);
        bool isReported = SpinWait.SpinUntil(
            () => server.Output.Contains($"Failed to load private key: {_files.Key}: ", StringComparison.Ordinal),
            TimeSpan.FromMinutes(5));
        Assert.True(isReported, server.Output);
        using var still = new TlsClient(_port);
        Assert.Equal(after.ServerSerial, still.ServerSerial);
    }

    [Fact]
    public void TlsVersionsAndCipherSuitesAreConfigurable()
    {
        using ServerProcess server = Start("--tls-auth-clients", "no", "--tls-protocols", "TLSv1.3", "--tls-ciphersuites", "TLS_AES_256_GCM_SHA384");
        using (var client = new TlsClient(_port)) Assert.Equal(SslProtocols.Tls13, client.Protocol);
        Assert.ThrowsAny<Exception>(() => new TlsClient(_port, protocols: SslProtocols.Tls12));
        using RespClient plain = server.Connect();
        plain.Expect("+OK", "CONFIG", "SET", "tls-protocols", "TLSv1.2");
        using (var client = new TlsClient(_port)) Assert.Equal(SslProtocols.Tls12, client.Protocol);
        foreach ((string name, string value) in new[]
        {
            ("tls-protocols", "SSLv3"), ("tls-ciphersuites", "5000"), ("tls-ciphersuites", "TLS_NO_SUITE"), ("tls-ca-cert-file", _files.Key),
        })
        {
            Assert.StartsWith("-ERR CONFIG SET failed", plain.Call("CONFIG", "SET", name, value).ToString());
        }
        using (var client = new TlsClient(_port)) Assert.Equal("+PONG", client.Call("PING"));
    }

    /// <summary>A client that is not authenticated cannot fill the log.</summary>
    [Fact]
    public void AMalformedHandshakeLeavesNoLineInTheLog()
    {
        using ServerProcess server = Start("--tls-auth-clients", "no");
        for (int i = 0; i < 3; i++)
        {
            using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { ReceiveTimeout = 60_000 };
            socket.Connect(IPAddress.Loopback, _port);
            socket.Send([0x16, 3, 1, 0x40, 0, .. Enumerable.Repeat((byte)'A', 16384)]);
            try
            {
                while (socket.Receive(new byte[1024]) > 0) { }
            }
            catch (SocketException)
            {
                // The server has reset the connection.
            }
        }
        using var client = new TlsClient(_port);
        Assert.Equal("+PONG", client.Call("PING"));
        Assert.DoesNotContain("Unhandled", server.Output, StringComparison.Ordinal);
        server.AssertWell();
    }

    [Fact]
    public void ThePortCanBeOpenedAndClosedAndAKeyMayHaveAPassphrase()
    {
        (string certificate, string key) = _authority.Issue("locked", "open sesame");
        using ServerProcess server = ServerProcess.Ours("--tls-cert-file", certificate, "--tls-key-file", key, "--tls-auth-clients", "no");
        using RespClient plain = server.Connect();
        Assert.StartsWith("-ERR CONFIG SET failed", plain.Call("CONFIG", "SET", "tls-port", $"{_port}").ToString());
        plain.Expect("+OK", "CONFIG", "SET", "tls-key-file-pass", "open sesame", "tls-port", $"{_port}");
        using var client = new TlsClient(_port);
        Assert.Equal("+PONG", client.Call("PING"));
        plain.Expect("+OK", "CONFIG", "SET", "tls-port", "0");
        Assert.Equal("+PONG", client.Call("PING"));
        Assert.ThrowsAny<SocketException>(() => new TlsClient(_port));
    }

    [Fact]
    public void MessagesAndBlockedCommandsWorkThroughTls()
    {
        using ServerProcess server = Start("--tls-auth-clients", "no");
        using TlsClient listener = new(_port), waiting = new(_port);
        using RespClient plain = server.Connect();
        listener.Send("HELLO 3");
        listener.Send("SUBSCRIBE news");
        while (listener.Read() is { } line && line != "subscribe") { }
        Assert.Equal("$4", listener.Read());
        Assert.Equal("news", listener.Read());
        Assert.Equal(":1", listener.Read());
        for (int i = 0; i < 1000; i++)
        {
            plain.Expect(":1", "PUBLISH", "news", $"{i}");
            // A request may arrive while the server sends a message.
            if (i % 10 == 0) listener.Send("PING");
        }
        int messages = 0, pongs = 0;
        while (messages < 1000 || pongs < 100)
        {
            string? line = listener.Read();
            Assert.NotNull(line);
            if (line == "message") messages++;
            if (line == "+PONG") pongs++;
        }
        waiting.Send("BLPOP list 0");
        while (!plain.Call("INFO", "clients").Text!.Contains("blocked_clients:1\r\n", StringComparison.Ordinal)) Thread.Sleep(10);
        plain.Expect(":1", "LPUSH", "list", "x");
        Assert.Equal("*2", waiting.Read());
        server.AssertWell();
    }

    [Fact]
    public void InvalidHandshakesDoNotAffectOtherClients()
    {
        using ServerProcess server = Start("--tls-auth-clients", "no");
        using (var plain = new RespClient(_port))
        {
            plain.SendRaw("*1\r\n$4\r\nPING\r\n");
            Assert.DoesNotContain("PONG", plain.ReadToClose());
        }
        // Many clients begin a handshake and do not continue it. The server keeps as many as its limit allows. A newer one takes the place
        // of the oldest, and a timeout ends all of them.
        var stalled = new List<Socket>();
        for (int i = 0; i < 600; i++)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            try
            {
                socket.Connect(IPAddress.Loopback, _port);
                socket.Send(Encoding.Latin1.GetBytes("\u0016\u0003\u0001"));
                stalled.Add(socket);
            }
            catch (SocketException)
            {
                // The server closed this connection before the client sent a byte.
                socket.Dispose();
            }
        }
        using RespClient other = server.Connect();
        other.Expect("+PONG", "PING");
        using (var client = new TlsClient(_port)) Assert.Equal("+PONG", client.Call("PING"));
        foreach (Socket socket in stalled)
        {
            socket.ReceiveTimeout = 60_000;
            Assert.True(IsClosed(socket));
            socket.Dispose();
        }
        using (var client = new TlsClient(_port)) Assert.Equal("+PONG", client.Call("PING"));
        server.AssertWell();
    }

    [Fact]
    public void AClientThatDoesNotReadCanBeKilled()
    {
        using ServerProcess server = Start("--tls-auth-clients", "no");
        using RespClient plain = server.Connect();
        plain.Expect("+OK", "SET", "big", new string('x', 1_000_000));
        using var client = new TlsClient(_port);
        client.Send("CLIENT SETNAME slow\r\n" + string.Concat(Enumerable.Repeat("GET big\r\n", 50)));
        string line;
        do
        {
            line = plain.Call("CLIENT", "LIST").Text!.Split('\n').FirstOrDefault(l => l.Contains(" name=slow ", StringComparison.Ordinal)) ?? "";
        }
        while (!line.Contains(" cmd=get ", StringComparison.Ordinal));
        plain.Expect(":1", "CLIENT", "KILL", "ID", line[3..line.IndexOf(' ', StringComparison.Ordinal)]);
        Assert.DoesNotContain("name=slow", plain.Call("CLIENT", "LIST").Text!);
        server.AssertWell();
    }

    [Fact]
    public void EventLoopsServeTlsClientsInOrder()
    {
        const int Clients = 8, Rounds = 100, Depth = 10;
        using ServerProcess server = Start("--tls-auth-clients", "no", "--io-threads", "2", "--appendonly", "yes", "--appendfsync", "always");
        Parallel.For(0, Clients, new ParallelOptions { MaxDegreeOfParallelism = Clients }, number =>
        {
            using var client = new TlsClient(_port);
            for (int round = 0; round < Rounds; round++)
            {
                string value = new((char)('a' + number), 1 + round * 97 % 5000);
                client.Send(string.Join("\r\n", Enumerable.Range(0, Depth).Select(i => $"SET k{number}:{i} {value}{i}\r\nGET k{number}:{i}")));
                for (int i = 0; i < Depth; i++)
                {
                    Assert.Equal("+OK", client.Read());
                    Assert.Equal($"${value.Length + 1}", client.Read());
                    Assert.Equal($"{value}{i}", client.Read());
                }
            }
        });
        using var last = new TlsClient(_port);
        using RespClient plain = server.Connect();
        Assert.Equal("+OK", last.Call("CLIENT SETNAME last"));
        string line = plain.Call("CLIENT", "LIST").Text!.Split('\n').Single(l => l.Contains(" name=last ", StringComparison.Ordinal));
        Assert.DoesNotContain(" fd=-1 ", line);
        server.AssertWell();
    }

    [Fact]
    public void ASubscriberThatDoesNotReadIsDisconnected()
    {
        using ServerProcess server = Start("--tls-auth-clients", "no", "--client-output-buffer-limit", "pubsub 4mb 0 0");
        using RespClient plain = server.Connect();
        using var client = new TlsClient(_port);
        Assert.Equal("+OK", client.Call("CLIENT SETNAME slow"));
        client.Send("SUBSCRIBE news");
        while (client.Read() != ":1") { }
        string message = new('x', 100_000);
        for (int sent = 0; plain.Call("PUBLISH", "news", message).Integer == 1; sent++) Assert.True(sent < 10_000, "the subscriber stays");
        Assert.DoesNotContain("name=slow", plain.Call("CLIENT", "LIST").Text!);
        server.AssertWell();
    }

    /// <summary>In a heap with a limit, most of a long reply waits above TLS, where the event loop does not see it.</summary>
    [Fact]
    public void RepliesThatAreNotReadCountAsMemoryOfTheClient()
    {
        const int size = 20_000_000;
        using var server = new ShellServer("export DOTNET_GCHeapHardLimit=0x10000000; exec SERVER > log", [.. Arguments("--tls-auth-clients", "no")]);
        using (RespClient writer = server.Connect()) writer.Expect("+OK", "SET", "long", new string('x', size));
        using RespClient plain = server.Connect();
        using var client = new TlsClient(_port);
        Assert.Equal("+OK", client.Call("CLIENT SETNAME slow"));
        client.Send("GET long");
        for (int tries = 0; MemoryOf(plain, "slow") < size; tries++)
        {
            Assert.True(tries < 300, $"the client counts {MemoryOf(plain, "slow")} bytes");
            Thread.Sleep(100);
        }
        plain.Expect("+OK", "CONFIG", "SET", "maxmemory-clients", "1mb");
        for (int tries = 0; plain.Figure("evicted_clients") != "1"; tries++)
        {
            Assert.True(tries < 300, "the client stays");
            Thread.Sleep(100);
        }
        server.AssertStops();
    }

    private static long MemoryOf(RespClient plain, string name)
    {
        string line = plain.Call("CLIENT", "LIST").Text!.Split('\n').Single(line => line.Contains($" name={name} ", StringComparison.Ordinal));
        return long.Parse(line.Split(" tot-mem=")[1].Split(' ')[0], CultureInfo.InvariantCulture);
    }

    private string[] Arguments(params string[] arguments) =>
        ["--tls-port", $"{_port}", "--tls-cert-file", _files.Certificate, "--tls-key-file", _files.Key, "--tls-ca-cert-file", _authority.File, .. arguments];

    private ServerProcess Start(params string[] arguments) => ServerProcess.Ours(Arguments(arguments));

    /// <summary>Returns whether the server refuses the certificate. In TLS 1.3 a client learns this only when it reads.</summary>
    private bool IsRefused((string Certificate, string Key)? certificate)
    {
        try
        {
            using var client = new TlsClient(_port, certificate);
            return client.Call("PING") is null;
        }
        catch (Exception e) when (e is IOException or AuthenticationException)
        {
            return true;
        }
    }

    private static bool IsClosed(Socket socket)
    {
        try
        {
            return socket.Receive(new byte[100]) == 0;
        }
        catch (SocketException e)
        {
            return e.SocketErrorCode == SocketError.ConnectionReset;
        }
    }

    private string RedisCli(params string[] arguments)
    {
        using Process process = Process.Start(new ProcessStartInfo("redis-cli", ["-h", "localhost", "-p", $"{_port}", "--tls", .. arguments])
        {
            RedirectStandardOutput = true, RedirectStandardError = true,
        })!;
        Task<string> errors = process.StandardError.ReadToEndAsync();
        string output = process.StandardOutput.ReadToEnd();
        Assert.True(process.WaitForExit(60_000), "redis-cli does not exit");
        return (output + errors.Result).TrimEnd();
    }
}
