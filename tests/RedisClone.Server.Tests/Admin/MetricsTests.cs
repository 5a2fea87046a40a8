using System.Globalization;
using System.Net;
using System.Text.Json;
using System.Text.RegularExpressions;
using RedisClone.Admin.Info;
using RedisClone.Admin.Prometheus;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Journal.Disk;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Admin;

/// <summary>The metrics port: the page for Prometheus and the health checks.</summary>
public sealed partial class MetricsTests
{
    [GeneratedRegex("""^(?<name>[a-z_]+)(\{(?<labels>[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*)\})? (?<value>-?[0-9.]+(E[+-]?\d+)?)$""")]
    private static partial Regex Sample { get; }

    [GeneratedRegex("redis(clone)?_[a-z_]+")]
    private static partial Regex Name { get; }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task EverySampleBelongsToADescribedMetric(TransportKind transport)
    {
        await using RunningServer server = await StartAsync(transport);
        Work(server);
        var types = new Dictionary<string, string>();
        var seen = new HashSet<string>();
        string current = "";
        string page = await GetAsync(server, "/metrics");
        Assert.EndsWith("\n", page);
        foreach (string line in page.TrimEnd('\n').Split('\n'))
        {
            if (line.StartsWith("# HELP ", StringComparison.Ordinal)) current = line.Split(' ')[2];
            else if (line.StartsWith("# TYPE ", StringComparison.Ordinal))
                Assert.True(line.Split(' ')[2] == current && types.TryAdd(current, line.Split(' ')[3]), line);
            else
            {
                Match sample = Sample.Match(line);
                Assert.True(sample.Success, line);
                string name = sample.Groups["name"].Value;
                Assert.True(name == current || types[current] == "histogram" && name.StartsWith(current + "_", StringComparison.Ordinal), line);
                Assert.True(seen.Add(line[..line.LastIndexOf(' ')]), line);
            }
        }
        Assert.All(types.Values, type => Assert.Contains(type, new[] { "counter", "gauge", "histogram", "summary" }));
    }

