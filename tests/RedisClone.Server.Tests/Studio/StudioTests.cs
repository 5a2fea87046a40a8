using System.IO.Compression;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using RedisClone.Configuration;
using RedisClone.Server.Studio;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Studio;

/// <summary>The HTTP port of the studio: its files, its sessions, and what it refuses.</summary>
public sealed partial class StudioTests
{
    private const int LargestPage = 150 * 1024;

    [GeneratedRegex("""(?:src|href)="([a-z]+\.[a-z]+)"|from '\./([a-z]+\.js)'""")]
    private static partial Regex Reference { get; }

    [Fact]
    public async Task ThePageIsSmallAndComplete()
    {
        await using RunningServer server = await StartAsync();
        using var browser = new StudioBrowser(server);
        using HttpResponseMessage root = await browser.SendAsync(HttpMethod.Get, "/");
        Assert.Equal("/studio/", root.Headers.Location!.ToString());
        var wanted = new Queue<string>(["index.html"]);
        var seen = new Dictionary<string, int>();
        while (wanted.TryDequeue(out string? name))
        {
            if (seen.ContainsKey(name)) continue;
            using HttpResponseMessage response = await browser.SendAsync(HttpMethod.Get, "/studio/" + name);
            Assert.True(response.IsSuccessStatusCode, name);
            string policy = response.Headers.GetValues("Content-Security-Policy").Single();
            Assert.Contains("default-src 'none'; script-src 'self'; style-src 'self'", policy, StringComparison.Ordinal);
            Assert.DoesNotContain("unsafe", policy, StringComparison.Ordinal);
            string text = await response.Content.ReadAsStringAsync();
            seen.Add(name, text.Length);
            foreach (Match match in Reference.Matches(text)) wanted.Enqueue(match.Groups[1].Value + match.Groups[2].Value);
            // Text is set as text, and nothing comes from elsewhere.
            foreach (string forbidden in new[] { "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "https://" })
                Assert.DoesNotContain(forbidden, text, StringComparison.Ordinal);
        }
        Assert.True(seen.Count > 10, string.Join(' ', seen.Keys));
        Assert.InRange(seen.Values.Sum(), 1, LargestPage);
        using HttpResponseMessage page = await browser.SendAsync(HttpMethod.Get, "/studio/");
        browser.Headers["If-None-Match"] = page.Headers.ETag!.ToString();
        using HttpResponseMessage again = await browser.SendAsync(HttpMethod.Get, "/studio/");
        Assert.Equal(HttpStatusCode.NotModified, again.StatusCode);
    }

    [Fact]
    public async Task ABrowserOnThisMachineNeedsNoPasswordIfTheServerHasNone()
    {
        await using RunningServer server = await StartAsync();
        using var browser = new StudioBrowser(server);
        Assert.Equal(HttpStatusCode.Unauthorized, (await browser.PostAsync("call", """{"commands":[["PING"]]}""")).Status);
        (HttpStatusCode status, JsonElement session) = await browser.PostAsync("session", "{}");
        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Equal("default", session.GetProperty("user").GetString());
        Assert.True(session.GetProperty("automatic").GetBoolean());
        Assert.Contains("httponly", browser.CookieAttributes, StringComparison.OrdinalIgnoreCase);
        Assert.Contains("samesite=strict", browser.CookieAttributes, StringComparison.OrdinalIgnoreCase);
        Assert.Equal("""{"o":"PONG"}""", await browser.RunAsync("PING"));
        // With a password, the session is over.
        using TestClient client = server.Connect();
        client.Run("CONFIG SET requirepass secret");
        Assert.Equal(HttpStatusCode.Unauthorized, (await browser.PostAsync("call", """{"commands":[["PING"]]}""")).Status);
        Assert.Equal(HttpStatusCode.Unauthorized, (await browser.PostAsync("session", "{}")).Status);
        Assert.Equal(HttpStatusCode.Unauthorized, (await browser.SignInAsync("default", "wrong")).Status);
        Assert.Equal(HttpStatusCode.OK, (await browser.SignInAsync("default", "secret")).Status);
        Assert.Equal("""{"o":"PONG"}""", await browser.RunAsync("PING"));
    }

    [Fact]
    public async Task RepliesKeepTheirTypes()
    {
        await using RunningServer server = await StartAsync();
        using var browser = new StudioBrowser(server);
        await browser.PostAsync("session", "{}");
        Assert.Equal("""{"o":"OK"}""", await browser.RunAsync("SET a <b>text</b>", inConsole: true));
        Assert.Equal("\"<b>text</b>\"", Regex.Unescape(await browser.RunAsync("GET a")));
        Assert.Equal("null", await browser.RunAsync("GET absent"));
        Assert.Equal("""{"x":"ERR value is not an integer or out of range"}""", await browser.RunAsync("INCR a", inConsole: true));
        Assert.Equal("""{"n":"9223372036854775807"}""", await browser.RunAsync("INCRBY large 9223372036854775807", inConsole: true));
        Assert.Equal("""{"m":["maxclients","10000"]}""", await browser.RunAsync("CONFIG GET maxclients"));
        await browser.RunAsync("SADD set x", inConsole: true);
        Assert.Equal("""{"s":["x"]}""", await browser.RunAsync("SMEMBERS set"));
        (_, JsonElement answer) = await browser.PostAsync("call", """{"console":true,"commands":[["SET",{"b":"/wA="},"1"],["KEYS","?"],["KEYS","[^a-z]?"]]}""");
        Assert.Equal("""[{"o":"OK"},["a"],[{"b":"/wA="}]]""", answer.GetRawText().Replace(" ", ""));
    }

    [Theory]
    [InlineData("Host", "evil.example")]
    [InlineData("Host", "127.0.0.1.evil.example")]
    [InlineData("Origin", "http://evil.example")]
    [InlineData("Origin", "null")]
    [InlineData("Sec-Fetch-Site", "cross-site")]
    [InlineData("Sec-Fetch-Site", "same-site")]
    public async Task ARequestOfAnotherSiteIsRefused(string header, string value)
    {
        await using RunningServer server = await StartAsync();
        using var browser = new StudioBrowser(server);
        browser.Headers[header] = value;
        Assert.Equal(HttpStatusCode.Forbidden, (await browser.PostAsync("session", "{}")).Status);
        Assert.Null(browser.Cookie);
    }

    /// <summary>The server reads the rest of a long command only while its reply is read.</summary>
    [Fact]
    public async Task ALongCommandMayHaveALongReply()
    {
        const int length = 1_000_000;
        await using RunningServer server = await StartAsync();
        using var browser = new StudioBrowser(server);
        await browser.PostAsync("session", "{}");
        string text = new('a', length);
        Assert.Equal("""{"o":"OK"}""", await browser.RunAsync($"SET {text} {text}", inConsole: true));
        Assert.Equal(length + 2, (await browser.RunAsync($"GET {text}")).Length);
        Assert.Equal("""{"o":"PONG"}""", await browser.RunAsync("PING"));
    }

    [Fact]
    public async Task ANamedHostIsServed()
    {
        await using RunningServer server = await StartAsync(config => config.HttpHosts = ["db.example"]);
        using var browser = new StudioBrowser(server);
        browser.Headers["Host"] = "DB.example";
        Assert.Equal(HttpStatusCode.OK, (await browser.PostAsync("session", "{}")).Status);
    }

    [Theory]
    [InlineData("X-Forwarded-For")]
    [InlineData("Forwarded")]
    public async Task AnotherMachineNeedsTlsOrAPermissionAndAPassword(string header)
    {
        await using RunningServer server = await StartAsync(static config => config.EnableProtectedConfigs = ProtectedAction.Local);
        using TestClient client = server.Connect();
        using var browser = new StudioBrowser(server);
        browser.Headers[header] = "203.0.113.7";
        Assert.Equal(HttpStatusCode.Forbidden, (await browser.PostAsync("session", "{}")).Status);
        Assert.Equal(HttpStatusCode.Forbidden, (await browser.SendAsync(HttpMethod.Get, "/studio/")).StatusCode);
        client.Run("CONFIG SET http-allow-plain yes");
        Assert.Equal(HttpStatusCode.Unauthorized, (await browser.PostAsync("session", "{}")).Status);
        Assert.Equal(HttpStatusCode.Unauthorized, (await browser.SignInAsync("default", "")).Status);
        client.Run("ACL SETUSER ann on >secret ~* &* +@all");
        Assert.Equal(HttpStatusCode.OK, (await browser.SignInAsync("ann", "secret")).Status);
        Assert.Equal("\"ann\"", await browser.RunAsync("ACL WHOAMI"));
        // The proxy is on this machine, the browser is not.
        Assert.Contains("protected config", await browser.RunAsync("CONFIG SET dbfilename other.rdb", inConsole: true), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("ACL SETUSER ann -config")]
    [InlineData("ACL SETUSER ann resetpass >other")]
    [InlineData("ACL SETUSER ann off")]
    [InlineData("ACL DELUSER ann")]
    public async Task AChangeOfTheUserEndsItsSession(string change)
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        client.Run("ACL SETUSER ann on >secret ~* &* +@all");
        using var browser = new StudioBrowser(server);
        await browser.SignInAsync("ann", "secret");
        Assert.Equal("""{"o":"PONG"}""", await browser.RunAsync("PING"));
        client.Run(change);
        Assert.Equal(HttpStatusCode.Unauthorized, (await browser.PostAsync("call", """{"commands":[["PING"]]}""")).Status);
    }

    [Fact]
    public async Task ACookieIsWorthNothingAfterLogout()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        client.Run("ACL SETUSER ann on >secret ~* &* +@all");
        using var browser = new StudioBrowser(server);
        using var thief = new StudioBrowser(server);
        await browser.SignInAsync("ann", "secret");
        thief.Cookie = browser.Cookie;
        Assert.Equal("""{"o":"PONG"}""", await thief.RunAsync("PING"));
        Assert.Equal(HttpStatusCode.OK, (await browser.PostAsync("logout", "{}")).Status);
        Assert.Equal(HttpStatusCode.Unauthorized, (await thief.PostAsync("call", """{"commands":[["PING"]]}""")).Status);
        // The server reads the end of the connection on another thread.
        string clients = client.Run("CLIENT LIST");
        for (int looks = 0; looks < 500 && clients.Contains("name=studio", StringComparison.Ordinal); looks++)
        {
            await Task.Delay(20);
            clients = client.Run("CLIENT LIST");
        }
        Assert.DoesNotContain("name=studio", clients, StringComparison.Ordinal);
    }

    [Fact]
    public async Task TheUsersPermissionsApplyToEveryCall()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        client.Run("ACL SETUSER reader on >secret ~app:* +@read +hello +acl|whoami");
        client.Run("SET app:1 x");
        using var browser = new StudioBrowser(server);
        await browser.SignInAsync("reader", "secret");
        Assert.Equal("\"x\"", await browser.RunAsync("GET app:1"));
        Assert.Contains("NOPERM", await browser.RunAsync("GET other"), StringComparison.Ordinal);
        Assert.Contains("NOPERM", await browser.RunAsync("SET app:1 y", inConsole: true), StringComparison.Ordinal);
        Assert.Contains("NOPERM", await browser.RunAsync("CONFIG GET maxmemory"), StringComparison.Ordinal);
        foreach (string call in new[] { "shards", "parameters", "recovery", "commands" })
            Assert.Equal(HttpStatusCode.Forbidden, (await browser.PostAsync(call, "{}")).Status);
        Assert.Equal(HttpStatusCode.Forbidden, (await browser.PostAsync("history", """{"series":[],"seconds":1,"points":1,"after":0}""")).Status);
    }

