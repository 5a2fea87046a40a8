using System.Globalization;

namespace RedisClone.Compare.Reporting;

/// <summary>Writes each sample as a line, from which figures other than medians can be computed.</summary>
internal static class CsvReport
{
    public static void Write(TextWriter to, IEnumerable<Sample> samples)
    {
        to.WriteLine("workload,server,round,operations,seconds,ops_per_s,cpu_us_per_op,user_share,load_cpu_us_per_op," +
            "p50_us,p99_us,p999_us,max_us,rss_bytes,peak_rss_bytes,disk_bytes_per_op,start_ms,idle_percent,pause_ms,hit_ratio,keys");
        foreach (Sample s in samples)
        {
            to.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"{s.Workload},{s.Server},{s.Round},{s.Load.Operations}," +
                $"{s.Load.Elapsed.TotalSeconds:0.000},{s.Throughput:0}," +
                $"{s.CpuMicroseconds:0.0000},{s.Cpu.UserShare:0.000},{s.LoadCpuMicroseconds:0.0000}," +
                $"{s.Load.Latency.P50 / 1e3:0.0},{s.Load.Latency.P99 / 1e3:0.0}," +
                $"{s.Load.Latency.P999 / 1e3:0.0},{s.Load.Latency.Max / 1e3:0.0}," +
                $"{s.Resident},{s.PeakResident},{s.DiskPerOperation:0.0}," +
                $"{s.StartTime.TotalMilliseconds:0.0},{s.IdlePercent:0.00},{s.Pause?.TotalMilliseconds:0.00},{s.HitRatio:0.0000},{s.Keys}"));
        }
    }
}
