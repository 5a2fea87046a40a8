using System.Net.Sockets;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Soak;

/// <summary>Connections that open, begin an operation that the server must remember, and close without completing it.</summary>
internal sealed class Visitors(ServerProcess server) : IDisposable
{
    private const int AtATime = 25;

    private readonly Queue<RespClient> _here = new();

    public void Act(RespClient admin, Random random)
    {
        RespClient visitor = server.Connect(random.Next(2) == 0 ? 2 : 3);
        _here.Enqueue(visitor);
        Begin(visitor, random);
        if (_here.Count <= AtATime) return;
        using RespClient leaving = _here.Dequeue();
        switch (random.Next(4))
        {
            case 0:
                leaving.Socket.LingerState = new LingerOption(true, 0); // closes the connection with a reset
                break;
            case 1:
                string address = leaving.Socket.LocalEndPoint!.ToString()!;
                admin.Call("CLIENT", "KILL", "ADDR", address);
                break;
        }
    }

    public void Dispose()
    {
        foreach (RespClient visitor in _here) visitor.Dispose();
    }

    private static void Begin(RespClient client, Random random)
    {
        string name = $"visit:{random.Next()}", common = $"s:{random.Next(1000)}";
        string[][] requests = random.Next(9) switch
        {
            0 => [["WATCH", name, common], ["GET", common]],
            1 => [["WATCH", common], ["MULTI"], ["SET", name, "x"], ["BLPOP", name, "0"]],
            2 => [["SUBSCRIBE", name, "news"]],
            3 => [["PSUBSCRIBE", name + "*"]],
            4 => [["BLPOP", name, "jobs", "0"]],
            5 => [["XREAD", "BLOCK", "0", "STREAMS", name, "$"]],
            6 => [["EVAL", $"return redis.call('SET', KEYS[1], '{name}', 'PX', 500)", "1", name]],
            7 => [["CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", name], ["PUBLISH", "news", name], ["RPUSH", "jobs", name]],
            _ => [["CLIENT", "SETNAME", name], .. Enumerable.Repeat(new[] { "GET", common }, 50)],
        };
        foreach (string[] request in requests) client.Send(request);
        if (random.Next(3) == 0) client.SendRaw("*3\r\n$3\r\nSET\r\n$5\r\nhal");
    }
}