    [Theory]
    [InlineData("SET a 1", false)]
    [InlineData("CONFIG SET maxmemory 1", false)]
    [InlineData("SHUTDOWN", false)]
    [InlineData("EVAL return 0", false)]
    [InlineData("XREAD BLOCK 0 STREAMS a 0", false)]
    [InlineData("BLPOP a 0", true)]
    [InlineData("SUBSCRIBE a", true)]
    [InlineData("MONITOR", true)]
    [InlineData("AUTH a b", true)]
    [InlineData("CLIENT REPLY OFF", true)]
    [InlineData("XREAD BLOCK 0 STREAMS a 0", true)]
    public async Task WhatIsNotForThePageIsRefused(string command, bool inConsole)
    {
        await using RunningServer server = await StartAsync();
        using var browser = new StudioBrowser(server);
        await browser.PostAsync("session", "{}");
        Assert.Contains("of the studio", await browser.RunAsync(command, inConsole), StringComparison.Ordinal);
        Assert.Equal("""{"o":"PONG"}""", await browser.RunAsync("PING", inConsole));
    }

    [Theory]
    [InlineData("/studio/../appsettings.json", HttpStatusCode.NotFound)]
    [InlineData("/studio/%2e%2e/%2e%2e/etc/passwd", HttpStatusCode.NotFound)]
    [InlineData("/studio/..%2f..%2fetc%2fpasswd", HttpStatusCode.NotFound)]
    [InlineData("/studio//etc/passwd", HttpStatusCode.NotFound)]
    [InlineData("/studio/index.html%00.js", HttpStatusCode.BadRequest)]
    [InlineData("/studio/STUDIO.CSS", HttpStatusCode.NotFound)]
    [InlineData("/etc/passwd", HttpStatusCode.NotFound)]
    public async Task APathNamesAFileOfThePageOrNothing(string path, HttpStatusCode status)
    {
        await using RunningServer server = await StartAsync();
        using var browser = new StudioBrowser(server);
        using HttpResponseMessage response = await browser.SendAsync(HttpMethod.Get, path);
        Assert.Equal(status, response.StatusCode);
    }

