using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;

namespace RedisClone.Compare.Servers;

/// <summary>A server to compare: its executable, and the arguments for a workload.</summary>
internal sealed partial record ServerKind(string Name, string Path, Func<ServerSetup, IEnumerable<string>> Arguments)
{
    public const string Ours = "RedisClone";
    public const string Native = "RedisClone-native";
    public const string Sockets = "RedisClone-sockets";
    public const string Redis = "redis-server";

    /// <summary>The suffix of a build of this server that keeps no history and whose figures are not read.</summary>
    public const string Unwatched = "-unwatched";

    /// <summary>The suffix of a build of this server with one event loop.</summary>
    public const string OneLoop = "-one-loop";

    /// <summary>The program of perf/floor.</summary>
    public const string Floor = "floor";
    public const string Valkey = "Valkey";
    public const string Garnet = "Garnet";

    /// <summary>Whether the server uses several cores without further settings. The contention workloads include only such servers.</summary>
    public bool UsesAllCores { get; init; }

    /// <summary>The only group of workloads that includes this server; null if all groups do.</summary>
    public string? OnlyGroup { get; init; }

    /// <summary>Whether the server is measured alone and with TCP only.</summary>
    public bool AloneOnly { get; init; }

    /// <summary>
    /// Returns this server, with each of its transports, its native executable, the floor, redis-server, and the servers whose paths are in the environment, in the order
    /// of the tables.
    /// </summary>
    public static IEnumerable<ServerKind> Discover()
    {
        string? ours = Setting("REDISCLONE_SERVER") ?? BuiltServer();
        if (ours is not null)
        {
            yield return new ServerKind(Ours, ours, OurArguments) { UsesAllCores = true };
            yield return Variant(Sockets, ours, "transport", "--transport", "sockets");
            yield return Variant(Ours + Unwatched, ours, "watched", "--metrics-history", "no");
            yield return Variant(Ours + OneLoop, ours, "shared", "--io-loops", "1");
        }
        if (Setting("REDISCLONE_NATIVE") is { } native)
        {
            yield return new ServerKind(Native, native, OurArguments) { UsesAllCores = true };
            yield return Variant(Native + Unwatched, native, "watched", "--metrics-history", "no");
            yield return Variant(Native + OneLoop, native, "shared", "--io-loops", "1");
        }
        if (Setting("FLOOR_SERVER") is { } floor)
            yield return new ServerKind(Floor, floor, setup => [setup.Port.ToString(CultureInfo.InvariantCulture)]) { OnlyGroup = "floor" };
        yield return new ServerKind(Redis, "redis-server", RedisArguments);
        if (Setting("REDIS_SERVER") is { } redis)
            yield return new ServerKind("Redis 7.4", redis, RedisArguments);
        if (Setting("VALKEY_SERVER") is { } valkey)
            yield return new ServerKind(Valkey, valkey, RedisArguments);
        if (Setting("GARNET_SERVER") is { } garnet)
            yield return new ServerKind(Garnet, garnet, GarnetArguments) { UsesAllCores = true, AloneOnly = true };
    }

    /// <summary>Returns the version that the executable prints.</summary>
    public string Version()
    {
        var start = new ProcessStartInfo(Path, "--version") { RedirectStandardOutput = true, RedirectStandardError = true };
        using Process process = Process.Start(start)!;
        string text = process.StandardOutput.ReadToEnd() + process.StandardError.ReadToEnd();
        process.WaitForExit();
        Match match = VersionPattern().Match(text);
        return match.Success ? match.Groups[1].Value : text.Split('\n')[0].Trim();
    }

    /// <summary>
    /// Turns off snapshots, rewrites of the journal and the pause before a full synchronisation, because they would affect the rounds
    /// of the servers differently.
    /// </summary>
    private static IEnumerable<string> RedisArguments(ServerSetup setup) =>
    [
        "--port", setup.Port.ToString(CultureInfo.InvariantCulture), "--bind", "127.0.0.1", "--dir", setup.Directory,
        "--save", "", "--auto-aof-rewrite-percentage", "0", "--repl-diskless-sync-delay", "0",
        "--appendonly", setup.Durability == Durability.None ? "no" : "yes",
        "--appendfsync", setup.Durability == Durability.Always ? "always" : "everysec",
        .. LinkArguments(setup),
        .. setup.ClusterPort > 0
            ? ["--cluster-enabled", "yes", "--cluster-port", setup.ClusterPort.ToString(CultureInfo.InvariantCulture)]
            : (string[])[],
    ];

    private static IEnumerable<string> LinkArguments(ServerSetup setup)
    {
        if (setup.Link == Link.Unix)
            return ["--unixsocket", setup.Socket];
        if (setup.Link != Link.Tls)
            return [];
        (string certificate, string key) = Certificate.WriteTo(setup.Directory);
        return
        [
            "--tls-port", setup.TlsPort.ToString(CultureInfo.InvariantCulture), "--tls-cert-file", certificate, "--tls-key-file", key,
            "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no",
        ];
    }

    /// <summary>Scripts need --lua. The default device needs libraries that are not in the package.</summary>
    private static IEnumerable<string> GarnetArguments(ServerSetup setup) =>
    [
        "--port", setup.Port.ToString(CultureInfo.InvariantCulture), "--bind", "127.0.0.1", "--lua",
        "--device-type", "RandomAccess", "--checkpointdir", setup.Directory,
        .. setup.Durability switch
        {
            Durability.Always => ["--aof", "--aof-commit-wait"],
            Durability.EverySecond => (string[])["--aof", "--aof-commit-freq", "1000"],
            _ => [],
        },
        .. Directory.EnumerateFileSystemEntries(setup.Directory).Any() ? (string[])["--recover"] : [],
    ];

    private static IEnumerable<string> OurArguments(ServerSetup setup) =>
    [
        .. RedisArguments(setup), .. (Setting("REDISCLONE_ARGUMENTS") ?? "").Split(' ', StringSplitOptions.RemoveEmptyEntries),
        .. setup.HttpPort > 0 ? ["--http-port", setup.HttpPort.ToString(CultureInfo.InvariantCulture)] : (string[])[],
    ];

    /// <summary>A build of this server with more arguments, which only one group of workloads includes.</summary>
    private static ServerKind Variant(string name, string path, string group, params string[] more) =>
        new(name, path, setup => [.. OurArguments(setup), .. more]) { OnlyGroup = group };

    private static string? Setting(string name) =>
        Environment.GetEnvironmentVariable(name) is { Length: > 0 } value ? value : null;

    private static string? BuiltServer()
    {
        for (DirectoryInfo? at = new(AppContext.BaseDirectory); at is not null; at = at.Parent)
        {
            if (!File.Exists(System.IO.Path.Combine(at.FullName, "RedisClone.sln")))
                continue;
            string path = System.IO.Path.Combine(at.FullName, "src/RedisClone.Server/bin/Release/net10.0/RedisClone.Server");
            return File.Exists(path) ? path : null;
        }

        return null;
    }

    [GeneratedRegex(@"v?=?(\d+\.\d+\.\d+)")]
    private static partial Regex VersionPattern();
}
