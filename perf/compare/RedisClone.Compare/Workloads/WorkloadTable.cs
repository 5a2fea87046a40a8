using RedisClone.Compare.Experiments;
using RedisClone.Compare.Load;
using RedisClone.Compare.Servers;
using static RedisClone.Compare.Servers.ServerKind;
using static RedisClone.Compare.Workloads.Goal;

namespace RedisClone.Compare.Workloads;

/// <summary>
/// All workloads, one row each. The request lines are explained at <see cref="RequestTemplate"/>. The data is larger than the
/// caches of the processor where this is usual for real servers.
/// </summary>
internal static class WorkloadTable
{
    private static readonly Fill s_millionKeys = new("SET memtier-{+1000000} {*256}", 1_000_000);

    private static readonly Fill s_fiveMillionKeys = new("SET key:{+5000000} {*256}", 5_000_000);

    private static readonly LoadPlan s_fiveMillionSetGet =
        new([new("SET key:{5000000} {*256}"), new("GET key:{5000000}", 10)], 50, 30);

    private static readonly Share[] s_setGet = [new("SET memtier-{1000000} {*256}"), new("GET memtier-{1000000}", 10)];

    private static readonly Share[] s_set = [new("SET memtier-{1000000} {*256}")];

    private const string EntryFields = "name {*8} rank {1000} seen {1000000}";

    public static IReadOnlyList<Workload> All { get; } =
    [
        .. Core(), .. Floor(), .. Links(), .. Values(), .. Memory(), .. Collections(), .. Streams(), .. Pauses(), .. Scripts(), .. Durable(),
        .. Recovery(), .. Caches(), .. Transports(), .. Watched(), .. Contention(), .. Shared(),
        .. Replication(), .. Cluster(),
    ];

    private static IEnumerable<Workload> Core()
    {
        yield return new("set-get-p30", "core", [s_millionKeys], new(s_setGet, 50, 30))
        {
            Goals = [Most(Metric.Cpu, 0.50, Redis), Most(Metric.Cpu, 0.65, Valkey), Most(Metric.Cpu, 0.45, Garnet)],
        };
        yield return new("set-get-p1", "core", [s_millionKeys], new(s_setGet, 50, 1))
        {
            Goals =
            [
                Most(Metric.Cpu, 0.75, Redis), Most(Metric.Cpu, 0.45, Garnet), Most(Metric.P99, 1.0, Redis), Most(Metric.P999, 1.0, Redis),
            ],
        };
        yield return new("set-get-p30-at-rate", "core", [s_millionKeys], new(s_setGet, 50, 30) { RatePerSecond = 150_000 })
        {
            Goals = [Most(Metric.P999, 1.0, Redis)],
        };
        yield return new("set-get-p1-at-rate", "core", [s_millionKeys], new(s_setGet, 50, 1) { RatePerSecond = 25_000 })
        {
            Goals = [Most(Metric.P999, 1.0, Redis)],
        };
        yield return new("full-load-5m-keys", "core", [s_fiveMillionKeys], s_fiveMillionSetGet);
        yield return new("start", "core", [], Load: null) { Goals = [Most(Metric.StartTime, 50)] };

        yield return new("memtier-p30", "memtier", [s_millionKeys], new(s_setGet, 16, 30)) { ByMemtier = true, Goals = [Most(Metric.Cpu, 0.5, Redis)] };
        yield return new("memtier-p1", "memtier", [s_millionKeys], new(s_setGet, 50, 1))
        {
            ByMemtier = true,
            Goals = [Most(Metric.Cpu, 0.75, Redis), Most(Metric.P99, 1.0, Redis), Most(Metric.P999, 1.0, Redis)],
        };
    }

    /// <summary>The system calls that a server cannot avoid without pipelining: the program of perf/floor makes only these.</summary>
    private static IEnumerable<Workload> Floor()
    {
        Share[] mix = [new("SET key:{100000} {*256}"), new("GET key:{100000}", 10)];
        yield return new("floor-p1", "floor", [new("SET key:{+100000} {*256}", 100_000) { Pipeline = 1 }], new(mix, 50, 1))
        {
            Goals = [Most(Metric.Cpu, 1.25, ServerKind.Floor)],
        };
    }