    [Fact]
    public async Task RequestsAreBounded()
    {
        await using RunningServer server = await StartAsync();
        using var browser = new StudioBrowser(server);
        await browser.PostAsync("session", "{}");
        using var large = new StringContent("{\"commands\":[[\"" + new string('x', StudioLimits.MostBodyBytes) + "\"]]}", Encoding.UTF8, "application/json");
        using HttpResponseMessage tooLarge = await browser.SendAsync(HttpMethod.Post, "/studio/api/call", large);
        Assert.Equal(HttpStatusCode.RequestEntityTooLarge, tooLarge.StatusCode);
        Assert.True(tooLarge.Headers.ConnectionClose);
        using var form = new StringContent("{}", Encoding.UTF8, "text/plain");
        using HttpResponseMessage wrongType = await browser.SendAsync(HttpMethod.Post, "/studio/api/session", form);
        Assert.Equal(HttpStatusCode.UnsupportedMediaType, wrongType.StatusCode);
        Assert.True(wrongType.Headers.ConnectionClose);
        using var unread = new StringContent("{}", Encoding.UTF8, "application/json");
        using HttpResponseMessage noFile = await browser.SendAsync(HttpMethod.Post, "/studio/", unread);
        Assert.Equal((HttpStatusCode.MethodNotAllowed, true), (noFile.StatusCode, noFile.Headers.ConnectionClose ?? false));
        string[] malformed =
            ["[", "[]", "{}", """{"commands":[[]]}""", """{"commands":[[1]]}""", """{"commands":[[{"b":"?"}]]}""", """{"commands":"x"}"""];
        foreach (string body in malformed)
            Assert.Equal(HttpStatusCode.BadRequest, (await browser.PostAsync("call", body)).Status);
        string many = string.Join(',', Enumerable.Repeat("[\"PING\"]", StudioLimits.Commands + 1));
        Assert.Equal(HttpStatusCode.BadRequest, (await browser.PostAsync("call", $$"""{"commands":[{{many}}]}""")).Status);
        browser.Headers["X-Large"] = new string('x', 20_000);
        using HttpResponseMessage headers = await browser.SendAsync(HttpMethod.Get, "/studio/");
        Assert.Equal(HttpStatusCode.RequestHeaderFieldsTooLarge, headers.StatusCode);
    }

