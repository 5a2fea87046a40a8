namespace RedisClone.Configuration;

/// <summary>The parameters for event loops, shards and CPU affinity.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Threads() =>
    [
        Int("io-loops", 0, 0, 1024, static c => ref c.IoLoops,
            "Number of event loops; 0 uses io-threads, or as many as the load needs, up to one per core.", flags: Immutable | Hidden),
        Int("shards", 0, 0, ServerConfig.MaxShards, static c => ref c.Shards,
            "Number of shards: a power of two, or 0 for about 16 per core, fewer in a small heap.",
            flags: Immutable | Hidden, check: ParameterChecks.PowerOfTwo),
        Int("io-threads", 1, 1, 128, static c => ref c.IoThreads,
            "Redis's name for io-loops; used if io-loops is 0 and this is more than 1.", flags: Immutable),
        Bool("io-threads-do-reads", false,
            "Use the I/O threads of Redis for reads; here event loops always read.", flags: Immutable | TunesNothing),
        Int("lookahead", 16, 1, int.MaxValue,
            "Requests of a client parsed ahead to prefetch their keys; here all requests that have arrived.", flags: TunesNothing),
        Text("server-cpulist", null, "Cores of the server; use taskset instead.", "server_cpulist", Immutable | TunesNothing),
        Text("bio-cpulist", null, "Cores of background threads.", "bio_cpulist", Immutable | TunesNothing),
        Text("aof-rewrite-cpulist", null,
            "Cores of a process that does not exist here.", "aof_rewrite_cpulist", Immutable | TunesNothing),
        Text("bgsave-cpulist", null, "Cores of a process that does not exist here.", "bgsave_cpulist", Immutable | TunesNothing),
    ];
}