    /// <summary>TLS, Unix sockets and many connections. memtier_benchmark sends the load of TLS.</summary>
    private static IEnumerable<Workload> Links()
    {
        foreach (int pipeline in (int[])[1, 30])
        {
            yield return new($"unix-p{pipeline}", "links", [s_millionKeys], new(s_setGet, 50, pipeline))
            {
                Link = Link.Unix,
                Goals = [Most(Metric.Cpu, 1.0, Redis)],
            };
            yield return new($"tls-p{pipeline}", "links", [s_millionKeys], new(s_setGet, 50, pipeline))
            {
                Link = Link.Tls,
                ByMemtier = true,
                Goals = [Most(Metric.Cpu, 1.0, Redis)],
            };
            foreach (int connections in (int[])[1_000, 10_000])
            {
                yield return new($"set-get-{connections}c-p{pipeline}", "links", [s_millionKeys], new(s_setGet, connections, pipeline))
                {
                    Goals = [Most(Metric.Cpu, 1.0, Redis), Most(Metric.P999, 1.0, Redis)],
                };
            }
        }
    }

    private static IEnumerable<Workload> Values() =>
        from size in ((string Name, int Bytes, int Keys)[])[("4k", 4 << 10, 50_000), ("64k", 64 << 10, 4_000), ("1m", 1 << 20, 200)]
        select new Workload($"values-{size.Name}", "values", [new($"SET value:{{+{size.Keys}}} {{*{size.Bytes}}}", size.Keys) { Pipeline = 1 }],
            new([new($"SET value:{{{size.Keys}}} {{*{size.Bytes}}}"), new($"GET value:{{{size.Keys}}}")], 8, 1))
        {
            Goals = [Most(Metric.Cpu, 1.0, Redis), Least(Metric.Throughput, 1.0, Redis)],
        };

    private static IEnumerable<Workload> Memory()
    {
        yield return Row("memory-1m-256", 0.85, new Fill("SET memtier-{+1000000} {*256}", 1_000_000));
        yield return new("grow-10m-keys", "memory",
            [new("SET key:00000{+10000000} {*16}", 10_000_000) { Connections = 50, Pipeline = 30 }], Load: null)
        {
            Goals = [Most(Metric.Resident, 0.50, Redis), Most(Metric.P999, 1.0, Redis)],
        };
        yield return Row("memory-zset-10m", 0.60, new Fill("ZADD zset {~10000000} member:{~10000000}", 10_000_000));
        yield return Row("memory-hash-10m", 0.65, new Fill("HSET hash field:{+10000000} value:{+10000000}", 10_000_000));
        yield return Row("memory-set-10m", 0.65, new Fill("SADD set member:{+10000000}", 10_000_000));
        yield return Row("memory-hashes-1m", 0.85, new Fill(
            "HSET user:{+1000000} name {*8} mail {*16} age {100} city {*8} rank {1000} seen {1000000} flag {2} team {*6}",
            1_000_000));
        yield return Row("memory-list-10m", 0.90, new Fill("RPUSH list item:{+10000000}", 10_000_000));
        yield return Row("memory-stream-10m", 0.80, new Fill($"XADD stream * {EntryFields}", 10_000_000));

        static Workload Row(string name, double most, Fill fill) =>
            new(name, "memory", [fill], Load: null) { Goals = [Most(Metric.Resident, most, Redis)] };
    }