    /// <summary>A body that is not what a call expects is an error of the client, and no line of the log.</summary>
    [Theory]
    [InlineData("session", """{"user":null,"password":null}""")]
    [InlineData("session", """{"user":"ann","password":null}""")]
    [InlineData("session", """{"user":1,"password":2}""")]
    [InlineData("session", """{"user":"\ud800","password":"x"}""")]
    [InlineData("session", """{"user":"ann"}""")]
    [InlineData("session", "null")]
    [InlineData("history", """{"series":[null],"seconds":1,"points":1,"after":0}""")]
    [InlineData("history", """{"series":["a"],"seconds":1.5,"points":1,"after":0}""")]
    [InlineData("history", """{"series":["a"],"seconds":99999999999,"points":1,"after":0}""")]
    [InlineData("call", """{"commands":[[null]]}""")]
    [InlineData("call", """{"commands":[["PING"],["\udc00"]]}""")]
    [InlineData("call", """{"console":1,"commands":[["PING"]]}""")]
    public async Task AMalformedBodyIsRefused(string call, string body)
    {
        await using RunningServer server = await StartAsync();
        using var browser = new StudioBrowser(server);
        await browser.PostAsync("session", "{}");
        Assert.Equal(HttpStatusCode.BadRequest, (await browser.PostAsync(call, body)).Status);
        Assert.Equal("""{"o":"PONG"}""", await browser.RunAsync("PING"));
    }

