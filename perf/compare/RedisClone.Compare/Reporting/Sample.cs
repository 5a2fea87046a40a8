using RedisClone.Compare.Load;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Reporting;

/// <summary>The measurements of one server in one round of a workload.</summary>
internal sealed record Sample(string Workload, string Server, int Round, LoadResult Load, CpuTime Cpu)
{
    public TimeSpan StartTime { get; init; }

    public long Resident { get; init; }

    public long PeakResident { get; init; }

    /// <summary>The growth of the data directory in bytes.</summary>
    public long Disk { get; init; }

    /// <summary>The processor time of the idle server after a fill, in percent of a core. It is not measured in other experiments.</summary>
    public double? IdlePercent { get; init; }

    /// <summary>The longest pause of the garbage collector, or null if the server does not report it.</summary>
    public TimeSpan? Pause { get; init; }

    /// <summary>The share of lookups that found their key, or null if the server was not used as a cache.</summary>
    public double? HitRatio { get; init; }

    /// <summary>The number of keys of a cache at the end.</summary>
    public long Keys { get; init; }

    /// <summary>The longest time after which a replica had what its primary had, or null if there is no replica.</summary>
    public TimeSpan? Lag { get; init; }

    public double CpuMicroseconds => PerOperation(Cpu.Total / 1e3);

    public double LoadCpuMicroseconds => PerOperation(Load.LoadCpu / 1e3);

    public double DiskPerOperation => PerOperation(Disk);

    public double Throughput => Load.Operations / Load.Elapsed.TotalSeconds;

    public double this[Metric metric] => metric switch
    {
        Metric.Cpu => CpuMicroseconds,
        Metric.Throughput => Throughput,
        Metric.P50 => Load.Latency.P50 / 1e3,
        Metric.P99 => Load.Latency.P99 / 1e3,
        Metric.P999 => Load.Latency.P999 / 1e3,
        Metric.Resident => Resident,
        Metric.StartTime => StartTime.TotalMilliseconds,
        Metric.Elapsed => Load.Elapsed.TotalSeconds,
        Metric.DiskBytes => DiskPerOperation,
        Metric.Pause => Pause?.TotalMilliseconds ?? double.NaN,
        Metric.HitRatio => HitRatio ?? double.NaN,
        Metric.Lag => Lag?.TotalMilliseconds ?? double.NaN,
        _ => throw new ArgumentOutOfRangeException(nameof(metric)),
    };

    private double PerOperation(double total) => Load.Operations == 0 ? 0 : total / Load.Operations;
}
