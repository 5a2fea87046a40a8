namespace RedisClone.Configuration;

/// <summary>The parameters for the slow log, the latency monitor and keyspace events.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Diagnostics() =>
    [
        Long("slowlog-log-slower-than", 10000, -1, static c => ref c.SlowlogLogSlowerThan,
            "Microseconds at which a command enters the slow log; -1 logs none, 0 logs all."),
        Long("slowlog-max-len", 128, 0, static c => ref c.SlowlogMaxLen, "Entries that the slow log keeps."),
        Int("slowlog-entry-max-argc", 32, 2, int.MaxValue, static c => ref c.SlowlogEntryMaxArgc,
            "Arguments that an entry of the slow log shows."),
        Long("slowlog-entry-max-string-len", 128, 1, static c => ref c.SlowlogEntryMaxStringLen,
            "Bytes of an argument that an entry of the slow log shows."),
        Long("latency-monitor-threshold", 0, 0, static c => ref c.LatencyMonitorThreshold,
            "Milliseconds at which an event is a latency spike; 0 turns the monitor off."),
        Bool("latency-tracking", true, static c => ref c.LatencyTracking, "Keep a histogram of the latency of each command."),
        new PercentilesParameter("latency-tracking-info-percentiles", [50, 99, 99.9], static c => ref c.LatencyTrackingInfoPercentiles,
            "Latency percentiles that INFO shows."),
        new NotifyParameter("notify-keyspace-events", static c => ref c.NotifyKeyspaceEvents, "Key events to publish, and their channels (K, E)."),
        Bool("metrics-history", true, static c => ref c.MetricsHistory,
            "Keep the figures of the last hour for each second, and of the last day for each minute, in 4 MB.", flags: Immutable | Hidden),
        Text("otlp-endpoint", null, static c => ref c.OtlpEndpoint,
            "URL of an OpenTelemetry collector that gets the figures over HTTP, such as http://localhost:4318; empty turns the export off.",
            flags: Immutable | Hidden | Secret, check: ParameterChecks.HttpUrl),
        Int("otlp-interval", 10, 1, 3600, static c => ref c.OtlpInterval, "Seconds between two exports to otlp-endpoint.", flags: Immutable | Hidden),
        Text("otlp-headers-file", null, static c => ref c.OtlpHeadersFile,
            "File with headers for otlp-endpoint, one line `name: value` each, such as a token. It is read for each export.",
            flags: Immutable | Hidden),
        Bool("key-memory-histograms", false, "Keep histograms of the sizes of keys.", flags: TunesNothing),
        Int("watchdog-period", 0, 0, int.MaxValue,
            "Milliseconds after which a stuck main loop is logged.", flags: Hidden | TunesNothing),
    ];
}
