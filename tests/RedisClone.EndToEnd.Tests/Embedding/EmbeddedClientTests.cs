using System.Net;
using System.Net.Sockets;
using RedisClone.Server.Embedding;
using RedisClone.Testing;
using StackExchange.Redis;
using StackExchange.Redis.Configuration;

namespace RedisClone.EndToEnd.Tests.Embedding;

/// <summary>StackExchange.Redis with a server in the same process.</summary>
public sealed class EmbeddedClientTests
{
    [Theory]
    [InlineData("resp2")]
    [InlineData("resp3")]
    public async Task TheClientConnectsToAPort(string protocol)
    {
        await using RedisTestServer server = await RedisTestServer.StartAsync();
        await UseAsync(Options(server.ConnectionString, protocol));
    }

    [Theory]
    [InlineData("resp2")]
    [InlineData("resp3")]
    public async Task TheClientConnectsWithoutASocket(string protocol)
    {
        await using var server = new RedisCloneServer(new RedisCloneOptions { Port = null });
        await server.StartAsync();
        var tunnel = new InProcess(server);
        ConfigurationOptions options = Options("in-process:1", protocol);
        options.Tunnel = tunnel;
        await UseAsync(options);
        Assert.InRange(tunnel.Connections, 1, int.MaxValue);
        Assert.False(tunnel.HadSocket);
    }

    private static ConfigurationOptions Options(string endPoint, string protocol) =>
        ConfigurationOptions.Parse($"{endPoint},protocol={protocol},syncTimeout=60000,asyncTimeout=60000,connectTimeout=60000");

    private static async Task UseAsync(ConfigurationOptions options)
    {
        await using ConnectionMultiplexer redis = await ConnectionMultiplexer.ConnectAsync(options);
        Assert.Equal(options.Protocol, redis.GetServers().Single().Protocol);
        IDatabase db = redis.GetDatabase();
        byte[] large = [.. Enumerable.Range(0, 1_000_000).Select(i => (byte)i)];
        Assert.True(await db.StringSetAsync("key", large));
        Assert.Equal(large, (byte[]?)await db.StringGetAsync("key"));

        long[] counts = await Task.WhenAll(Enumerable.Range(0, 1000).Select(_ => db.StringIncrementAsync("count")));
        Assert.Equal(Enumerable.Range(1, 1000).Select(i => (long)i), counts);

        ChannelMessageQueue news = await redis.GetSubscriber().SubscribeAsync(RedisChannel.Literal("news"));
        Assert.Equal(1, await db.PublishAsync(RedisChannel.Literal("news"), "today"));
        using var limit = new CancellationTokenSource(TimeSpan.FromMinutes(1));
        Assert.Equal("today", (await news.ReadAsync(limit.Token)).Message);
    }

    /// <summary>The tunnel of docs/embedding.md. This copy counts its connections.</summary>
    private sealed class InProcess(RedisCloneServer server) : Tunnel
    {
        private int _connections;

        public int Connections => _connections;

        public bool HadSocket { get; private set; }

        public override ValueTask<EndPoint?> GetSocketConnectEndpointAsync(
            EndPoint endpoint, CancellationToken cancellationToken) => default;

        public override ValueTask<Stream?> BeforeAuthenticateAsync(
            EndPoint endpoint, ConnectionType connectionType, Socket? socket, CancellationToken cancellationToken)
        {
            Interlocked.Increment(ref _connections);
            HadSocket |= socket is not null;
            return new(server.ConnectStream());
        }
    }
}
