using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Clients;

/// <summary>Clients such as redis-py send a whole pipeline before they read its first reply.</summary>
public sealed class LongPipelineTests
{
    [Fact]
    public void APipelineMayBeSentBeforeItsRepliesAreRead()
    {
        const int Requests = 40_000;
        string key = new('k', 300), value = new('v', 2_000);
        using ServerProcess server = ServerProcess.Ours();
        using RespClient client = server.Connect();
        client.Expect("+OK", "SET", key, value);
        Reply[] replies = client.Pipeline([.. Enumerable.Repeat<string[]>(["GET", key], Requests)]);
        Assert.All(replies, reply => Assert.Equal(value, reply.Text));
        server.AssertWell();
    }
}
