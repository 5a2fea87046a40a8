using RedisClone.Server.Shards;

namespace RedisClone.Server.Admin;

/// <summary>Loops, shards and cores.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Threads() =>
    [
        Int("io-loops", 0, 0, 1024, static c => ref c.IoLoops, "Event loops; 0 is what io-threads says, or one a core.", flags: Immutable | Hidden),
        Int("shards", 0, 0, ShardSet.MaxShards, static c => ref c.Shards, "Parts of the key space, each with one thread at a time: a power of two, or 0 for several a core.", flags: Immutable | Hidden, check: ParameterChecks.PowerOfTwo),
        Int("io-threads", 1, 1, 128, static c => ref c.IoThreads, "Redis's word for io-loops: counts if io-loops is 0 and this is more than 1.", flags: Immutable),
        Bool("io-threads-do-reads", false, "Let the threads of Redis read, too; loops here always do.", flags: Immutable | TunesNothing),
        Int("lookahead", 16, 1, int.MaxValue, "Requests of a client parsed ahead to fetch their keys; here all that have arrived.", flags: TunesNothing),
        Text("server-cpulist", null, "Cores to run on; use taskset.", "server_cpulist", Immutable | TunesNothing),
        Text("bio-cpulist", null, "Cores of background threads.", "bio_cpulist", Immutable | TunesNothing),
        Text("aof-rewrite-cpulist", null, "Cores of a process that does not exist here.", "aof_rewrite_cpulist", Immutable | TunesNothing),
        Text("bgsave-cpulist", null, "Cores of a process that does not exist here.", "bgsave_cpulist", Immutable | TunesNothing),
    ];
}
