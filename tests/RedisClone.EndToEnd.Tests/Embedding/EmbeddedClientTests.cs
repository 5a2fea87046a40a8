using RedisClone.Testing;
using StackExchange.Redis;
#if STACKEXCHANGE_TUNNEL
using System.Net;
using System.Net.Sockets;
using StackExchange.Redis.Configuration;
#endif

namespace RedisClone.EndToEnd.Tests.Embedding;

/// <summary>The usual client on a server within its own process.</summary>
public sealed class EmbeddedClientTests
{
    [Fact]
    public async Task It_connects_to_a_port()
    {
        await using RedisTestServer server = await RedisTestServer.StartAsync();
        await UseAsync(Options(server.ConnectionString));
    }

#if STACKEXCHANGE_TUNNEL
    [Fact]
    public async Task It_connects_without_a_socket()
    {
        await using RedisTestServer server = await RedisTestServer.StartInMemoryAsync();
        ConfigurationOptions options = Options("in-process:1");
        options.Tunnel = new InProcess(server);
        await UseAsync(options);
    }

    private sealed class InProcess(RedisTestServer server) : Tunnel
    {
        public override ValueTask<EndPoint?> GetSocketConnectEndpointAsync(EndPoint endpoint, CancellationToken cancellationToken) => default;

        public override ValueTask<Stream?> BeforeAuthenticateAsync(EndPoint endpoint, ConnectionType connectionType, Socket? socket, CancellationToken cancellationToken) =>
            new(server.ConnectStream());
    }
#endif

    private static ConfigurationOptions Options(string endPoint) =>
        ConfigurationOptions.Parse(endPoint + ",syncTimeout=60000,connectTimeout=60000,responseTimeout=60000");

    private static async Task UseAsync(ConfigurationOptions options)
    {
        using ConnectionMultiplexer redis = await ConnectionMultiplexer.ConnectAsync(options);
        IDatabase db = redis.GetDatabase();
        Assert.True(await db.StringSetAsync("key", "value"));
        Assert.Equal("value", (string?)await db.StringGetAsync("key"));
        redis.Close(allowCommandsToComplete: false);
    }
}