    private static IEnumerable<Workload> Collections()
    {
        Fill lists = new("RPUSH list:{+1000} {*16}", 100_000);
        Fill hashes = new("HSET hash:{+100000} field:{10} {*32}", 500_000);
        Fill sets = new("SADD set:{+1000} member:{1000}", 700_000);
        Fill sortedSets = new("ZADD zset:{+1000} {1000000} member:{1000}", 700_000);

        (string Name, Fill Data, Share[] Mix)[] families =
        [
            ("list", lists, [new("LPUSH list:{1000} {*16}"), new("LPOP list:{1000}")]),
            ("hash", hashes, [new("HSET hash:{100000} field:{10} {*32}"), new("HGET hash:{100000} field:{10}")]),
            ("set", sets, [new("SADD set:{1000} member:{1000}"), new("SISMEMBER set:{1000} member:{1000}")]),
            ("zset", sortedSets,
            [
                new("ZADD zset:{1000} {1000000} member:{1000}"), new("ZRANGE zset:{1000} 0 9"),
                new("ZRANK zset:{1000} member:{1000}"),
            ]),
            ("zrangebyscore", sortedSets, [new("ZRANGEBYSCORE zset:{1000} {1000000} +inf LIMIT 0 10")]),
        ];
        foreach ((string name, Fill data, Share[] mix) in families)
        {
            yield return new($"{name}-p30", "collections", [data], new(mix, 50, 30)) { Goals = [Most(Metric.Cpu, 0.65, Redis)] };
            yield return new($"{name}-p1", "collections", [data], new(mix, 50, 1)) { Goals = [Most(Metric.Cpu, 0.85, Redis)] };
        }

        yield return new("lrange-600", "collections", [new("RPUSH list {*16}", 1_000)], new([new("LRANGE list 0 599")], 50, 1))
        {
            Goals = [Most(Metric.Cpu, 0.8, Redis)],
        };
        yield return new("sunion-10k", "collections",
            [new("SADD one member:1{+5000}", 5_000), new("SADD two member:2{+5000}", 5_000)], new([new("SUNION one two")], 10, 1))
        {
            Goals = [Most(Metric.Cpu, 0.8, Redis)],
        };
    }

    private static IEnumerable<Workload> Streams()
    {
        Share[] add = [new($"XADD stream:{{1000}} MAXLEN ~ 1000 * {EntryFields}")];
        yield return Row("xadd-p30", [], new(add, 50, 30));
        yield return Row("xadd-p1", [], new(add, 50, 1));

        // The IDs must ascend, so one connection sends the fill.
        Fill entries = new($"XADD stream {{+1000000}}-1 {EntryFields}", 1_000_000) { Connections = 1 };
        yield return Row("xread-100", [entries], new([new("XREAD COUNT 100 STREAMS stream {1000000}-1")], 50, 1));

        // The IDs to acknowledge are the same in all streams. After the acknowledgement, the group starts again at the first ID.
        IEnumerable<int> ids = Enumerable.Range(1, 10);
        Share[] consume =
        [
            new("XREADGROUP GROUP group consumer COUNT 10 STREAMS stream:{+1000} >"),
            new($"XACK stream:{{+1000}} group {string.Join(' ', ids.Select(id => $"{id}-1"))}"),
            new("XGROUP SETID stream:{+1000} group 0"),
        ];
        yield return Row("xreadgroup-xack-10",
            [
                new("XGROUP CREATE stream:{+1000} group 0 MKSTREAM", 1_000),
                .. ids.Select(id => new Fill($"XADD stream:{{+1000}} {id}-1 {EntryFields}", 1_000)),
            ],
            new(consume, 50, 30) { RequestsPerOperation = 3 });

        static Workload Row(string name, IReadOnlyList<Fill> data, LoadPlan load) =>
            new(name, "streams", data, load) { Goals = [Most(Metric.Cpu, 0.8, Redis)] };
    }

    /// <summary>Full load with much data. The figure is the longest pause of the garbage collector, which the server reports.</summary>
    private static IEnumerable<Workload> Pauses()
    {
        yield return new("pauses-strings", "pauses", [s_fiveMillionKeys], s_fiveMillionSetGet) { Goals = [Most(Metric.Pause, 5)] };
        const int members = 2_500_000;
        Share[] mix =
        [
            new($"HSET hash field:{{{members}}} value:{{{members}}}"), new($"HGET hash field:{{{members}}}"), new($"SADD set member:{{{members}}}"),
            new($"SISMEMBER set member:{{{members}}}"), new($"ZADD zset {{1000000}} member:{{{members}}}"), new($"ZRANK zset member:{{{members}}}"),
            new("LPUSH list item:{1000}"), new("RPOP list"),
        ];
        yield return new("pauses-collections", "pauses",
        [
            new($"HSET hash field:{{+{members}}} value:{{+{members}}}", members), new($"SADD set member:{{+{members}}}", members),
            new($"ZADD zset {{~{members}}} member:{{~{members}}}", members), new($"RPUSH list item:{{+{members}}}", members),
        ], new(mix, 50, 30))
        {
            Goals = [Most(Metric.Pause, 5)],
        };
    }