    [Fact]
    public async Task OnlyAShortBodyIsReadBeforeSigningIn()
    {
        await using RunningServer server = await StartAsync();
        using var browser = new StudioBrowser(server);
        string large = "{\"user\":\"" + new string('x', StudioLimits.SignInBytes) + "\",\"password\":\"\"}";
        Assert.Equal(HttpStatusCode.RequestEntityTooLarge, (await browser.PostAsync("session", large)).Status);
        // Nothing of the body of another call is read: the answer comes although the body never does.
        using var stranger = new TcpClient("127.0.0.1", server.Core.Config.HttpPort);
        const string head = "POST /studio/api/call HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n";
        await stranger.GetStream().WriteAsync(Encoding.ASCII.GetBytes(head));
        using var answer = new StreamReader(stranger.GetStream());
        Assert.Equal("HTTP/1.1 401 Unauthorized", await answer.ReadLineAsync());
        Assert.Contains("Connection: close", await answer.ReadToEndAsync(), StringComparison.OrdinalIgnoreCase);
    }

    /// <summary>Two windows of one browser share a session. What one selects does not change what the other reads.</summary>
    [Fact]
    public async Task CallsAtTheSameTimeKeepTheirDatabases()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        client.Run("SET key in-0");
        client.Run("SELECT 1");
        client.Run("SET key in-1");
        using var browser = new StudioBrowser(server);
        await browser.PostAsync("session", "{}");
        await Task.WhenAll(Enumerable.Range(0, 8).Select(i => Task.Run(async () =>
        {
            using var content = new StudioBrowser(server) { Cookie = browser.Cookie };
            for (int round = 0; round < 50; round++)
            {
                (_, JsonElement answer) = await content.PostAsync("call", $$"""{"commands":[["SELECT","{{i % 2}}"],["PING"],["GET","key"]]}""");
                Assert.Equal($"in-{i % 2}", answer[2].GetString());
            }
        })));
    }

    [Fact]
    public async Task TheNumberOfSessionsIsBounded()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        using var browser = new StudioBrowser(server);
        for (int i = 0; i < StudioLimits.Sessions + 8; i++)
        {
            browser.Cookie = null;
            Assert.Equal(HttpStatusCode.OK, (await browser.PostAsync("session", "{}")).Status);
        }
        Assert.Equal("""{"o":"PONG"}""", await browser.RunAsync("PING"));
        int connections = client.Run("CLIENT LIST").Split('\n').Count(line => line.Contains("name=studio", StringComparison.Ordinal));
        Assert.InRange(connections, 2, 2 * StudioLimits.Sessions + 2);
    }

    [Fact]
    public async Task ATooLongReplyEndsTheConnectionAndNotTheServer()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        client.Call("SET", "large", new string('x', 1 << 20));
        client.Call(["RPUSH", "list", .. Enumerable.Repeat(new string('x', 1 << 20), 17)]);
        using var browser = new StudioBrowser(server);
        await browser.PostAsync("session", "{}");
        Assert.Equal((1 << 20) + 2, (await browser.RunAsync("GET large")).Length);
        Assert.Equal(HttpStatusCode.BadGateway, (await browser.PostAsync("call", """{"commands":[["LRANGE","list","0","-1"]]}""")).Status);
        Assert.Equal(HttpStatusCode.OK, (await browser.PostAsync("session", "{}")).Status);
        Assert.Equal("""{"o":"PONG"}""", await browser.RunAsync("PING"));
    }

    [Fact]
    public async Task MetricsAndHealthNeedAPermissionOfTheirOwn()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        using var browser = new StudioBrowser(server);
        using HttpResponseMessage open = await browser.SendAsync(HttpMethod.Get, "/metrics");
        Assert.StartsWith("# HELP", await open.Content.ReadAsStringAsync(), StringComparison.Ordinal);
        client.Run("CONFIG SET requirepass secret");
        using HttpResponseMessage refused = await browser.SendAsync(HttpMethod.Get, "/metrics");
        Assert.Equal(HttpStatusCode.Unauthorized, refused.StatusCode);
        // The cookie of a browser that has signed in is for this path too.
        await browser.SignInAsync("default", "secret");
        Assert.Contains("path=/;", browser.CookieAttributes, StringComparison.OrdinalIgnoreCase);
        Assert.Equal(HttpStatusCode.OK, (await browser.SendAsync(HttpMethod.Get, "/metrics")).StatusCode);
        client.Run("CONFIG SET http-open-metrics yes");
        browser.Headers["X-Forwarded-For"] = "203.0.113.7";
        foreach (string path in new[] { "/metrics", "/health/live", "/health/ready" })
            Assert.Equal(HttpStatusCode.OK, (await browser.SendAsync(HttpMethod.Get, path)).StatusCode);
        Assert.Equal(HttpStatusCode.Forbidden, (await browser.SendAsync(HttpMethod.Get, "/studio/")).StatusCode);
    }

    [Fact]
    public async Task TheCallsOfThePageAnswer()
    {
        await using RunningServer server = await StartAsync(config => config.RequirePass = "secret");
        using var browser = new StudioBrowser(server);
        await browser.SignInAsync("default", "secret");
        (_, JsonElement shards) = await browser.PostAsync("shards", "{}");
        Assert.Equal(4, shards.GetProperty("shards").GetArrayLength());
        Assert.Equal(2, shards.GetProperty("loops").GetArrayLength());
        (_, JsonElement parameters) = await browser.PostAsync("parameters", "{}");
        JsonElement password = parameters.EnumerateArray().Single(row => row.GetProperty("name").GetString() == "requirepass");
        Assert.Equal("(hidden)", password.GetProperty("value").GetString());
        Assert.DoesNotContain("secret\"", parameters.GetRawText(), StringComparison.Ordinal);
        (_, JsonElement commands) = await browser.PostAsync("commands", "{}");
        Assert.Contains(commands.EnumerateArray(), row => row[0].GetString() == "CONFIG GET");
        (_, JsonElement recovery) = await browser.PostAsync("recovery", "{}");
        Assert.False(recovery.GetProperty("loading").GetBoolean());
        (_, JsonElement history) = await browser.PostAsync("history", """{"series":["redis_connected_clients"],"seconds":300,"points":300,"after":0}""");
        Assert.Equal(1, history.GetProperty("values").GetArrayLength());
        Assert.Equal(HttpStatusCode.NotFound, (await browser.PostAsync("nothing", "{}")).Status);
    }

    [Fact]
    public async Task TheBundleNeedsThePermissionForItsCommand()
    {
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        client.Run("ACL SETUSER reader on >secret ~* &* +@read +info");
        client.Run("ACL SETUSER keeper on >secret +support-bundle");
        using var content = new StringContent("{}", Encoding.UTF8, "application/json");
        using var browser = new StudioBrowser(server);
        await browser.SignInAsync("reader", "secret");
        Assert.Equal(HttpStatusCode.Forbidden, (await browser.PostAsync("support-bundle", "{}")).Status);
        await browser.SignInAsync("keeper", "secret");
        using HttpResponseMessage bundle = await browser.SendAsync(HttpMethod.Post, "/studio/api/support-bundle", content);
        Assert.Equal(HttpStatusCode.OK, bundle.StatusCode);
        using var zip = new ZipArchive(await bundle.Content.ReadAsStreamAsync());
        Assert.Contains(zip.Entries, static entry => entry.FullName == "README.md");
    }

    [Fact]
    public async Task AnotherBundleAtTheSameTimeIsRefused()
    {
        await using RunningServer server = await StartAsync();
        server.Core.SupportBundle = static () => null;
        using var browser = new StudioBrowser(server);
        await browser.PostAsync("session", "{}");
        Assert.Equal(HttpStatusCode.Conflict, (await browser.PostAsync("support-bundle", "{}")).Status);
        using TestClient client = server.Connect();
        Assert.Contains("ERR a support bundle is being made already", client.Run("SUPPORT-BUNDLE"), StringComparison.Ordinal);
    }

    private static Task<RunningServer> StartAsync(Action<ServerConfig>? configure = null) => RunningServer.StartAsync(TransportKind.EventLoop, config =>
    {
        config.HttpPort = Ports.Free();
        configure?.Invoke(config);
    });
}
