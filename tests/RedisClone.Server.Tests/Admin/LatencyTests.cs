using System.Diagnostics;
using RedisClone.Admin.Commands;
using RedisClone.Configuration;
using RedisClone.Engine.Metrics;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Admin;

/// <summary>The latency monitor: slow commands and their reports.</summary>
public sealed class LatencyTests
{
    [Fact]
    public async Task SlowCommandsAreRecordedAboveTheThreshold()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Run("DEBUG SLEEP 0.02");
        Assert.Equal("[]", client.Run("LATENCY LATEST"));
        Assert.StartsWith(
            "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance.",
            client.Run("LATENCY DOCTOR"));
        Assert.Equal("OK", client.Run("CONFIG SET latency-monitor-threshold 10"));
        client.Run("DEBUG SLEEP 0.02");
        Assert.Matches(@"\[command \d+ \d+ \d+\]", client.Run("LATENCY LATEST"));
        Assert.Matches(@"^\[\[\d+ \d+\]", client.Run("LATENCY HISTORY command"));
        Assert.Equal("[]", client.Run("LATENCY HISTORY nothing"));
        Assert.StartsWith("command - high ", client.Run("LATENCY GRAPH command"));
        Assert.Equal("ERR No samples available for event 'nothing'", client.Run("LATENCY GRAPH nothing"));
        Assert.StartsWith("Dave, I have observed latency spikes in this Redis instance.",
            client.Run("LATENCY DOCTOR"));
        Assert.Contains("1. command: ", client.Run("LATENCY DOCTOR"));
        Assert.Contains("Sam, ", client.Run("MEMORY DOCTOR"));
        Assert.Equal("0", client.Run("LATENCY RESET nothing"));
        Assert.NotEqual("0", client.Run("LATENCY RESET"));
        Assert.Equal("nil", client.Run("GET k"));
    }

    [Fact]
    public async Task HistogramsCountTheDurationsOfCommands()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Run("CONFIG RESETSTAT");
        client.Run("SET a b");
        client.Run("SET a c");
        client.Run("CLIENT ID");
        Assert.Matches(@"^\[set \[calls 2 histogram_usec \[(\d+ \d+ ?)+\]\]\]$", client.Run("LATENCY HISTOGRAM nosuch set get"));
        Assert.Matches(@"^\[client\|id \[calls 1 histogram_usec \[\d+ 1\]\]\]$", client.Run("LATENCY HISTOGRAM client"));
        Assert.Contains("config|resetstat [calls 1 ", client.Run("LATENCY HISTOGRAM"));
    }

    [Fact]
    public void SamplesOfASecondAreMergedAndTheOldestAreDropped()
    {
        var series = new LatencySeries();
        for (int second = 1; second <= 200; second++)
        {
            series.Add(second, second);
            series.Add(second, second / 2);
        }
        LatencySeries.Sample[] samples = series.Read();
        Assert.Equal(160, samples.Length);
        Assert.Equal(new LatencySeries.Sample(41, 41), samples[0]);
        Assert.Equal(new LatencySeries.Sample(200, 200), samples[^1]);
        Assert.Equal(200, series.Worst);
    }

    [Fact]
    public void AGraphHasOneColumnForEachSample()
    {
        var record = new LatencyRecord("command", [new(100, 10), new(160, 20), new(220, 130)], 500);
        Assert.Equal(
            $"command - high 130 ms, low 10 ms (all time high 500 ms)\n{new string('-', 80)}\n  #\n  |\n  |\n_o|\n   \n211\nmms\n",
            LatencyGraph.Draw(record, 221));
    }

    [Fact]
    public void AResetRemovesTheNamedEvent()
    {
        var monitor = new LatencyMonitor(new ServerConfig { LatencyMonitorThreshold = 1 });
        monitor.Note("a", Stopwatch.Frequency / 10_000);
        Assert.Empty(monitor.Read());
        monitor.Note("a", Stopwatch.Frequency);
        monitor.Note("b", Stopwatch.Frequency);
        Assert.Equal(1000, monitor.Read("a")!.Worst);
        Assert.Equal(1, monitor.Reset("A"));
        Assert.Null(monitor.Read("a"));
        Assert.Equal(1, monitor.Reset());
    }
}
