using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;
using StackExchange.Redis;

namespace RedisClone.EndToEnd.Tests.Clients;

/// <summary>Widely used clients find the primary through Sentinel, and go on after its death.</summary>
public sealed class SentinelClientTests : IDisposable
{
    private static readonly string[] OfTests = ["--repl-ping-replica-period", "1"];

    private readonly ServerProcess _primary = ServerProcess.Ours(OfTests);
    private readonly ServerProcess _replica;
    private readonly Sentinels _sentinels;

    public SentinelClientTests()
    {
        _replica = ServerProcess.Ours([.. OfTests, "--replicaof", "127.0.0.1", $"{_primary.Port}"]);
        _sentinels = new Sentinels(_primary.Port, downAfter: 1000, failoverTimeout: 5000);
        _sentinels.AwaitReplicas(1, _replica);
    }

    public void Dispose()
    {
        _sentinels.Dispose();
        _primary.Dispose();
        _replica.Dispose();
    }

    [Theory]
    [InlineData("node", "ioredis-sentinel.mjs")]
    [InlineData("/usr/bin/python3", "redis_py_sentinel.py")]
    public async Task AProgramGoesOn(string program, string script)
    {
        using var client = new ClientProgram(program, [script, Sentinels.Name, $"{_replica.Port}", .. _sentinels.Ports.Select(port => $"{port}")]);
        await client.ReadUntil("ready\n");
        AwaitCopy();
        _primary.Kill();
        Assert.EndsWith("tour complete\n", await client.Finish());
        _replica.AssertWell();
    }

    [Fact]
    public async Task StackExchangeGoesOn()
    {
        string sentinels = string.Join(',', _sentinels.Ports.Select(port => $"127.0.0.1:{port}"));
        await using ConnectionMultiplexer redis = await ConnectionMultiplexer.ConnectAsync($"{sentinels},serviceName={Sentinels.Name},connectTimeout=30000");
        IDatabase db = redis.GetDatabase();
        await db.StringSetAsync("before", "1");
        AwaitCopy();
        _primary.Kill();
        for (int attempts = 0; ; attempts++)
        {
            try
            {
                await db.StringSetAsync("after", "2");
                break;
            }
            catch (RedisException)
            {
                Assert.True(attempts < 600, "the client does not find the new primary");
                await Task.Delay(100);
            }
        }
        Assert.Equal("1", (string?)await db.StringGetAsync("before", CommandFlags.DemandMaster));
        using RespClient client = _replica.Connect();
        client.Expect("$\"2\"", "GET", "after");
        _replica.AssertWell();
    }

    private void AwaitCopy()
    {
        using RespClient client = _primary.Connect();
        client.Expect(":1", "WAIT", "1", "30000");
        using RespClient replica = _replica.Connect();
        FollowingTests.Until(() => replica.Call("GET", "before").Text == "1", "the write does not arrive", _replica);
    }
}
