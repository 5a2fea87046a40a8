using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Shards;

namespace RedisClone.Admin.Info;

/// <summary>INFO's sections about the process and its clients.</summary>
internal static class ServerInfo
{
    private const int SecondsPerDay = 24 * 3600;

    private static readonly string OperatingSystemName = NameOperatingSystem();

    public static void Server(ServerCore server, InfoWriter info)
    {
        ServerConfig config = server.Config;
        long now = ServerCore.UnixMilliseconds();
        long uptime = (now - server.StartedAt) / 1000;
        info.Section("Server");
        info.Field("redis_version", ServerVersion.Redis);
        info.Field("redis_git_sha1", ServerVersion.Commit ?? "00000000");
        info.Field("redis_git_dirty", 0);
        info.Field("redis_build_id", (ServerVersion.Commit ?? "0").PadLeft(16, '0'));
        info.Field("redis_mode", "standalone");
        info.Field("redisclone_version", ServerVersion.Own);
        info.Field("dotnet_version", Environment.Version.ToString());
        info.Field("os", OperatingSystemName);
        info.Field("arch_bits", IntPtr.Size * 8);
        info.Field("monotonic_clock", string.Create(CultureInfo.InvariantCulture, $"Stopwatch at {Stopwatch.Frequency / 1_000_000} ticks/us"));
        info.Field("multiplexing_api", server.MultiplexingApi);
        info.Field("process_id", Environment.ProcessId);
        info.Field("process_supervised", config.Supervised == SupervisedMode.Systemd ? "systemd" : "no");
        info.Field("run_id", server.RunId);
        info.Field("tcp_port", config.Port > 0 ? config.Port : config.TlsPort);
        info.Field("server_time_usec", ServerCore.UnixMicroseconds());
        info.Field("uptime_in_seconds", uptime);
        info.Field("uptime_in_days", uptime / SecondsPerDay);
        info.Field("hz", config.Hz);
        info.Field("configured_hz", config.Hz);
        info.Field("lru_clock", server.AccessClock.Seconds);
        info.Field("executable", Environment.ProcessPath ?? "");
        info.Field("config_file", config.ConfigFile ?? "");
        info.Field("io_threads_active", config.IoLoopCount > 1);
        info.Field("shards", server.Shards.Count);
        Listeners(config, info);
    }

    public static void Clients(ServerCore server, InfoWriter info)
    {
        int pubsub = 0, watching = 0;
        long maxInput = 0, maxOutput = 0;
        foreach (Session session in server.Sessions.All)
        {
            if (session.Subscriptions > 0) pubsub++;
            if (session.Watched.Count > 0) watching++;
            maxInput = Math.Max(maxInput, session.Connection!.QueryBytes);
            maxOutput = Math.Max(maxOutput, session.Connection!.UnsentBytes);
        }
        int watchedKeys = 0, blockingKeys = 0, withoutValue = 0;
        for (int i = 0; i < server.Shards.Count; i++)
        {
            ShardKeys keys = server.Shards[i].Keys;
            watchedKeys += keys.WatchedKeys;
            blockingKeys += keys.BlockedKeys;
            withoutValue += keys.BlockedKeysWithoutValue;
        }
        info.Section("Clients");
        info.Field("connected_clients", server.Sessions.Count - server.Replicas.Count);
        info.Field("cluster_connections", 0);
        info.Field("maxclients", server.Config.MaxClients);
        info.Field("client_recent_max_input_buffer", maxInput);
        info.Field("client_recent_max_output_buffer", maxOutput);
        info.Field("blocked_clients", server.Blocked.Count + server.Pause.WaitingClients);
        info.Field("tracking_clients", server.Invalidations.Clients);
        info.Field("pubsub_clients", pubsub);
        info.Field("watching_clients", watching);
        info.Field("clients_in_timeout_table", server.Blocked.Count);
        info.Field("total_watched_keys", watchedKeys);
        info.Field("total_blocking_keys", blockingKeys);
        info.Field("total_blocking_keys_on_nokey", withoutValue);
    }

    public static void Cpu(ServerCore server, InfoWriter info)
    {
        using var process = Process.GetCurrentProcess();
        info.Section("CPU");
        info.Seconds("used_cpu_sys", process.PrivilegedProcessorTime);
        info.Seconds("used_cpu_user", process.UserProcessorTime);
        info.Seconds("used_cpu_sys_children", TimeSpan.Zero);
        info.Seconds("used_cpu_user_children", TimeSpan.Zero);
    }

    public static void Modules(ServerCore server, InfoWriter info) => info.Section("Modules");

    public static void Cluster(ServerCore server, InfoWriter info)
    {
        info.Section("Cluster");
        info.Field("cluster_enabled", server.Config.ClusterEnabled);
    }

    private static void Listeners(ServerConfig config, InfoWriter info)
    {
        int number = 0;
        string binds = string.Concat(config.Bind.Select(b => ",bind=" + b));
        foreach ((string name, int port) in new[] { ("tcp", config.Port), ("tls", config.TlsPort) })
            if (port > 0)
                info.Field(string.Create(CultureInfo.InvariantCulture, $"listener{number++}"),
                    string.Create(CultureInfo.InvariantCulture, $"name={name}{binds},port={port}"));
        if (config.UnixSocket.Length > 0)
            info.Field(string.Create(CultureInfo.InvariantCulture, $"listener{number}"), $"name=unix,bind={config.UnixSocket}");
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
