using System.Globalization;
using RedisClone.EndToEnd.Tests.Concurrency;
using RedisClone.EndToEnd.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Soak;

/// <summary>
/// Churn with expiry at the memory limit, and connections that open and close. After a while no resource grows any more.
/// <c>tests/long soak [minutes]</c> is the long run. The short form only shows that clients leave nothing behind.
/// </summary>
public sealed class SoakTests(ITestOutputHelper output)
{
    private const int MaxMemory = 128 << 20;

    /// <summary>The largest allowed difference between the memory after warm-up and in the last part of a long run.</summary>
    private const double MostDrift = 0.02;

    private static readonly int s_minutes = LongRun.Times(0, 30);
    private static readonly TimeSpan s_between = LongRun.IsLong ? TimeSpan.FromSeconds(5) : TimeSpan.FromSeconds(0.5);
    private static readonly TimeSpan s_rest = LongRun.IsLong ? TimeSpan.FromMilliseconds(10) : TimeSpan.Zero;

    private readonly List<Vitals> _samples = [];

    [Fact]
    public void NothingGrowsWithUptime()
    {
        using ServerProcess server = ServerProcess.Ours(
            "--maxmemory", $"{MaxMemory}", "--maxmemory-policy", "allkeys-lru", "--save", "", "--latency-monitor-threshold", "1",
            "--slowlog-log-slower-than", "1000");
        using RespClient client = server.Connect();
        Vitals before = Vitals.OfQuiet(server, client);
        using (var visitors = new Visitors(server))
        {
            var crowd = new Crowd(server);
            for (int i = 0; i < 2; i++) crowd.AddWatcher($"churn {i}", (churning, random) => Resting(() => Churn.Act(churning, random)));
            crowd.AddWatcher("visitors", (admin, random) => Resting(() => visitors.Act(admin, random)));
            int samples = Math.Max(5, (int)(TimeSpan.FromMinutes(s_minutes) / s_between));
            crowd.Add("samples", samples, (asking, _) => Sample(server, asking));
            crowd.Join();
        }
        if (LongRun.IsLong) CheckDrift();
        Vitals after = Vitals.OfQuiet(server, client, before.Sockets);
        Assert.InRange(after["number_of_cached_scripts"], 0, 500);
        Assert.Equal(0, after["unexpected_error_replies"]);
        client.Expect("+OK", "FLUSHALL");
        client.Expect("+OK", "SCRIPT", "FLUSH");
        // The server frees large databases in steps.
        Vitals empty;
        for (int looks = 0; (empty = Vitals.OfQuiet(server, client))["used_memory"] > before["used_memory"] + (8 << 20); looks++)
        {
            Assert.True(looks < 600, $"not empty: {Show(empty)}");
            Thread.Sleep(100);
        }
        output.WriteLine($"empty: {Show(empty)}");
        server.AssertWell();
    }

    private static void Resting(Action act)
    {
        act();
        Thread.Sleep(s_rest);
    }

    private void Sample(ServerProcess server, RespClient client)
    {
        Thread.Sleep(s_between);
        Vitals now = Vitals.Of(server, client);
        _samples.Add(now);
        if (!LongRun.IsLong || _samples.Count % 12 == 0) Console.WriteLine(Show(now));
    }

    private static string Show(Vitals vitals) => string.Create(
        CultureInfo.InvariantCulture,
        $"{vitals["uptime_in_seconds"]} s: resident {vitals.ResidentBytes / 1048576.0:F1} MB, used {vitals["used_memory"] / 1048576.0:F1} MB, "
        + $"collector {vitals["managed_heap_committed"] / 1048576.0:F1} MB, "
        + $"{vitals.Threads} threads, {vitals.Handles} handles, {vitals["connected_clients"]} clients, {vitals["number_of_cached_scripts"]} scripts, "
        + $"{vitals["expired_keys"]} expired, {vitals["evicted_keys"]} evicted, {vitals["total_commands_processed"]} commands");

    /// <summary>
    /// The first third of the run is warm-up. The medians of the first and the last quarter of the rest are compared.
    /// </summary>
    private void CheckDrift()
    {
        Vitals[] warm = [.. _samples.Skip(_samples.Count / 3)];
        Vitals[] first = [.. warm.Take(warm.Length / 4)], last = [.. warm.TakeLast(warm.Length / 4)];
        double drift = Median(last, v => v.ResidentBytes) / Median(first, v => v.ResidentBytes) - 1;
        output.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"resident memory: {Median(first, v => v.ResidentBytes) / 1048576:F1} MB after warm-up, {drift:+0.00%;-0.00%} at the end"));
        Func<Vitals, double>[] counts =
        [
            v => v.Threads, v => v.Handles, v => v["total_watched_keys"], v => v["total_blocking_keys"], v => v["pubsub_channels"],
            v => v["number_of_cached_scripts"],
        ];
        foreach (Func<Vitals, double> count in counts)
            Assert.InRange(Median(last, count), 0, Median(first, count) * 1.2 + 4);
        Assert.True(warm[0]["evicted_keys"] > 0, "memory never reached its limit");
        Assert.InRange(drift, -1, MostDrift);
    }

    private static double Median(Vitals[] samples, Func<Vitals, double> of) => samples.Select(of).Order().ElementAt(samples.Length / 2);
}
