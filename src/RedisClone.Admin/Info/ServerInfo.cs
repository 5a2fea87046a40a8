using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using RedisClone.Configuration;
using RedisClone.Engine;
using static RedisClone.Admin.Info.FigureValue;
using static RedisClone.Admin.Info.Metric;

namespace RedisClone.Admin.Info;

/// <summary>INFO's sections about the process.</summary>
internal static class ServerInfo
{
    private const int SecondsPerDay = 24 * 3600;

    private static readonly string OperatingSystemName = NameOperatingSystem();

    private static readonly string Clock =
        string.Create(CultureInfo.InvariantCulture, $"Stopwatch at {Stopwatch.Frequency / 1_000_000} ticks/us");

    private static readonly Figure[] Process =
    [
        new("redis_version", _ => ServerVersion.Redis),
        new("redis_git_sha1", _ => ServerVersion.Commit ?? "00000000"),
        new("redis_git_dirty", _ => 0),
        new("redis_build_id", _ => (ServerVersion.Commit ?? "0").PadLeft(16, '0')),
        new("redis_mode", r => r.Config.ClusterEnabled ? "cluster" : "standalone"),
        new("redisclone_version", _ => ServerVersion.Own),
        new("dotnet_version", _ => Environment.Version.ToString()),
        new("os", _ => OperatingSystemName),
        new("arch_bits", _ => IntPtr.Size * 8),
        new("monotonic_clock", _ => Clock),
        new("multiplexing_api", r => r.Server.MultiplexingApi),
        new("process_id", _ => Environment.ProcessId, Gauge("redis_process_id", "Process id of the server.", place: 2)),
        new("process_supervised", r => r.Config.Supervised == SupervisedMode.Systemd ? "systemd" : "no"),
        new("run_id", r => r.Server.RunId),
        new("tcp_port", r => r.Config.Port > 0 ? r.Config.Port : r.Config.TlsPort),
        new("server_time_usec", _ => ServerCore.UnixMicroseconds()),
        new("uptime_in_seconds", r => r.UptimeSeconds,
            Gauge("redis_uptime_in_seconds", "Seconds since the start.", Unit.Seconds, place: 1)),
        new("uptime_in_days", r => r.UptimeSeconds / SecondsPerDay),
        new("hz", r => r.Config.Hz),
        new("configured_hz", r => r.Config.Hz),
        new("lru_clock", r => r.Server.AccessClock.Seconds),
        new("executable", _ => Environment.ProcessPath ?? ""),
        new("config_file", r => r.Config.ConfigFile ?? ""),
        new("io_threads_active", r => r.Config.IoLoopCount > 1),
        new("shards", r => r.Server.Shards.Count),
    ];

    public static readonly InfoRow[] Server =
        [.. Process, new Figure("shutdown_in_milliseconds", r => r.Server.Shutdown.MillisecondsLeft), new FreeText(WriteListeners)];

    public static readonly Figure[] Cpu =
    [
        new("used_cpu_sys", r => Time(r.Processor.PrivilegedTime),
            Counter("redis_cpu_sys_seconds_total", "Processor seconds in the kernel.", Unit.Seconds, place: 67)),
        new("used_cpu_user", r => Time(r.Processor.UserTime),
            Counter("redis_cpu_user_seconds_total", "Processor seconds outside the kernel.", Unit.Seconds, place: 68)),
        new("used_cpu_sys_children", _ => Time(TimeSpan.Zero)),
        new("used_cpu_user_children", _ => Time(TimeSpan.Zero)),
    ];

    private static void WriteListeners(ServerReading reading, InfoWriter info)
    {
        ServerConfig config = reading.Config;
        int number = 0;
        string binds = string.Concat(config.Bind.Select(b => ",bind=" + b));
        foreach ((string name, int port) in new[] { ("tcp", config.Port), ("tls", config.TlsPort) })
            if (port > 0) Listener(string.Create(CultureInfo.InvariantCulture, $"name={name}{binds},port={port}"));
        if (config.UnixSocket.Length > 0) Listener($"name=unix,bind={config.UnixSocket}");

        void Listener(string text) => info.Field(string.Create(CultureInfo.InvariantCulture, $"listener{number++}"), text);
    }

    /// <summary>The operating system in the format of uname: Linux 6.1.0 x86_64.</summary>
    private static string NameOperatingSystem()
    {
        string machine = RuntimeInformation.OSArchitecture switch
        {
            Architecture.X64 => "x86_64",
            Architecture.Arm64 => "aarch64",
            var other => other.ToString().ToLowerInvariant(),
        };
        const string releaseFile = "/proc/sys/kernel/osrelease";
        return File.Exists(releaseFile) ? $"Linux {File.ReadAllText(releaseFile).Trim()} {machine}" : $"{RuntimeInformation.OSDescription} {machine}";
    }
}
