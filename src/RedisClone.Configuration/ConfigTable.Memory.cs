namespace RedisClone.Configuration;

/// <summary>The parameters for memory limits, eviction, expiry and background freeing.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Memory() =>
    [
        Bytes("maxmemory", 0, 0, static c => ref c.MaxMemorySetting,
            "Limit of the data; 0 is no limit. `auto` is three quarters of the machine's memory, or of the memory that the " +
                "runtime may use in a limited container (three quarters of its limit); `CONFIG GET` shows the result.",
            word: new NumberWord("auto", ServerConfig.Auto, static c => c.MaxMemoryBytes)),
        Choice("maxmemory-policy", MaxMemoryPolicy.NoEviction, ConfigChoices.MaxMemoryPolicy, static c => ref c.MaxMemoryPolicy,
            "Eviction policy at the limit."),
        Int("maxmemory-samples", 5, 1, 64, static c => ref c.MaxMemorySamples, "Keys sampled for each eviction."),
        Int("maxmemory-eviction-tenacity", 10, 0, 100, static c => ref c.MaxMemoryEvictionTenacity,
            "Duration of one round of eviction, between which clients are served: at 10 half a millisecond, at 100 until there is room."),
        Int("lfu-log-factor", 10, 0, int.MaxValue, static c => ref c.LfuLogFactor,
            "How slowly the LFU counter of a key saturates."),
        Int("lfu-decay-time", 1, 0, int.MaxValue, static c => ref c.LfuDecayTime,
            "Minutes after which the LFU counter of a key decreases by one; 0 turns this off."),
        Int("active-expire-effort", 1, 1, 10, static c => ref c.ActiveExpireEffort,
            "Effort of the search for expired keys: its time, and the share of expired keys at which it continues."),
        Bool("lazyfree-lazy-eviction", false,
            "Free evicted values in the background; here all large values are freed in slices.", flags: TunesNothing),
        Bool("lazyfree-lazy-expire", false, static c => ref c.LazyFreeExpire,
            "Journal UNLINK instead of DEL for a key that a command makes expire at once; values are freed in slices either " +
                "way."),
        Bool("lazyfree-lazy-server-del", false, static c => ref c.LazyFreeServerDel,
            "Journal UNLINK instead of DEL for a value that a command removes or replaces as a whole; values are freed in " +
                "slices either way."),
        Bool("lazyfree-lazy-user-del", false, "DEL works like UNLINK; here it always does.", flags: TunesNothing),
        Bool("lazyfree-lazy-user-flush", false, static c => ref c.LazyFreeUserFlush,
            "FLUSHALL and FLUSHDB without an option work like ASYNC."),
        Bool("activerehashing", true,
            "Continue to rehash dictionaries when idle; here indexes always grow in small steps.", flags: TunesNothing),
        Bool("huge-pages", true, static c => ref c.HugePages, "Use transparent huge pages of Linux for large data.", flags: Immutable),
        Bool("activedefrag", false, "Defragment memory while the server runs.", flags: Unsupported),
        Bytes("active-defrag-ignore-bytes", 104857600, 1,
            "Wasted bytes below which defragmentation does not start.", TunesNothing),
        Int("active-defrag-threshold-lower", 10, 0, 1000,
            "Percentage of waste at which defragmentation starts.", flags: TunesNothing),
        Int("active-defrag-threshold-upper", 100, 0, 1000,
            "Percentage of waste at which defragmentation uses its maximum effort.", flags: TunesNothing),
        Int("active-defrag-cycle-min", 1, 1, 99,
            "Minimum percentage of processor time for defragmentation.", flags: TunesNothing),
        Int("active-defrag-cycle-max", 25, 1, 99,
            "Maximum percentage of processor time for defragmentation.", flags: TunesNothing),
        Long("active-defrag-max-scan-fields", 1000, 1,
            "Elements of a collection that defragmentation visits in one step.", TunesNothing),
        Bool("jemalloc-bg-thread", true,
            "Background thread of the allocator jemalloc, which this server does not use.", flags: TunesNothing),
    ];
}
