using System.Globalization;
using System.Text;
using System.Text.Json;

namespace RedisClone.Compare.Load;

/// <summary>
/// Reads the figures of a server each second, as a Prometheus that scrapes it and a browser with the first screen of the studio do.
/// Without a port, it reads nothing.
/// </summary>
internal sealed class Watcher : IDisposable
{
    private const string Commands = """{"commands":[["INFO","default","journal","shards"]]}""";

    private static readonly string[] s_series =
    [
        "redis_commands_processed_total", .. Latencies("0.5", "0.99", "0.999", "0.9999"), "redis_net_output_bytes_total", "redis_net_input_bytes_total",
        "redis_memory_used_bytes", "redis_memory_used_rss_bytes", "redisclone_gc_heap_bytes", "redis_cpu_user_seconds_total", "redis_cpu_sys_seconds_total",
        "redisclone_gc_pause_seconds_total", "redis_connected_clients", "redis_blocked_clients", "redis_pubsub_clients",
    ];

    private readonly CancellationTokenSource _ending = new();
    private readonly HttpClient _http = new();
    private readonly Task _work;

    public Watcher(int port) => _work = port == 0 ? Task.CompletedTask : WatchAsync($"http://127.0.0.1:{port.ToString(CultureInfo.InvariantCulture)}");

    public void Dispose()
    {
        _ending.Cancel();
        try
        {
            _work.GetAwaiter().GetResult();
        }
        catch (OperationCanceledException)
        {
            // The load has ended.
        }
        catch (Exception e) when (e is HttpRequestException or JsonException)
        {
            throw new LoadException($"the figures cannot be read: {e.Message}");
        }
        finally
        {
            _http.Dispose();
            _ending.Dispose();
        }
    }

    private async Task WatchAsync(string address)
    {
        await PostAsync(address, "session", "{}");
        string series = string.Join(',', s_series.Select(name => JsonSerializer.Serialize(name)));
        using var timer = new PeriodicTimer(TimeSpan.FromSeconds(1));
        long last = 0;
        do
        {
            await _http.GetStringAsync($"{address}/metrics", _ending.Token);
            await PostAsync(address, "call", Commands);
            string answer = await PostAsync(
                address, "history", $$"""{"series":[{{series}}],"seconds":300,"points":300,"after":{{last.ToString(CultureInfo.InvariantCulture)}}}""");
            using JsonDocument points = JsonDocument.Parse(answer);
            last = points.RootElement.GetProperty("times").EnumerateArray().Select(static time => time.GetInt64()).LastOrDefault(last);
        }
        while (await timer.WaitForNextTickAsync(_ending.Token));
    }

    private async Task<string> PostAsync(string address, string call, string body)
    {
        using var content = new StringContent(body, Encoding.UTF8, "application/json");
        using HttpResponseMessage response = await _http.PostAsync($"{address}/studio/api/{call}", content, _ending.Token);
        response.EnsureSuccessStatusCode();
        return await response.Content.ReadAsStringAsync(_ending.Token);
    }

    private static IEnumerable<string> Latencies(params string[] quantiles) =>
        quantiles.Select(static quantile => $"redisclone_command_latency_seconds{{family=\"all\",quantile=\"{quantile}\"}}");
}
