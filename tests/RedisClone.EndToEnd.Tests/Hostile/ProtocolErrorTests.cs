using System.Text;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>
/// Protocol errors. The client gets the same error line as from redis-server and is closed, and other clients are served.
/// </summary>
public sealed class ProtocolErrorTests : IDisposable
{
    private readonly ServerProcess _ours = ServerProcess.Ours();
    private readonly ServerProcess _redis = ServerProcess.Redis();

    public static TheoryData<string, string> Openings => new()
    {
        { "more arguments than fit a number", "*2147483648\r\n" },
        { "a huge count", "*9223372036854775807\r\n" },
        { "a count beyond numbers", "*92233720368547758079\r\n" },
        { "a count that is no number", "*abc\r\n" },
        { "no count", "*\r\nPING\r\n" },
        { "a count with a blank", "*1 \r\n$4\r\nPING\r\n" },
        { "a signed count", "*+1\r\n$4\r\nPING\r\n" },
        { "a huge length", "*1\r\n$9223372036854775807\r\n" },
        { "a length above the limit", "*1\r\n$536870913\r\n" },
        { "a negative length", "*1\r\n$-10\r\n" },
        { "a null argument", "*1\r\n$-1\r\n" },
        { "a length that is no number", "*1\r\n$4x\r\nPING\r\n" },
        { "no length", "*1\r\n$\r\n" },
        { "another type than a string", "*2\r\n$4\r\nECHO\r\n:5\r\n" },
        { "an unprintable type", "*1\r\n\x01" + "4\r\nPING\r\n" },
        { "endless digits of a count", "*" + new string('1', 70_000) },
        { "endless digits of a length", "*1\r\n$" + new string('1', 70_000) },
        { "an endless inline line", new string('x', 70_000) },
        { "open quotes", "SET key \"value\r\n" },
        { "quotes that end within a word", "SET key \"value\"x\r\n" },
        { "single quotes that stay open", "GET 'key\r\n" },
        { "an unknown command inline", "NOSUCH a b\r\n" },
        { "arguments of an unknown command", "*3\r\n$6\r\nNOSUCH\r\n$3\r\na\r\n\r\n$300\r\n" + new string('y', 300) + "\r\n" },
        { "a line in a name", "*1\r\n$6\r\nA\r\nB\0C\r\n" },
        { "an empty name", "*1\r\n$0\r\n\r\n" },
        { "nothing at all", "\r\n\r\n\r\n" },
        { "empty requests", "*0\r\n*-1\r\n*-5\r\n*0\r\n" },
        { "a line without a return", "PING\nPING\r\n" },
        { "a POST", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\nSET key hacked\r\n" },
        { "a Host header", "Host: localhost\r\nSET key hacked\r\n" },
        { "a GET of a browser", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nSET key hacked\r\n" },
    };

    public void Dispose()
    {
        _ours.Dispose();
        _redis.Dispose();
    }

    /// <summary>
    /// The request before the error gets its reply. A PING and a QUIT after the error show whether the connection is still open.
    /// </summary>
    [Theory]
    [MemberData(nameof(Openings))]
    public void ErrorsMatchRedisServer(string what, string bytes)
    {
        string expected = Exchange(_redis, bytes), actual = Exchange(_ours, bytes);
        Assert.True(expected == actual, $"{what}\n   ours:  {Requests.Quote(actual)}\n   redis: {Requests.Quote(expected)}");
        using RespClient client = _ours.Connect();
        client.Expect("$\"safe\"", "GET", "key");
        _ours.AssertWell();
    }

    private static string Exchange(ServerProcess server, string bytes)
    {
        using RespClient client = server.Connect();
        client.Expect("+OK", "SET", "key", "safe");
        client.SendRaw("*1\r\n$4\r\nPING\r\n");
        string first = client.ReadLine();
        client.SendWhatIsTaken(Encoding.Latin1.GetBytes(bytes));
        if (!bytes.Contains("1111") && !bytes.Contains("xxxx")) client.SendWhatIsTaken("\r\nPING\r\nQUIT\r\n"u8);
        return first + "\n" + client.ReadToClose();
    }
}
