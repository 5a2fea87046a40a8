using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Concurrency;

/// <summary>
/// Checks how many bytes the whole server allocates per request in steady state. The server reports this number in its log (DEBUG
/// JMAP).
/// </summary>
public sealed partial class SteadyStateTests
{
    private const int Requests = 60_000;

    [Theory]
    [InlineData("eventloop", 1)]
    [InlineData("eventloop", 30)]
    [InlineData("sockets", 30)]
    public void GetAndSetAllocateNothing(string transport, int pipeline)
    {
        using ServerProcess server = ServerProcess.Ours("--transport", transport, "--enable-debug-command", "yes", "--metrics-history", "no");
        using RespClient client = server.Connect(), asking = server.Connect();
        var batch = new StringBuilder();
        int replyLength = 0;
        for (int i = 0; i < pipeline; i++)
        {
            bool set = i % 2 == 0 && pipeline > 1;
            batch.Append(set ? "*3\r\n$3\r\nSET\r\n$4\r\nkey1\r\n$5\r\nvalue\r\n" : "*2\r\n$3\r\nGET\r\n$4\r\nkey1\r\n");
            replyLength += set ? "+OK\r\n".Length : "$5\r\nvalue\r\n".Length;
        }
        client.Expect("+OK", "SET", "key1", "value");
        byte[] request = Encoding.Latin1.GetBytes(batch.ToString());
        int rounds = (pipeline == 1 ? Requests / 4 : Requests) / pipeline;

        Exchange(client, request, replyLength, rounds);
        double least = double.MaxValue;
        // The runtime recompiles hot methods during the first runs, and background tasks allocate at times. The smallest value of
        // several runs is the steady state.
        for (int i = 0; i < 4; i++)
        {
            long before = Allocated(server, asking);
            Exchange(client, request, replyLength, rounds);
            least = Math.Min(least, (Allocated(server, asking) - before) / (double)(rounds * pipeline));
        }
        // The smallest object has 24 bytes. Fewer than one object per eight requests comes from background tasks, on a slow
        // machine too.
        Assert.True(least < 3, $"{least} bytes per request");
    }

    private static void Exchange(RespClient client, byte[] request, int replyLength, int rounds)
    {
        var buffer = new byte[replyLength];
        for (int i = 0; i < rounds; i++)
        {
            client.SendRaw(request);
            for (int got = 0; got < replyLength;) got += client.Socket.Receive(buffer, got, replyLength - got, System.Net.Sockets.SocketFlags.None);
        }
    }

    private static long Allocated(ServerProcess server, RespClient client)
    {
        int seen = AllocatedLine().Count(server.Output);
        client.Expect("+OK", "DEBUG", "JMAP");
        // The log arrives through a separate pipe.
        for (int i = 0; i < 1000; i++)
        {
            MatchCollection lines = AllocatedLine().Matches(server.Output);
            if (lines.Count > seen) return long.Parse(lines[^1].Groups[1].Value, CultureInfo.InvariantCulture);
            Thread.Sleep(10);
        }
        throw new InvalidOperationException("DEBUG JMAP wrote nothing");
    }

    [GeneratedRegex(@"allocated (\d+) since")]
    private static partial Regex AllocatedLine();
}
