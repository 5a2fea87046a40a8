namespace RedisClone.Server.Admin;

/// <summary>Limits of memory, eviction, expiry and freeing.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Memory() =>
    [
        Bytes("maxmemory", 0, 0, static c => ref c.MaxMemorySetting, "Memory that the data may take; 0 is no limit, `auto` three quarters of what the machine has, or of what the runtime may take of a limited container (itself three quarters); `CONFIG GET` tells how much that is.", word: new NumberWord("auto", ServerConfig.Auto, static c => c.MaxMemoryBytes)),
        Choice("maxmemory-policy", MaxMemoryPolicy.NoEviction, ConfigChoices.MaxMemoryPolicy, static c => ref c.MaxMemoryPolicy, "What to evict at the limit."),
        Int("maxmemory-samples", 5, 1, 64, static c => ref c.MaxMemorySamples, "Keys looked at to find one to evict."),
        Int("maxmemory-eviction-tenacity", 10, 0, 100, "How long one round of eviction may go on; here until there is room.", flags: TunesNothing),
        Int("lfu-log-factor", 10, 0, int.MaxValue, static c => ref c.LfuLogFactor, "How slowly the use counter of a key saturates."),
        Int("lfu-decay-time", 1, 0, int.MaxValue, static c => ref c.LfuDecayTime, "Minutes after which that counter loses one; 0 never."),
        Int("active-expire-effort", 1, 1, 10, static c => ref c.ActiveExpireEffort, "How eagerly expired keys are looked for: the time for it, and how few are worth going on."),
        Bool("lazyfree-lazy-eviction", false, "Free evicted values in the background; here all large values are freed in slices.", flags: TunesNothing),
        Bool("lazyfree-lazy-expire", false, static c => ref c.LazyFreeExpire, "Write down as UNLINK instead of DEL what a command makes expire at once; values are freed in slices either way."),
        Bool("lazyfree-lazy-server-del", false, static c => ref c.LazyFreeServerDel, "Write down as UNLINK instead of DEL what a command takes or replaces as a whole; values are freed in slices either way."),
        Bool("lazyfree-lazy-user-del", false, "DEL works as UNLINK, which it does here.", flags: TunesNothing),
        Bool("lazyfree-lazy-user-flush", false, static c => ref c.LazyFreeUserFlush, "FLUSHALL and FLUSHDB without an option work as with ASYNC."),
        Bool("activerehashing", true, "Go on with growing dictionaries when idle; here they grow in small steps anyway.", flags: TunesNothing),
        Bool("activedefrag", false, "Move values together to free memory.", flags: Unsupported),
        Bytes("active-defrag-ignore-bytes", 104857600, 1, "Waste below which that does not start.", TunesNothing),
        Int("active-defrag-threshold-lower", 10, 0, 1000, "Percentage of waste at which it starts.", flags: TunesNothing),
        Int("active-defrag-threshold-upper", 100, 0, 1000, "Percentage of waste at which it does its utmost.", flags: TunesNothing),
        Int("active-defrag-cycle-min", 1, 1, 99, "Least percentage of processor time for it.", flags: TunesNothing),
        Int("active-defrag-cycle-max", 25, 1, 99, "Greatest percentage of processor time for it.", flags: TunesNothing),
        Long("active-defrag-max-scan-fields", 1000, 1, "Elements of a collection that it looks at in one go.", TunesNothing),
        Bool("jemalloc-bg-thread", true, "A thread of the allocator jemalloc, which is not used here.", flags: TunesNothing),
    ];
}
