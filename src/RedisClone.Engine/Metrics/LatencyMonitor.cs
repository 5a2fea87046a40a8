using System.Diagnostics;
using RedisClone.Configuration;

namespace RedisClone.Engine.Metrics;

/// <summary>The events that the monitor distinguishes, with Redis's names.</summary>
internal static class LatencyEvents
{
    public const string Command = "command";
    public const string FastCommand = "fast-command";

    /// <summary>A script or function that held all shards, in addition to its event as a command. Redis has no such event.</summary>
    public const string ScriptOnAllShards = "script-on-all-shards";

    public const string Unblocking = "command-unblocking";
    public const string ExpireCycle = "expire-cycle";
    public const string EvictionCycle = "eviction-cycle";
    public const string JournalFlush = "aof-fsync-always";
}

/// <summary>
/// Records events that take longer than latency-monitor-threshold. If the monitor is off, it costs one comparison.
/// </summary>
internal sealed class LatencyMonitor(ServerConfig config)
{
    private readonly Lock _gate = new();
    private readonly SortedDictionary<string, LatencySeries> _events = new(StringComparer.Ordinal);

    /// <summary>The least duration of a spike, in ticks. The hot path reads only this property.</summary>
    public long Threshold { get; private set; } = ThresholdOf(config);

    /// <summary>Applies a changed configuration.</summary>
    public void Adapt() => Threshold = ThresholdOf(config);

    /// <summary>Starts a measurement. Returns 0 while the monitor is off.</summary>
    public long Start() => Threshold == long.MaxValue ? 0 : Stopwatch.GetTimestamp();

    /// <summary>Ends a measurement that began with <see cref="Start"/>.</summary>
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

    /// <summary>Returns the recorded spikes of all events.</summary>
    public LatencyRecord[] Read()
    {
        lock (_gate) return [.. _events.Select(e => new LatencyRecord(e.Key, e.Value.Read(), e.Value.Worst))];
    }

    public LatencyRecord? Read(string name)
    {
        lock (_gate) return _events.TryGetValue(name, out LatencySeries? series) ? new LatencyRecord(name, series.Read(), series.Worst) : null;
    }

    /// <summary>
    /// Deletes the samples of one event (its name ignores case) or of all. Returns the number of deleted events.
    /// </summary>
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

/// <summary>The samples of one event, oldest first, and the longest duration ever, in milliseconds.</summary>
internal sealed record LatencyRecord(string Name, LatencySeries.Sample[] Samples, long Worst)
{
    public long Average => Samples.Length == 0 ? 0 : Samples.Sum(s => s.Milliseconds) / Samples.Length;

    /// <summary>The mean absolute deviation from the average.</summary>
    public long Deviation => Samples.Length == 0 ? 0 : Samples.Sum(s => Math.Abs(s.Milliseconds - Average)) / Samples.Length;

    /// <summary>The average number of seconds between spikes.</summary>
    public double Period(long now) => Samples.Length == 0 ? 0 : Math.Max(1, now - Samples[0].Second) / (double)Samples.Length;
}
