using RedisClone.Engine.Metrics;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Admin;

/// <summary>The report of the most expensive keys.</summary>
public sealed class HotKeysTests
{
    [Fact]
    public async Task TheHottestKeyComesFirst()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal("nil", client.Run("HOTKEYS GET"));
        Assert.Equal("nil", client.Run("HOTKEYS STOP"));
        Assert.Equal("OK", client.Run("HOTKEYS START METRICS 2 CPU NET COUNT 2"));
        Assert.Equal("ERR hotkey tracking session already in progress", client.Run("HOTKEYS START METRICS 1 CPU"));
        for (int i = 0; i < 50; i++) client.Run("GET hot");
        for (int i = 0; i < 5; i++) client.Run("GET warm");
        client.Run("MULTI");
        client.Run("SET cold x");
        client.Run("EXEC");
        string report = client.Run("HOTKEYS GET");
        // The request *2 $3 GET $3 hot has 22 bytes, and the reply $-1 has 5.
        Assert.Contains("by-net-bytes [hot 1350 warm 140]", report);
        Assert.StartsWith("[[tracking-active 1 sample-ratio 1 selected-slots [[0 16383]] all-commands-all-slots-us ", report);
        Assert.Equal("ERR hotkey tracking session in progress, stop tracking first", client.Run("HOTKEYS RESET"));
        Assert.Equal("OK", client.Run("HOTKEYS STOP"));
        client.Run("GET late");
        Assert.Contains("by-net-bytes [hot 1350 warm 140]", client.Run("HOTKEYS GET"));
        Assert.Equal("OK", client.Run("HOTKEYS RESET"));
        Assert.Equal("nil", client.Run("HOTKEYS GET"));
    }

    [Theory]
    [InlineData("", "ERR METRICS parameter is required")]
    [InlineData(" COUNT 3", "ERR METRICS parameter is required")]
    [InlineData(" METRICS 3 CPU", "ERR METRICS count must be > 0 and <= 2")]
    [InlineData(" METRICS 2 CPU", "ERR METRICS count does not match number of metric types provided")]
    [InlineData(" METRICS 2 CPU CPU", "ERR METRICS CPU defined more than once!")]
    [InlineData(" METRICS 1 DISK", "ERR METRICS no valid metrics passed. Supported: CPU|NET")]
    [InlineData(" METRICS 1 CPU COUNT 65", "ERR COUNT must be between 1 and 64")]
    [InlineData(" METRICS 1 CPU DURATION 0", "ERR DURATION must be between 1 and 1000000")]
    [InlineData(" METRICS 1 CPU SAMPLE 0", "ERR SAMPLE ratio must be positive")]
    [InlineData(" METRICS 1 CPU SLOTS 1 0", "ERR SLOTS parameter cannot be used in non-cluster mode")]
    [InlineData(" METRICS 1 CPU WHAT", "ERR syntax error")]
    public async Task AnInvalidRequestStartsNoSession(string arguments, string error)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal(error, client.Run("HOTKEYS START" + arguments));
        Assert.Equal("nil", client.Run("HOTKEYS GET"));
    }

    [Fact]
    public void ASessionEndsAfterItsDuration()
    {
        var keys = new HotKeys();
        Assert.True(keys.TryStart(new HotKeyOptions(HotKeyMetrics.Net) { DurationMilliseconds = 1000 }, 5000));
        keys.Tend(5999);
        Assert.NotNull(keys.Active);
        keys.Tend(7000);
        Assert.Null(keys.Active);
        HotKeyReport report = keys.Last(9000)!.Read(9000);
        Assert.False(report.IsActive);
        Assert.Equal(1000, report.DurationMilliseconds);
    }

    [Fact]
    public void AHeavyKeyIsKeptAmongManyLightKeys()
    {
        var hitters = new HeavyHitters(20);
        for (int i = 0; i < 10_000; i++)
        {
            hitters.Add(BitConverter.GetBytes(i), 1);
            if (i % 4 == 0) hitters.Add("heavy"u8, 1);
        }
        Assert.Equal(12_500, hitters.Total);
        (byte[] key, long sum) = hitters.Top(1)[0];
        Assert.Equal("heavy"u8, key);
        Assert.InRange(sum, 2000, 2500);
    }
}