    private static IEnumerable<Workload> Scripts()
    {
        const string script = "redis.call('SET',KEYS[1],ARGV[1]) return redis.call('GET',KEYS[1])";
        Share[] eval = [new($"EVAL \"{script}\" 1 memtier-{{1000000}} {{*256}}")];
        yield return new("eval-p30", "scripts", [s_millionKeys], new(eval, 50, 30)) { Goals = [Most(Metric.Cpu, 0.8, Redis)] };
        yield return new("eval-p1", "scripts", [s_millionKeys], new(eval, 50, 1)) { Goals = [Most(Metric.Cpu, 0.8, Redis)] };
        yield return new("multi-10-sets", "scripts", [s_millionKeys],
            new([new("MULTI"), new(s_set[0].Request, 10), new("EXEC")], 50, 12) { RequestsPerOperation = 12 })
        {
            Goals = [Most(Metric.Cpu, 0.8, Redis)],
        };
        yield return new("publish-nobody", "scripts", [], new([new("PUBLISH nobody {*64}")], 50, 30));
        yield return new("publish-1000", "scripts", [],
            new([new($"PUBLISH {LoadPlan.Channel} {{*64}}")], 4, 1) { Subscribers = 1_000 })
        {
            Goals = [Most(Metric.Cpu, 1.0, Redis)],
        };
    }

    private static IEnumerable<Workload> Durable()
    {
        yield return new("set-50c-p1", "durable", [s_millionKeys], new(s_set, 50, 1));
        yield return new("set-400c-p1", "durable", [s_millionKeys], new(s_set, 400, 1));
        yield return new("set-16c-p30", "durable", [s_millionKeys], new(s_set, 16, 30));
        yield return new("set-50c-p30", "durable", [s_millionKeys], new(s_set, 50, 30));
        yield return EverySecond("everysec-50c-p1", 50, 1, Most(Metric.Cpu, 1.15, workload: "set-50c-p1"));
        yield return EverySecond("everysec-50c-p30", 50, 30, Most(Metric.Cpu, 1.15, workload: "set-50c-p30"));
        double mostDisk = 1.15 * RequestTemplate.Parse(s_set[0].Request).Bytes.Length;
        yield return Always("always-50c-p1", 50, 1,
            Least(Metric.Throughput, 1.25, Redis), Least(Metric.Throughput, 0.85, workload: "set-50c-p1"), Most(Metric.DiskBytes, mostDisk));
        yield return Always("always-400c-p1", 400, 1,
            Least(Metric.Throughput, 1.1, Redis), Least(Metric.Throughput, 0.95, workload: "set-400c-p1"));
        yield return Always("always-16c-p30", 16, 30,
            Least(Metric.Throughput, 2.5, Redis), Least(Metric.Throughput, 0.85, workload: "set-16c-p30"));
        yield return Always("always-1c-p1", 1, 1, Most(Metric.P50, 1.1, Redis));
        yield return Always("always-50c-p1-2-cores", 50, 1, Least(Metric.Throughput, 1.0, workload: "always-50c-p1")) with
        {
            ServerCores = 2,
            ForAllCores = true,
        };

        static Workload EverySecond(string name, int connections, int pipeline, params IReadOnlyList<Goal> goals) =>
            new(name, "durable", [s_millionKeys], new(s_set, connections, pipeline)) { Durability = Durability.EverySecond, Goals = goals };

        static Workload Always(string name, int connections, int pipeline, params IReadOnlyList<Goal> goals) =>
            new(name, "durable", [], new(s_set, connections, pipeline)) { Durability = Durability.Always, Goals = goals };
    }

    private static IEnumerable<Workload> Recovery()
    {
        const string save = "bgsave-5m-keys";
        yield return new(save, "recovery", [s_fiveMillionKeys], s_fiveMillionSetGet)
        {
            Procedure = Procedure.SaveUnderLoad,
            Goals =
            [
                Least(Metric.Throughput, 0.9, workload: $"{save}-before"), Most(Metric.P999, 1.5, workload: $"{save}-before"),
                Most(Metric.Resident, 1.05, workload: $"{save}-before"), Most(Metric.Elapsed, 1.5, Redis),
            ],
        };
        // The server loads its shards in parallel, which has an effect only on several cores.
        yield return new("restart-snapshot-5m-keys", "recovery", [s_fiveMillionKeys], Load: null)
        {
            Procedure = Procedure.Restart,
            ServerCores = 2,
            Goals = [Most(Metric.StartTime, 0.4, Redis)],
        };
        yield return new("restart-journal-5m-keys", "recovery", [s_fiveMillionKeys], Load: null)
        {
            Procedure = Procedure.Restart,
            ServerCores = 2,
            Durability = Durability.EverySecond,
            Goals = [Most(Metric.StartTime, 1 / 3.0, Redis)],
        };
    }

