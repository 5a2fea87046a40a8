using System.Diagnostics;

namespace RedisClone.Server.Admin;

/// <summary>The kinds of delay that the monitor tells apart, by Redis's names.</summary>
internal static class LatencyEvents
{
    public const string Command = "command";
    public const string FastCommand = "fast-command";
    public const string Unblocking = "command-unblocking";
    public const string ExpireCycle = "expire-cycle";
    public const string EvictionCycle = "eviction-cycle";
    public const string JournalFlush = "aof-fsync-always";
}

/// <summary>Remembers what took longer than latency-monitor-threshold. Turned off, it costs a comparison.</summary>
internal sealed class LatencyMonitor(ServerConfig config)
{
    private readonly Lock _gate = new();
    private readonly SortedDictionary<string, LatencySeries> _events = new(StringComparer.Ordinal);

    /// <summary>From so many ticks on it is a spike: all that the hot path looks at.</summary>
    public long Threshold { get; private set; } = ThresholdOf(config);

    /// <summary>The configuration changed.</summary>
    public void Adapt() => Threshold = ThresholdOf(config);

    /// <summary>The start of a measurement; 0 while the monitor is off.</summary>
    public long Start() => Threshold == long.MaxValue ? 0 : Stopwatch.GetTimestamp();

    /// <summary>Something ended that began at <see cref="Start"/>.</summary>
    public void End(string name, long started)
    {
        if (started != 0) Note(name, Stopwatch.GetTimestamp() - started);
    }

    public void Note(string name, long ticks)
    {
        if (ticks < Threshold) return;
        long second = ServerCore.UnixMilliseconds() / 1000;
        lock (_gate)
        {
            if (!_events.TryGetValue(name, out LatencySeries? series)) _events[name] = series = new LatencySeries();
            series.Add(second, ServerCore.Microseconds(ticks) / 1000);
        }
    }

    /// <summary>What is known of each event: its name, its samples, the worst of all.</summary>
    public LatencyRecord[] Read()
    {
        lock (_gate) return [.. _events.Select(e => new LatencyRecord(e.Key, e.Value.Read(), e.Value.Worst))];
    }

    public LatencyRecord? Read(string name)
    {
        lock (_gate) return _events.TryGetValue(name, out LatencySeries? series) ? new LatencyRecord(name, series.Read(), series.Worst) : null;
    }

    /// <summary>Forgets one event, named in either case, or all; how many there were.</summary>
    public int Reset(string? name = null)
    {
        lock (_gate)
        {
            string[] forgotten = [.. _events.Keys.Where(known => name is null || known.Equals(name, StringComparison.OrdinalIgnoreCase))];
            foreach (string known in forgotten) _events.Remove(known);
            return forgotten.Length;
        }
    }

    private static long ThresholdOf(ServerConfig config) =>
        config.LatencyMonitorThreshold == 0 ? long.MaxValue : (long)Math.Min(config.LatencyMonitorThreshold * (Stopwatch.Frequency / 1e3), long.MaxValue / 2);
}

/// <summary>One event's samples, the oldest first, and the worst that there ever was, in milliseconds.</summary>
internal sealed record LatencyRecord(string Name, LatencySeries.Sample[] Samples, long Worst)
{
    public long Average => Samples.Length == 0 ? 0 : Samples.Sum(s => s.Milliseconds) / Samples.Length;

    /// <summary>How far the samples are from their average, on average.</summary>
    public long Deviation => Samples.Length == 0 ? 0 : Samples.Sum(s => Math.Abs(s.Milliseconds - Average)) / Samples.Length;

    /// <summary>Seconds from one spike to the next, on average.</summary>
    public double Period(long now) => Samples.Length == 0 ? 0 : Math.Max(1, now - Samples[0].Second) / (double)Samples.Length;
}
