using System.Diagnostics;
using System.Globalization;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Shipping;

/// <summary>Several servers behind the proxies of Debian, with the configurations of docs/running-more-than-one.md.</summary>
public sealed class ProxyTests : IDisposable
{
    private const int Keys = 1000;
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(2);

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-proxy-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void NutcrackerShardsOverFourServersAndARestartedServerHasItsKeys()
    {
        ServerProcess[] servers = [.. Enumerable.Range(1, 4).Select(n => StartWithJournal(n))];
        int port = Ports.Free();
        using BackgroundProgram proxy = StartNutcracker(port, servers);
        try
        {
            using var client = new RespClient(port);
            Reply[] stored = client.Pipeline([.. Enumerable.Range(0, Keys).Select(i => (string[])["SET", $"key:{i}", $"value:{i}"])]);
            Assert.All(stored, reply => Assert.Equal("+OK", reply.ToString()));
            long[] shares = [.. servers.Select(KeysOf)];
            Assert.Equal(Keys, shares.Sum());
            Assert.All(shares, share => Assert.InRange(share, Keys / 20, Keys / 2));

            string[] some = [.. Enumerable.Range(0, 50).Select(i => $"key:{i}")];
            Reply all = client.Call(["MGET", .. some]);
            Assert.Equal(some.Select(key => key.Replace("key", "value", StringComparison.Ordinal)), all.Items!.Select(item => item.Text!));
            client.Expect(":10", "DEL", "key:0", "key:1", "key:2", "key:3", "key:4", "key:5", "key:6", "key:7", "key:8", "key:9");
            client.Expect(":3", "SADD", "{tag}a", "x", "y", "z");
            client.Expect(":2", "SADD", "{tag}b", "y", "z");
            client.Expect("*[$\"x\"]", "SDIFF", "{tag}a", "{tag}b");
            client.Expect(":3", "EVAL", "return redis.call('SCARD', KEYS[1])", "1", "{tag}a");

            // Requests for keys of the killed server fail, and the other servers answer. After its restart on the same port the
            // server has its keys again.
            servers[2].Kill();
            Reply[] away = ReadAll(port);
            Assert.Equal(shares[2], away.Count(reply => reply.IsError), tolerance: 10);
            int place = servers[2].Port;
            servers[2].Dispose();
            servers[2] = StartWithJournal(3, place);
            long begun = Stopwatch.GetTimestamp();
            while (ReadAll(port) is var back && back.Any(reply => reply.IsError || reply.IsNil))
            {
                Assert.True(Stopwatch.GetElapsedTime(begun) < s_patience, back.First(reply => reply.IsError || reply.IsNil).ToString());
                Thread.Sleep(100);
            }
        }
        finally
        {
            foreach (ServerProcess server in servers) server.Dispose();
        }
    }

    [Fact]
    public void HaproxyUsesTheSecondServerWhileTheFirstDoesNotAnswer()
    {
        ServerProcess first = ServerProcess.Ours();
        using ServerProcess second = ServerProcess.Ours();
        int port = Ports.Free();
        using var proxy = new BackgroundProgram(port, "haproxy", "-f", Example("haproxy.cfg", (6380, port), (7001, first.Port), (7002, second.Port)));
        AwaitServing(port, first.Port);
        using var client = new RespClient(port);
        client.Expect("+OK", "SET", "k", "v");
        first.Kill();
        Assert.Equal("", client.ReadToClose());
        AwaitServing(port, second.Port);
        int place = first.Port;
        first.Dispose();
        first = ServerProcess.Ours("--port", Text(place));
        AwaitServing(port, place);
        first.Dispose();
    }

    private static void AwaitServing(int proxy, int server)
    {
        long begun = Stopwatch.GetTimestamp();
        string? found = null;
        while (Stopwatch.GetElapsedTime(begun) < s_patience)
        {
            try
            {
                using var client = new RespClient(proxy);
                found = client.Call("CONFIG", "GET", "port")[1].Text;
                if (found == Text(server)) return;
            }
            catch (Exception e) when (e is EndOfStreamException or System.Net.Sockets.SocketException)
            {
                // The proxy has no server at this moment.
            }
            Thread.Sleep(50);
        }
        Assert.Fail($"the server behind the proxy is {found ?? "none"}, not {server}");
    }

    private ServerProcess StartWithJournal(int n, int port = 0)
    {
        string folder = Directory.CreateDirectory(Path.Combine(_folder, $"store-{n}")).FullName;
        string[] place = port == 0 ? [] : ["--port", Text(port)];
        return ServerProcess.Ours([.. place, "--dir", folder, "--appendonly", "yes", "--appendfsync", "always"]);
    }

    private BackgroundProgram StartNutcracker(int port, ServerProcess[] servers) => new(port, "nutcracker", "-s", Text(Ports.Free()), "-c",
        Example("nutcracker.yaml", [(22121, port), .. servers.Select((server, i) => (7001 + i, server.Port))]));

    /// <summary>Copies an example with other ports and with longer timeouts for a busy machine.</summary>
    private string Example(string name, params (int Old, int New)[] ports)
    {
        string text = File.ReadAllText(Repository.PathOf($"docs/examples/{name}"));
        foreach ((int before, int after) in ports) text = text.Replace($"127.0.0.1:{before}", $"127.0.0.1:{after}", StringComparison.Ordinal);
        text = text.Replace(" timeout: 2000", " timeout: 60000", StringComparison.Ordinal).Replace(" 2s", " 60s", StringComparison.Ordinal);
        string copy = Path.Combine(_folder, name);
        File.WriteAllText(copy, text);
        return copy;
    }

    private static Reply[] ReadAll(int port)
    {
        using var client = new RespClient(port);
        return client.Pipeline([.. Enumerable.Range(10, Keys - 10).Select(i => (string[])["GET", $"key:{i}"])]);
    }

    private static long KeysOf(ServerProcess server)
    {
        using RespClient client = server.Connect();
        return client.Call("DBSIZE").Integer;
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
