using System.Net.Sockets;
using System.Text;
using RedisClone.EndToEnd.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>
/// Many hostile clients, of one kind at a time, and one well-behaved client. <c>tests/long hostile</c> uses more hostile clients
/// and prints the latency of the well-behaved client.
/// </summary>
public sealed class SiegeTests(ITestOutputHelper output)
{
    private static readonly byte[] s_gets = Repeat(Requests.Encode("GET", "big"), 2000);

    [Fact]
    public void SurvivesHugeAnnouncementsOfUnauthenticatedClients()
    {
        using var siege = new Siege(output);
        string[] announcements = ["*2147483647\r\n", "*10\r\n$16384\r\n", "*11\r\n", "*2\r\n$536870912\r\n"];
        List<RespClient> unauthenticated = siege.Loose(1000, () => new RespClient(siege.Server.Port));
        for (int round = 0; round < LongRun.Times(1, 20); round++)
        {
            for (int i = 0; i < unauthenticated.Count; i++) Siege.Send(unauthenticated[i], Requests.Encode("PING"));
            for (int i = 0; i < unauthenticated.Count; i++)
                Siege.Send(unauthenticated[i], Encoding.Latin1.GetBytes(announcements[i % 4] + new string('x', 10_000)));
            siege.Hold();
        }
        siege.End("unauthenticated clients");
    }

    [Fact]
    public void SurvivesClientsThatNeverRead()
    {
        using var siege = new Siege(output);
        List<RespClient> nonReading = siege.Loose(LongRun.Times(30, 300), () => siege.Connect(receiveBuffer: 4096));
        foreach (RespClient client in nonReading) Siege.Send(client, s_gets);
        siege.Hold();
        siege.End("clients that never read");
    }

    [Fact]
    public void SurvivesManyShortConnections()
    {
        using var siege = new Siege(output);
        Random random = Seed.Random("storm");
        byte[] request = Requests.Encode("SET", "key:1", new string('v', 5000));
        for (int i = 0; i < LongRun.Times(2000, 100_000); i++)
        {
            using var client = new RespClient(siege.Server.Port);
            if (random.Next(4) > 0) Siege.Send(client, request.AsSpan(0, random.Next(request.Length)));
            if (random.Next(4) > 0) client.Socket.LingerState = new LingerOption(true, 0); // closes the connection with a reset
        }
        siege.End("short connections");
    }

    [Fact]
    public void SurvivesIdleConnections()
    {
        using var siege = new Siege(output);
        List<RespClient> idle = siege.Loose(LongRun.Times(3000, 10_000), () => siege.Connect());
        siege.Hold(LongRun.Times(200, 5000));
        foreach (RespClient client in idle) client.Send("PING");
        foreach (RespClient client in idle) Assert.Equal("+PONG", client.Read().ToString());
        siege.End("idle connections");
    }

    [Fact]
    public void SurvivesClientsThatSendByteByByte()
    {
        using var siege = new Siege(output);
        List<RespClient> slow = siege.Loose(LongRun.Times(100, 1000), () => siege.Connect());
        byte[] request = Requests.Encode("GET", "key:1");
        foreach (byte one in request)
        {
            foreach (RespClient client in slow) client.SendRaw([one]);
            siege.Hold(LongRun.Times(5, 500));
        }
        foreach (RespClient client in slow) Assert.Equal('$', client.Read().Type);
        siege.End("byte by byte");
    }

    [Fact]
    public void SurvivesTransactionsWithoutAnEnd()
    {
        using var siege = new Siege(output);
        byte[] commands = Repeat(Requests.Encode("SET", "never", new string('v', 1000)), 500);
        List<RespClient> clients = siege.Loose(20, () => siege.Connect());
        foreach (RespClient client in clients) Siege.Send(client, Requests.Encode("MULTI"));
        // The transactions hold 200 MB, and all clients together may hold half of it. The server closes the largest clients.
        for (int i = 0; i < LongRun.Times(20, 200); i++)
            foreach (RespClient client in clients) Siege.Send(client, commands);
        siege.Hold();
        siege.End("endless transactions");
    }

    [Fact]
    public void SurvivesSubscribersThatStopReading()
    {
        using var siege = new Siege(output);
        siege.Loose(30, () => siege.Connect(receiveBuffer: 4096)).ForEach(client => client.Expect("*[$\"subscribe\" $\"news\" :1]", "SUBSCRIBE", "news"));
        string message = new('m', 100_000);
        for (int i = 0; i < LongRun.Times(300, 5000); i++) siege.Admin.Call("PUBLISH", "news", message);
        siege.Hold();
        siege.Admin.Expect(":0", "PUBLISH", "news", "last message");
        siege.End("stalled subscribers");
    }

    /// <summary>Clients in every possible state, each of which is killed in this state.</summary>
    [Fact]
    public void SurvivesKillsOfClientsInEveryState()
    {
        using var siege = new Siege(output);
        string[][][] states =
        [
            [["BLPOP", "none", "0"]], [["XREAD", "BLOCK", "0", "STREAMS", "none", "$"]], [["BZPOPMIN", "none", "none2", "0"]], [["WAIT", "3", "0"]],
            [["SUBSCRIBE", "news"]], [["PSUBSCRIBE", "n*"]], [["MONITOR"]], [["WATCH", "key:1"]], [["MULTI"], ["GET", "key:1"]],
            [["MULTI"], .. Enumerable.Repeat(new[] { "GET", "big" }, 50), ["EXEC"]], [["EVAL", "for i = 1, 3000 do redis.call('GET', 'key:1') end", "0"]],
            [["CLIENT", "REPLY", "OFF"]], [["HELLO", "3"], ["CLIENT", "TRACKING", "ON"], ["GET", "key:1"]],
            [.. Enumerable.Repeat(new[] { "GET", "big" }, 50)], [["SORT", "none", "BY", "*"]], [],
        ];
        for (int round = 0; round < LongRun.Times(3, 100); round++)
        {
            foreach (string[][] state in states)
            {
                using RespClient killed = siege.Connect(receiveBuffer: 4096);
                string id = killed.Call("CLIENT", "ID").Text!;
                foreach (string[] request in state) killed.Send(request);
                killed.SendRaw("*2\r\n$3\r\nGE");
                if (round % 2 == 0) Thread.Sleep(10);
                siege.Admin.Expect(":1", "CLIENT", "KILL", "ID", id);
                killed.ReadToClose();
            }
        }
        siege.End("kills");
    }

    private static byte[] Repeat(byte[] request, int times) => [.. Enumerable.Repeat(request, times).SelectMany(r => r)];
}