    [Fact]
    public async Task ALookupRepeatedOnAWorkerCountsOnce()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Call(["SADD", "large", .. Enumerable.Range(0, 2 * Limits.InlineWork).Select(i => $"{i}")]);
        client.Run("CONFIG RESETSTAT");
        client.Run("SMEMBERS large");
        client.Run("SUNION large absent");
        string stats = client.Run("INFO stats");
        Assert.Contains("keyspace_hits:2\r", stats, StringComparison.Ordinal);
        Assert.Contains("keyspace_misses:1\r", stats, StringComparison.Ordinal);
    }

    [Fact]
    public async Task TheMetricsMatchInfo()
    {
        await using RunningServer server = await StartAsync(TransportKind.EventLoop);
        Work(server);
        string page = await GetAsync(server, "/metrics");
        Assert.Contains("\nredis_commands_total{cmd=\"set\"} 3\n", page);
        Assert.Contains("\nredis_commands_failed_calls_total{cmd=\"incr\"} 1\n", page);
        Assert.Contains("\nredis_errors_total{err=\"ERR\"} 1\n", page);
        Assert.Contains("\nredis_errors_total{err=\"A\\\"B\\\\\"} 1\n", page);
        Assert.Contains("\nredis_db_keys{db=\"db0\"} 2\n", page);
        Assert.Contains("\nredis_db_keys_expiring{db=\"db3\"} 1\n", page);
        Assert.Contains("\nredis_rdb_last_bgsave_status 1\n", page);
        Assert.Contains("\nredis_commands_latencies_usec_count{cmd=\"set\"} 3\n", page);
        Assert.Contains("\nredis_commands_latencies_usec_bucket{cmd=\"set\",le=\"+Inf\"} 3\n", page);
        Assert.DoesNotContain("cmd=\"lpush\"", page);
    }

    /// <summary>The rules that <c>promtool check metrics</c> checks. The exceptions have the names of redis_exporter.</summary>
    [Fact]
    public void NamesFollowTheRulesOfPrometheus()
    {
        string[] ofExporter =
        [
            "redis_aof_delayed_fsync", "redis_aof_last_rewrite_duration_sec", "redis_rdb_last_bgsave_duration_sec", "redis_total_error_replies",
            "redis_total_reads_processed", "redis_total_writes_processed", "redis_unexpected_error_replies",
        ];
        string[] abbreviated = ["sec", "ms", "usec", "us", "min", "kb", "mb"];
        Metric[] metrics = [.. MetricsPage.Exports.Select(static export => export.Metric)];
        Assert.Equal(metrics.Length, metrics.Select(static metric => metric.Name).Distinct().Count());
        foreach (Metric metric in metrics)
        {
            Assert.Matches("^redis(clone)?(_[a-z]+)+$", metric.Name);
            Assert.True(metric.Help.EndsWith('.') && metric.Help.Length > 10, metric.Name);
            string[] words = metric.Name.Split('_');
            bool isRegular = metric.IsCounter == (words[^1] == "total") && !words.Any(abbreviated.Contains);
            Assert.True(isRegular != ofExporter.Contains(metric.Name), metric.Name);
        }
    }

    [Fact]
    public async Task TheBuffersOfAllClassesAreAllBuffers()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        foreach (int size in (int[])[1, 40, 100, 1000, 5000, 20_000, 300_000])
            for (int i = 0; i < 10; i++) client.Call("SET", $"key:{size}:{i}", new string('x', size));
        string info = client.Run("INFO buffers memory");
        (long Used, long Bytes)[] classes =
        [
            .. Regex.Matches(info, @"buffers_(?:\d+|large):used=(\d+),bytes=(\d+),slack=\d+")
                .Select(static match => (Number(match.Groups[1].Value), Number(match.Groups[2].Value))),
        ];
        Assert.True(classes.Length > 6, info);
        Assert.Equal(Number(Regex.Match(info, @"allocator_allocated:(\d+)").Groups[1].Value), classes.Sum(static c => c.Bytes));
        // A value of 300,000 bytes is one buffer of whole pages.
        Assert.True(classes[^1].Bytes >= 10 * 320_000, info);

        static long Number(string text) => long.Parse(text, CultureInfo.InvariantCulture);
    }

    [Theory]
    [InlineData("1.2.3.4,port=1\r\nused_memory:abc", "ERR REPLCONF ip-address provided by replica instance is not a host")]
    [InlineData("a b", "ERR REPLCONF ip-address provided by replica instance is not a host")]
    [InlineData("fe80::1%eth0", "OK")]
    public async Task TheAddressOfAReplicaForgesNoFigure(string address, string answer)
    {
        await using RunningServer server = await StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Send("REPLCONF", "ip-address", address);
        Assert.Equal(answer, client.Read());
        client.Send("REPLCONF", "ip-address", new string('a', 300));
        Assert.Equal("ERR REPLCONF ip-address provided by replica instance is too long: 300 bytes", client.Read());
        Assert.StartsWith("# HELP", await GetAsync(server, "/metrics"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task EveryMetricHasAFigureAndEveryTotalIsACounter()
    {
        await using RunningServer server = await StartWithJournalAsync();
        Work(server);
        string page = await GetAsync(server, "/metrics");
        // Only a replica has a link.
        using TestClient client = server.Connect();
        client.Run("REPLICAOF 127.0.0.1 1");
        Assert.DoesNotContain("redis_master_link_up 0", page, StringComparison.Ordinal);
        page += await GetAsync(server, "/metrics");
        // Only a node of a cluster has its figures.
        Assert.DoesNotContain("\nredis_cluster_state ", page, StringComparison.Ordinal);
        await using RunningServer node = await RunningServer.StartAsync(
            TransportKind.EventLoop, config => (config.ClusterEnabled, config.ClusterPort, config.MetricsPort) = (true, Ports.Free(), Ports.Free()));
        page += await GetAsync(node, "/metrics");
        foreach (Metric metric in MetricsPage.Exports.Select(export => export.Metric))
        {
            Assert.True(Shows(page, metric.Name), metric.Name);
            if (metric.Name.EndsWith("_total", StringComparison.Ordinal)) Assert.True(metric.IsCounter, metric.Name);
        }
    }

    [Fact]
    public async Task EveryExportedMetricHasARowAndHelp()
    {
        string[] ownOfThePage = ["redis_up", "redis_instance_info", "redis_commands_latencies_usec"];
        await using RunningServer server = await StartAsync(TransportKind.EventLoop);
        string[] lines = (await GetAsync(server, "/metrics")).Split('\n');
        IEnumerable<string> names = lines.Where(line => line.StartsWith("# TYPE ", StringComparison.Ordinal))
            .Select(line => line.Split(' ')[2]).Except(ownOfThePage);
        Metric[] metrics = [.. InfoReport.Rows.SelectMany(row => row.Exports).Select(export => export.Metric)];
        Assert.Equal(metrics.OrderBy(metric => metric.Place).Select(metric => metric.Name), names);
        Assert.Equal(metrics.Length, metrics.DistinctBy(metric => metric.Name).Count());
        foreach (Metric metric in metrics)
        {
            Assert.Matches(@"^[^\\\n]+\.$", metric.Help);
            Assert.Contains($"# HELP {metric.Name} {metric.Help}", lines);
            if (metric.Name.Contains("_bytes", StringComparison.Ordinal)) Assert.Equal(Unit.Bytes, metric.Unit);
            if (metric.Name.Contains("_sec", StringComparison.Ordinal))
                Assert.Contains(metric.Unit, new[] { Unit.Seconds, Unit.Milliseconds, Unit.Microseconds });
        }
    }

    [Fact]
    public async Task AMetricAndInfoShowTheSameNumber()
    {
        await using RunningServer server = await StartWithJournalAsync();
        Work(server);
        using TestClient client = server.Connect();
        client.Run("REPLICAOF 127.0.0.1 1");        // Only a replica has a link.
        var reading = new ServerReading(server.Core);
        int compared = 0;
        foreach (Figure figure in InfoReport.Rows.OfType<Figure>().Where(figure => figure.Metric is not null))
        {
            if (figure.Read(reading) is not { } value)
            {
                Assert.StartsWith("cluster_", figure.Name.Replace("total_", "", StringComparison.Ordinal), StringComparison.Ordinal);
                continue;
            }
            double shown = value.Text switch
            {
                "ok" or "up" => 1,
                "err" or "down" => 0,
                _ => double.Parse(value.Text, CultureInfo.InvariantCulture),
            };
            Assert.True(shown == value.Number, $"{figure.Name}: {value}");
            compared++;
        }
        Assert.True(compared > 60, $"{compared} figures");
    }

    [Fact]
    public void AValueHasATextAndANumber()
    {
        Assert.Equal(new FigureValue("-1", -1), -1);
        Assert.Equal(new FigureValue("1", 1), true);
        Assert.Equal(new FigureValue("master", null), "master");
        Assert.Equal(new FigureValue("err", 0), FigureValue.Status(false));
        Assert.Equal(new FigureValue("1.24", 1.24), FigureValue.Ratio(1.2358));
        Assert.Equal(new FigureValue("0.00%", 0), FigureValue.Percentage(0));
        Assert.Equal(new FigureValue("12.345679", 12.345679), FigureValue.Time(TimeSpan.FromTicks(123456789)));
    }

    [Fact]
    public async Task TheDashboardShowsOnlyExistingMetrics()
    {
        await using RunningServer server = await StartWithJournalAsync();
        Work(server);
        string page = await GetAsync(server, "/metrics");
        using JsonDocument board = JsonDocument.Parse(await File.ReadAllTextAsync(Board));
        string[] expressions = [.. board.RootElement.GetProperty("panels").EnumerateArray().Where(panel => panel.TryGetProperty("targets", out _))
            .SelectMany(panel => panel.GetProperty("targets").EnumerateArray()).Select(target => target.GetProperty("expr").GetString()!)];
        Assert.True(expressions.Length > 10);
        foreach (string name in expressions.SelectMany(e => Name.Matches(e)).Select(match => match.Value).Distinct())
            Assert.True(Shows(page, name), name);
    }

    [Fact]
    public async Task TheEndpointReportsLivenessAndReadiness()
    {
        await using RunningServer server = await StartAsync(TransportKind.EventLoop);
        Assert.Equal("alive\n", await GetAsync(server, "/health/live"));
        Assert.Equal("ready\n", await GetAsync(server, "/health/ready"));
        Assert.StartsWith("there are ", await GetAsync(server, "/", HttpStatusCode.NotFound));
        using var http = new HttpClient();
        using var content = new StringContent("");
        using HttpResponseMessage posted = await http.PostAsync(Address(server, "/metrics"), content);
        Assert.Equal(HttpStatusCode.MethodNotAllowed, posted.StatusCode);
    }

    [Fact]
    public async Task DuringLoadingTheServerIsLiveAndNotReady()
    {
        await using RunningServer server = await StartAsync(TransportKind.EventLoop);
        Assert.Null(server.Core.Prepare());
        Assert.Equal("alive\n", await GetAsync(server, "/health/live"));
        Assert.Equal("loading\n", await GetAsync(server, "/health/ready", HttpStatusCode.ServiceUnavailable));
        Assert.Contains("\nredis_loading_dump_file 1\n", await GetAsync(server, "/metrics"));
        Assert.Null(server.Core.LoadData());
        Assert.Equal("ready\n", await GetAsync(server, "/health/ready"));
    }

    /// <summary>Clients that take all connections do not lock out a health check.</summary>
    [Fact]
    public async Task IdleConnectionsGiveWay()
    {
        await using RunningServer server = await StartAsync(TransportKind.EventLoop);
        for (int attempt = 0; attempt < 10; attempt++)
        {
            TestClient[] idle = [.. Enumerable.Range(0, Limits.MetricsConnections).Select(_ => server.Connect(server.Core.Config.MetricsPort))];
            try
            {
                Assert.Equal("alive\n", await GetAsync(server, "/health/live"));
            }
            finally
            {
                foreach (TestClient client in idle) client.Dispose();
            }
        }
    }

    private static string Board => Path.GetFullPath(Path.Combine(AppContext.BaseDirectory, "../../../../../docker/grafana/redisclone.json"));

    private static Task<RunningServer> StartAsync(TransportKind transport) => RunningServer.StartAsync(transport, config => config.MetricsPort = Ports.Free());

    /// <summary>Starts a server with all sections of INFO.</summary>
    private static Task<RunningServer> StartWithJournalAsync() => RunningServer.StartAsync(new ServerConfig(), TransportKind.EventLoop, config =>
    {
        config.MetricsPort = Ports.Free();
        config.Dir = Directory.CreateTempSubdirectory("redisclone-metrics-").FullName;
        config.AppendOnly = true;
        config.AppendFsync = AppendFsync.Always;
    }, RealDisk.Instance);

    private static bool Shows(string page, string metric) =>
        page.Contains($"\n{metric} ", StringComparison.Ordinal) || page.Contains($"\n{metric}{{", StringComparison.Ordinal);

    private static void Work(RunningServer server)
    {
        using TestClient client = server.Connect();
        client.Run("SET a 1");
        client.Run("SET b x");
        client.Run("GET a");
        client.Run("INCR b");
        client.Call("EVAL", "return redis.error_reply(ARGV[1])", "0", "A\"B\\ odd");
        client.Run("SELECT 3");
        client.Run("SET c 1 EX 1000");
    }

    private static async Task<string> GetAsync(RunningServer server, string path, HttpStatusCode expected = HttpStatusCode.OK)
    {
        using var http = new HttpClient();
        using HttpResponseMessage response = await http.GetAsync(Address(server, path));
        Assert.Equal(expected, response.StatusCode);
        return await response.Content.ReadAsStringAsync();
    }

    private static Uri Address(RunningServer server, string path) => 
        new(string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{server.Core.Config.MetricsPort}{path}"));
}
