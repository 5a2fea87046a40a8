using System.IO.Pipelines;
using System.Text;
using RedisClone.Server.Embedding;

namespace RedisClone.Server.Tests.Embedding;

/// <summary>Clients without a socket behave like all other clients.</summary>
public sealed class MemoryConnectionTests : IAsyncLifetime
{
    private readonly RedisCloneServer _server = new(new RedisCloneOptions { Port = null, ["shards"] = "4" });

    public Task InitializeAsync() => _server.StartAsync();

    public async Task DisposeAsync() => await _server.DisposeAsync();

    [Fact]
    public async Task APipeAcceptsALongPipelineAndReturnsTheRepliesInOrder()
    {
        const int count = 20_000;
        IDuplexPipe pipe = _server.Connect();
        Task sending = Task.Run(async () =>
        {
            for (int i = 0; i < count; i++) await pipe.Output.WriteAsync("INCR counter\r\n"u8.ToArray());
        });
        string expected = string.Concat(Enumerable.Range(1, count).Select(i => $":{i}\r\n"));
        await pipe.Input.AsStream().ExpectAsync("", expected);
        await sending;
        await pipe.Output.CompleteAsync();
        await pipe.Input.CompleteAsync();
    }

    [Fact]
    public async Task LargeValuesAreSentAndReceived()
    {
        using Stream client = _server.ConnectStream();
        string value = new('x', 5_000_000);
        Task setting = client.WriteAsync(Encoding.Latin1.GetBytes($"*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n${value.Length}\r\n{value}\r\n")).AsTask();
        await client.ExpectAsync("", "+OK\r\n");
        await setting;
        Assert.Equal(value, await client.AskAsync("GET large"));
    }

    [Fact]
    public async Task MessagesAndElementsReachOtherConnections()
    {
        using Stream reader = _server.ConnectStream(), other = _server.ConnectStream();
        await reader.ExpectAsync("SUBSCRIBE news", "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n");
        await other.ExpectAsync("PUBLISH news today", ":1\r\n");
        await reader.ExpectAsync("", "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\ntoday\r\n");
        using Stream waiting = _server.ConnectStream();
        Task served = waiting.ExpectAsync("BLPOP list 0", "*2\r\n$4\r\nlist\r\n$1\r\na\r\n");
        await other.UntilAsync("INFO clients", "blocked_clients:1");
        await other.ExpectAsync("RPUSH list a", ":1\r\n");
        await served;
    }

    [Fact]
    public async Task AClientThatDisconnectsWhileBlockedIsRemoved()
    {
        using Stream observer = _server.ConnectStream();
        IDuplexPipe[] pipes = [.. Enumerable.Range(0, 20).Select(_ => _server.Connect())];
        foreach (IDuplexPipe pipe in pipes) await pipe.Output.WriteAsync("BLPOP nothing 0\r\n"u8.ToArray());
        await observer.UntilAsync("INFO clients", "blocked_clients:20");
        foreach (IDuplexPipe pipe in pipes)
        {
            await pipe.Output.CompleteAsync();
            await pipe.Input.CompleteAsync();
        }
        await observer.UntilAsync("INFO clients", "blocked_clients:0");
        await observer.UntilAsync("INFO clients", "connected_clients:1\r");
    }

    [Fact]
    public async Task TheServerCanCloseAConnection()
    {
        using Stream observer = _server.ConnectStream(), leaving = _server.ConnectStream(), killed = _server.ConnectStream(), greedy = _server.ConnectStream();
        await leaving.ExpectAsync("QUIT", "+OK\r\n");
        await leaving.ExpectEndAsync();
        foreach (Stream client in (Stream[])[killed, greedy]) await client.ExpectAsync("PING", "+PONG\r\n");
        await observer.ExpectAsync("CLIENT KILL SKIPME yes USER default", ":2\r\n");
        await killed.ExpectEndAsync();
        await greedy.ExpectEndAsync();
        await _server.StopAsync();
        await observer.ExpectEndAsync();
        Assert.Throws<InvalidOperationException>(() => _server.Connect());
    }

    [Fact]
    public async Task AClientThatDoesNotReadIsClosedAtShutdown()
    {
        using Stream greedy = _server.ConnectStream(), other = _server.ConnectStream();
        await other.ExpectAsync("SETRANGE large 1000000 x", ":1000001\r\n");
        for (int i = 0; i < 10; i++) await greedy.WriteAsync("GET large\r\n"u8.ToArray());
        await other.UntilAsync("INFO commandstats", "cmdstat_get:calls=");
        await _server.StopAsync().WaitAsync(Talk.Patience);
    }
}