    /// <summary>A million lookups by a Zipf trace of 200,000 keys. The memory is sufficient for about a tenth of the keys.</summary>
    private static IEnumerable<Workload> Caches()
    {
        foreach (string policy in (string[])["allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-ttl"])
        {
            yield return new($"cache-{policy}", "caches", [], Load: null)
            {
                Procedure = Procedure.Cache,
                Cache = new Cache(policy, Keys: 200_000, ValueBytes: 200, MaxMemory: 8 << 20, Lookups: 1_000_000),
                Goals = [Least(Metric.HitRatio, 1.0, Redis)],
            };
        }
    }

    /// <summary>The event loop beside the sockets of Kestrel, which the same server uses with <c>--transport sockets</c>.</summary>
    private static IEnumerable<Workload> Transports() =>
        from connections in (int[])[50, 1_000]
        from pipeline in (int[])[1, 30]
        select new Workload($"transport-{connections}c-p{pipeline}", "transport", [s_millionKeys], new(s_setGet, connections, pipeline))
        {
            Goals = [Most(Metric.Cpu, 1.0, Sockets)],
        };

    /// <summary>
    /// The core load on a server that keeps its history, whose metrics are scraped each second and whose studio is open, beside the
    /// same server without any of it.
    /// </summary>
    private static IEnumerable<Workload> Watched() =>
        from pipeline in (int[])[30, 1]
        select new Workload($"watched-p{pipeline}", "watched", [s_millionKeys], new(s_setGet, 50, pipeline))
        {
            IsWatched = true,
            Goals = [Most(Metric.Cpu, 1.03, Unwatched)],
        };

    /// <summary>The cost of replicas for a primary, a full synchronisation, and the cost of the stream for a replica.</summary>
    private static IEnumerable<Workload> Replication()
    {
        (int Replicas, double Most)[] rows = [(0, 1.0), (1, 1.2), (3, 1.3)];
        foreach ((int replicas, double most) in rows)
        {
            yield return new($"replicas-{replicas}-p30", "replication", [s_millionKeys], new(s_set, 50, 30))
            {
                Replicas = replicas,
                Goals = replicas == 0 ? [] : [Most(Metric.Cpu, most, workload: "replicas-0-p30")],
            };
        }
        yield return new("apply-p30", "replication", [s_millionKeys], new(s_set, 50, 30) { RatePerSecond = 150_000 })
        {
            Procedure = Procedure.Apply,
            Goals = [Most(Metric.Cpu, 0.7, Redis), Most(Metric.Lag, 100)],
        };
        const string sync = "sync-5m-keys";
        yield return new(sync, "replication", [s_fiveMillionKeys], s_fiveMillionSetGet with { RatePerSecond = 100_000 })
        {
            Procedure = Procedure.SyncUnderLoad,
            Goals =
            [
                Most(Metric.Elapsed, 0.6, Redis), Most(Metric.Resident, 1.05, workload: $"{sync}-before"),
                Least(Metric.Throughput, 0.85, workload: $"{sync}-before"),
            ],
        };
    }

