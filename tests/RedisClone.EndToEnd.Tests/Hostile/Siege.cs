using System.Globalization;
using RedisClone.EndToEnd.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>
/// A server with data and a password, a well-behaved client, and the hostile clients of a test. At the end all data is there, no
/// resource of a closed client remains, and the memory of the hostile clients was bounded and is returned.
/// </summary>
internal sealed class Siege : IDisposable
{
    private const int Keys = 5_000;
    private const long Megabyte = 1 << 20;

    /// <summary>
    /// The largest allowed rise of the resident memory during the test, and the largest rise that may remain after it.
    /// </summary>
    private const long MostRise = 500 * Megabyte, MostLeft = 64 * Megabyte;

    private const string Password = "secret";

    private readonly ITestOutputHelper _output;
    private readonly RespClient _admin;
    private readonly Witness _witness;
    private readonly List<RespClient> _hostile = [];
    private readonly string _digest;
    private readonly Vitals _before;
    private readonly Timer _watch;
    private long _peak;

    public Siege(ITestOutputHelper output, params string[] arguments)
    {
        _output = output;
        Server = ServerProcess.Ours(
            [
                "--requirepass", Password, "--maxclients", "12000", "--maxmemory-clients", "100mb", "--enable-debug-command", "yes",
                "--client-output-buffer-limit", "pubsub", "8mb", "2mb", "5", .. arguments,
            ]);
        _admin = Connect();
        _admin.Expect("+OK", "DEBUG", "POPULATE", $"{Keys}", "key", "500");
        _admin.Expect("+OK", "SET", "big", new string('v', (int)Megabyte));
        _digest = Digest();
        _before = Vitals.OfQuiet(Server, _admin);
        _witness = new Witness(Connect());
        _peak = _before.ResidentBytes;
        _watch = new Timer(_ => _peak = Math.Max(_peak, Server.ResidentBytes), null, 0, 50);
    }

    public ServerProcess Server { get; }

    public RespClient Admin => _admin;

    /// <summary>Connects a client that has sent the password.</summary>
    public RespClient Connect(int receiveBuffer = 0)
    {
        var client = new RespClient(Server.Port, receiveBuffer);
        client.Expect("+OK", "AUTH", Password);
        return client;
    }

    /// <summary>Connects clients that stay until the end or until the server closes them.</summary>
    public List<RespClient> Loose(int count, Func<RespClient> connect)
    {
        for (int i = 0; i < count; i++) _hostile.Add(connect());
        return _hostile;
    }

    /// <summary>Sends bytes from a hostile client. The server may close the connection or stop reading.</summary>
    public static void Send(RespClient client, ReadOnlySpan<byte> bytes) => client.SendWhatIsTaken(bytes, patience: 500);

    /// <summary>Waits until the well-behaved client has received some more replies.</summary>
    public void Hold(int replies = 200)
    {
        int enough = _witness.Served + replies;
        long start = Environment.TickCount64;
        while (_witness.Served < enough)
        {
            Assert.True(Environment.TickCount64 - start < 120_000, "the well-behaved client is not served");
            Thread.Sleep(5);
        }
    }

    /// <summary>Closes the hostile clients and checks the state that they leave.</summary>
    public void End(string what)
    {
        _watch.Dispose();
        _witness.Stop();
        _witness.Dispose();
        long peak = _peak - _before.ResidentBytes;
        foreach (RespClient client in _hostile) client.Dispose();
        Vitals after = Vitals.OfQuiet(Server, _admin, _before.Sockets);
        long left = LeftAfterAWhile();
        _output.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"{what}: p99 {_witness.Wait(0.99).TotalMilliseconds:F2} ms (10 ms is the aim), "
            + $"median {_witness.Wait(0.5).TotalMilliseconds:F2}, longest {_witness.Wait(1).TotalMilliseconds:F1}, of {_witness.Served}; "
            + $"memory +{peak / Megabyte} MB, +{left / Megabyte} MB afterwards"));
        Assert.InRange(peak, long.MinValue, MostRise);
        Assert.InRange(left, long.MinValue, MostLeft);
        Assert.Equal(0, after["unexpected_error_replies"]);
        _admin.Expect($":{Keys + 1 + 100}", "DBSIZE");
        _admin.Call(["DEL", .. Enumerable.Range(0, 100).Select(i => $"witness:{i}")]);
        Assert.Equal(_digest, Digest());
        Assert.DoesNotContain("Exception", Server.Output, StringComparison.Ordinal);
    }

    public void Dispose()
    {
        _watch.Dispose();
        _witness.Dispose();
        foreach (RespClient client in _hostile) client.Dispose();
        _admin.Dispose();
        Server.Dispose();
    }

    private long LeftAfterAWhile()
    {
        long start = Environment.TickCount64, left;
        while ((left = Server.ResidentBytes - _before.ResidentBytes) > MostLeft && Environment.TickCount64 - start < 120_000) Thread.Sleep(100);
        return left;
    }

    private string Digest() => _admin.Call("DEBUG", "DIGEST").Text!;
}
