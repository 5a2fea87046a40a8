using RedisClone.Admin.History;
using RedisClone.Admin.Info;
using RedisClone.Configuration;
using RedisClone.Engine.Metrics;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Admin;

/// <summary>The history of the figures, with samples at chosen times.</summary>
public sealed class HistoryTests
{
    private const string Commands = "redis_commands_processed_total", Keys = "redis_connected_clients";
    private const string Slowest = "redisclone_command_latency_seconds{family=\"string\",quantile=\"0.9999\"}";

    [Fact]
    public async Task EveryExportedFigureWithoutMembersHasASeries()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        var history = new FigureHistory(server.Core);
        foreach (Figure figure in InfoReport.Rows.OfType<Figure>().Where(figure => figure.Metric is not null))
            Assert.Same(figure.Metric, history.MetricOf(figure.Metric!.Name));
        foreach (Distribution distribution in InfoReport.Rows.OfType<Distribution>())
            Assert.Contains(history.Names, name => name.StartsWith(distribution.Metric.Name + "{", StringComparison.Ordinal));
        Assert.Equal(history.Names.Length, history.Names.Distinct().Count());
        // Both rings together, in bytes.
        Assert.InRange(history.Names.Length * sizeof(float) * (FigureHistory.SecondsKept + FigureHistory.MinutesKept), 1, 6 << 20);
    }

    [Fact]
    public async Task ACounterIsKeptAsARateAndAGaugeAsItsValue()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        var history = new FigureHistory(server.Core);
        history.Sample(1000);
        for (int i = 0; i < 50; i++) client.Run("SET a 1");
        history.Sample(1001);
        history.Sample(1002);
        HistoryPoints points = history.Read([Commands, Keys, Slowest, "unknown"], seconds: 10, points: 10, after: 0);
        Assert.Equal([1000L, 1001, 1002], points.Times);
        Assert.Equal(1, points.Step);
        Assert.True(float.IsNaN(points.Values[0][0]));
        Assert.True(points.Values[0][1] > 0);
        Assert.Equal(0, points.Values[0][2]);
        Assert.Equal(1, points.Values[1][1]);
        // The percentiles are those of the calls within the second.
        Assert.True(points.Values[2][1] > 0);
        Assert.True(float.IsNaN(points.Values[2][2]));
        Assert.All(points.Values[3], value => Assert.True(float.IsNaN(value)));
    }

    [Fact]
    public async Task TheRingsKeepAnHourAndADay()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        var history = new FigureHistory(server.Core);
        const int samples = FigureHistory.SecondsKept + 130;
        for (int second = 1; second <= samples; second++) history.Sample(second);
        HistoryPoints hour = history.Read([Keys], FigureHistory.SecondsKept, points: 5000, after: 0);
        Assert.Equal(FigureHistory.SecondsKept, hour.Times.Count);
        Assert.Equal(samples, hour.Times[^1]);
        HistoryPoints day = history.Read([Keys], 86400, points: 5000, after: 0);
        Assert.Equal(60, day.Step);
        Assert.Equal(samples / 60, day.Times.Count);
        Assert.Equal(60, day.Times[0]);
    }

    [Fact]
    public async Task PointsCoverTheSameSamplesInEveryRead()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        var history = new FigureHistory(server.Core);
        for (int second = 1; second <= 95; second++) history.Sample(second);
        HistoryPoints first = history.Read([Keys], seconds: 100, points: 10, after: 0);
        Assert.Equal(10, first.Step);
        Assert.Equal([10L, 20, 30, 40, 50, 60, 70, 80, 90], first.Times);
        for (int second = 96; second <= 101; second++) history.Sample(second);
        Assert.Equal([100L], history.Read([Keys], seconds: 100, points: 10, after: first.Times[^1]).Times);
    }

    [Fact]
    public async Task ResetStatisticsMakeNoNegativeRate()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        var history = new FigureHistory(server.Core);
        for (int i = 0; i < 50; i++) client.Run("SET a 1");
        history.Sample(1);
        client.Run("CONFIG RESETSTAT");
        history.Sample(2);
        client.Run("SET a 1");
        history.Sample(3);
        List<float> rates = history.Read([Commands], 10, 10, 0).Values[0];
        Assert.True(float.IsNaN(rates[1]));
        Assert.True(rates[2] > 0);
    }

    [Fact]
    public void AGainHasThePercentilesOfWhatWasAdded()
    {
        var now = new LatencyHistogram();
        for (int i = 0; i < 1000; i++) now.Add(10);
        var before = new LatencyHistogram();
        before.SetTo(now);
        for (int i = 0; i < 100; i++) now.Add(i < 90 ? 100 : 100_000);
        var gain = new LatencyHistogram();
        gain.SetGain(now, before);
        Span<long> values = stackalloc long[3];
        Assert.Equal(100, gain.Percentiles([50, 90, 99], values));
        Assert.InRange(values[0], 100, 103);
        Assert.InRange(values[1], 100, 103);
        Assert.InRange(values[2], 100_000, 103_200);
        Assert.Equal(gain.Percentile(99), values[2]);
    }

    [Fact]
    public async Task TheLoadOfAHotShardShows()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        // The loads of the server itself are sampled every second.
        var loads = new ShardLoads(server.Core.Shards);
        loads.Sample();
        for (int i = 0; i < 2000; i++) client.Run("INCR hot");
        loads.Sample();
        Assert.InRange(loads.Imbalance, 3, 4);
        int[] last = loads.Read(1)[0];
        Assert.Equal(4, last.Length);
        Assert.InRange(last.Max(), 2000, 2200);
    }
}