    /// <summary>A cluster of one node, beside the same server without it. The keys of a request have one hash tag.</summary>
    private static IEnumerable<Workload> Cluster()
    {
        Fill keys = new("SET key:00000{+5000000} {*16}", 5_000_000);
        Workload alone = new("alone-p30", "cluster", [keys], new([new("SET key:00000{5000000} {*16}"), new("GET key:00000{5000000}", 10)], 50, 30));
        yield return alone;
        yield return alone with
        {
            Name = "node-p30",
            InCluster = true,
            // Eight bytes for each key are 13 % of what the data take.
            Goals = [Most(Metric.Cpu, 1.05, workload: alone.Name), Most(Metric.Resident, 1.13, workload: alone.Name)],
        };
        string[] tagged = [.. Enumerable.Range(0, 10).Select(i => $"{{{{{{+100000}}}}:{i}")];
        Fill pairs = new($"MSET {string.Join(' ', tagged.Select(key => key + " {*32}"))}", 100_000);
        yield return Tagged("node-mget-10", 1, new Share($"MGET {string.Join(' ', tagged)}"));
        yield return Tagged("node-mset-10", 1, new Share(pairs.Request));
        yield return Tagged("node-multi-10", 12, [new("MULTI"), .. tagged.Select(key => new Share($"SET {key} {{*32}}")), new("EXEC")]);

        // Half of the slots, 0 to 8191, have half of the keys. The slot of foo is 12182.
        const string move = "move-1m-keys";
        Fill scattered = new("SET key:{+2000000} {*256}", 2_000_000), staying = new("SET {{foo}:{+100000} {*256}", 100_000);
        LoadPlan load = new([new("SET {{foo}:{100000} {*256}"), new("GET {{foo}:{100000}", 10)], 50, 1) { RatePerSecond = 10_000 };
        yield return new(move, "cluster", [scattered, staying], load)
        {
            Procedure = Procedure.MoveSlotsUnderLoad,
            InCluster = true,
            Goals = [Most(Metric.Elapsed, 0.7, Redis), Most(Metric.P99, 2.0, workload: $"{move}-before")],
        };
        yield return new("fail-primary", "cluster", [], Load: null)
        {
            Procedure = Procedure.FailPrimary,
            InCluster = true,
            Goals = [Most(Metric.Elapsed, FailPrimaryExperiment.NodeTimeoutMilliseconds / 1000.0 + 1)],
        };

        Workload Tagged(string name, int requests, params IReadOnlyList<Share> mix) =>
            new(name, "cluster", [pairs], new(mix, 50, 12) { RequestsPerOperation = requests })
            {
                InCluster = true,
                Goals = [Most(Metric.Cpu, 0.7, Redis)],
            };
    }

    /// <summary>
    /// The same load on 1, 2, 4 ... cores, which shows the cost of sharing for each operation. With all cores, the load and the
    /// server must share the cores and their caches. They share the cores in the other rows too.
    /// </summary>
    private static IEnumerable<Workload> Contention()
    {
        for (int cores = 1; cores <= Math.Max(2, Environment.ProcessorCount); cores *= 2)
        {
            yield return Row(cores, pipeline: 30);
            yield return Row(cores, pipeline: 1);
        }

        static Workload Row(int cores, int pipeline) =>
            new(Name(cores, pipeline), "contention", [s_millionKeys], new(s_setGet, 50, pipeline))
            {
                ServerCores = cores,
                ForAllCores = true,
                LoadSharesCores = true,
                Goals = cores == 1 ? [] : [Most(Metric.Cpu, 1.25, workload: Name(1, pipeline))],
            };

        static string Name(int cores, int pipeline) => $"cores-{cores}-p{pipeline}";
    }

    /// <summary>
    /// A server and memtier_benchmark on the same two cores, both with their defaults, as on the machine of a developer; and a load of
    /// a tenth of a core, for which a second event loop must cost nothing.
    /// </summary>
    private static IEnumerable<Workload> Shared()
    {
        yield return Row("shared-p1", new(s_setGet, 200, 1) { Threads = 4 }) with
        {
            ByMemtier = true,
            Goals = [Least(Metric.Throughput, 1.1, Redis), Most(Metric.P99, 1.0, Redis)],
        };
        yield return Row("shared-p30", new(s_setGet, 200, 30) { Threads = 4 }) with
        {
            ByMemtier = true,
            Goals = [Least(Metric.Throughput, 1.4, Redis), Most(Metric.P99, 1.0, Redis)],
        };
        yield return Row("shared-low-rate", new(s_setGet, 50, 1) { RatePerSecond = 15_000 }) with
        {
            Goals = [Most(Metric.Cpu, 1.0, OneLoop)],
        };

        static Workload Row(string name, LoadPlan load) => new(name, "shared", [s_millionKeys], load) { ServerCores = 2, LoadSharesCores = true };
    }
}
