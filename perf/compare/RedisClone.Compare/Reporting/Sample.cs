using RedisClone.Compare.Load;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Reporting;

/// <summary>What one server did in one round of one workload.</summary>
internal sealed record Sample(string Workload, string Server, int Round, LoadResult Load, CpuTime Cpu)
{
    public TimeSpan StartTime { get; init; }

    public long Resident { get; init; }

    public long PeakResident { get; init; }

    /// <summary>Bytes that its directory grew by.</summary>
    public long Disk { get; init; }

    /// <summary>Share of a core, in percent, that it took afterwards with nothing to do; not measured under loads.</summary>
    public double? IdlePercent { get; init; }

    /// <summary>The longest time for which its garbage collector stopped it; null where it has none to tell of.</summary>
    public TimeSpan? Pause { get; init; }

    /// <summary>The share of lookups that found their key; null where it was no cache.</summary>
    public double? HitRatio { get; init; }

    /// <summary>Keys that a cache held at the end.</summary>
    public long Keys { get; init; }

    public double CpuMicroseconds => PerOperation(Cpu.Total / 1e3);

    public double LoadCpuMicroseconds => PerOperation(Load.LoadCpu / 1e3);

    public double DiskPerOperation => PerOperation(Disk);

    public double Throughput => Load.Operations / Load.Elapsed.TotalSeconds;

    public double this[Metric metric] => metric switch
    {
        Metric.Cpu => CpuMicroseconds,
        Metric.Throughput => Throughput,
        Metric.P50 => Load.Latency.P50 / 1e3,
        Metric.P999 => Load.Latency.P999 / 1e3,
        Metric.Resident => Resident,
        Metric.StartTime => StartTime.TotalMilliseconds,
        Metric.Elapsed => Load.Elapsed.TotalSeconds,
        Metric.DiskBytes => DiskPerOperation,
        Metric.Pause => Pause?.TotalMilliseconds ?? double.NaN,
        Metric.HitRatio => HitRatio ?? double.NaN,
        _ => throw new ArgumentOutOfRangeException(nameof(metric)),
    };

    private double PerOperation(double total) => Load.Operations == 0 ? 0 : total / Load.Operations;
}
