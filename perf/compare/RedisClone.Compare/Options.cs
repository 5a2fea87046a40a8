using System.Globalization;
using System.IO.Enumeration;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare;

/// <summary>The options of the command line.</summary>
internal sealed class Options
{
    public const string Usage = """
        perf/compare/run [options]
          --workloads a,b*    by name, pattern or group (core, memory, collections, streams, scripts, durable, recovery,
                              caches, transport, watched, links, values, floor, contention, shared,
                              replication, cluster, memtier, all); default core
          --contention        the same as --workloads contention
          --servers a,b       only these servers
          --rounds N          rounds under load, default 5      --seconds N     length of a round, default 4
          --fill-rounds N     rounds of filling, default 1      --warm-up N     seconds before the first round, default 4
          --server-core N     first core of the servers, default 0; the load takes the cores after theirs
          --data-dir DIR      directory of the servers' files, on a disk; default /var/tmp
          --csv FILE          file with every sample; default perf/results/compare.csv in the current directory
          --quick             little data and one short round, to check that it works
          --list              lists the workloads          --self-test     checks the load generator
        Servers: RedisClone (REDISCLONE_SERVER, default: the Release build; with REDISCLONE_ARGUMENTS), redis-server from the path,
        and REDISCLONE_NATIVE, REDIS_SERVER, VALKEY_SERVER, GARNET_SERVER if they are set. MEMTIER enables the workloads memtier-*
        and tls-*. FLOOR_SERVER, the program of perf/floor, enables its column in floor-p1.
        """;

    private int _serverCore;

    public bool Help { get; private set; }

    public bool List { get; private set; }

    public bool SelfTest { get; private set; }

    public bool Quick { get; private set; }

    public int Rounds { get; private set; } = 5;

    public int FillRounds { get; private set; } = 1;

    public TimeSpan Duration { get; private set; } = TimeSpan.FromSeconds(4);

    public TimeSpan WarmUp { get; private set; } = TimeSpan.FromSeconds(4);

    /// <summary>The pause between the fill of a server and the reading of its memory.</summary>
    public TimeSpan Settling { get; private set; } = TimeSpan.FromSeconds(3);

    public string DataDirectory { get; private set; } = "/var/tmp";

    public string CsvFile { get; private set; } = "perf/results/compare.csv";

    public IReadOnlyList<string>? Servers { get; private set; }

    public string? Memtier { get; } = Environment.GetEnvironmentVariable("MEMTIER") is { Length: > 0 } path ? path : null;

    public IReadOnlyList<Workload> Workloads { get; private set; } = [];

    /// <summary>Throws a <see cref="FormatException"/> with a message for the user if an option is invalid.</summary>
    public static Options Parse(string[] arguments)
    {
        var options = new Options();
        string[] names = ["core"];
        for (int at = 0; at < arguments.Length; at++)
        {
            switch (arguments[at])
            {
                case "--workloads": names = Value().Split(','); break;
                case "--contention": names = ["contention"]; break;
                case "--servers": options.Servers = Value().Split(','); break;
                case "--rounds": options.Rounds = Number(); break;
                case "--fill-rounds": options.FillRounds = Number(); break;
                case "--seconds": options.Duration = TimeSpan.FromSeconds(Number()); break;
                case "--warm-up": options.WarmUp = TimeSpan.FromSeconds(Number()); break;
                case "--server-core": options._serverCore = Number(); break;
                case "--data-dir": options.DataDirectory = Value(); break;
                case "--csv": options.CsvFile = Value(); break;
                case "--quick": options.Quick = true; break;
                case "--help": options.Help = true; break;
                case "--list": options.List = true; break;
                case "--self-test": options.SelfTest = true; break;
                default: throw new FormatException($"unknown option {arguments[at]}");
            }

            string Value() =>
                ++at < arguments.Length ? arguments[at] : throw new FormatException($"{arguments[at - 1]} needs a value");
            int Number() => int.Parse(Value(), CultureInfo.InvariantCulture);
        }

        if (options.Quick)
        {
            options.Rounds = options.FillRounds = 1;
            options.Duration = options.WarmUp = options.Settling = TimeSpan.FromMilliseconds(300);
        }

        options.Workloads = [.. names.SelectMany(options.Select).Distinct()];
        return options;
    }

    public IReadOnlyList<int> ServerCores(int count) =>
        [.. Enumerable.Range(_serverCore, Math.Min(count, Environment.ProcessorCount - _serverCore))];

    /// <summary>
    /// Returns the cores of the load: as many cores as the server has, after the cores of the server. If there are none, the load
    /// shares the last cores with the server.
    /// </summary>
    public IReadOnlyList<int> LoadCores(Workload workload)
    {
        int serverCores = workload.ServerCores;
        if (workload.LoadSharesCores) return ServerCores(serverCores);
        int first = Math.Max(0, Math.Min(_serverCore + serverCores, Environment.ProcessorCount - serverCores));
        return [.. Enumerable.Range(first, Math.Min(serverCores, Environment.ProcessorCount - first))];
    }

    private IEnumerable<Workload> Select(string pattern)
    {
        Workload[] found =
        [
            .. WorkloadTable.All.Where(w =>
                pattern == "all" || w.Group == pattern || FileSystemName.MatchesSimpleExpression(pattern, w.Name)),
        ];
        if (found.Length == 0)
            throw new FormatException($"no workload has the name {pattern}; --list prints all names");
        return found.Where(w => !w.ByMemtier || Memtier is not null).Select(w => Quick ? w.Small() : w);
    }
}
