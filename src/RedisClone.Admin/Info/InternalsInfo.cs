using System.Diagnostics;
using System.Globalization;
using RedisClone.Engine.Shards;
using RedisClone.Scheduling;
using static RedisClone.Admin.Info.FigureValue;
using static RedisClone.Admin.Info.Metric;

namespace RedisClone.Admin.Info;

/// <summary>
/// INFO's sections about what only this server has: shards, event loops, groups of the journal, and the parts of the process.
/// </summary>
internal static class InternalsInfo
{
    private static readonly double TicksPerMicrosecond = Stopwatch.Frequency / 1e6;

    /// <summary>The families of commands: the groups of the command table.</summary>
    public static readonly string[] CommandFamilies =
    [
        "all", "string", "hash", "list", "set", "sorted-set", "stream", "generic", "pubsub", "scripting", "transactions", "connection", "server",
        "bitmap", "geo", "hyperloglog", "cluster",
    ];

    public static readonly InfoRow[] Latencies =
    [
        new Distribution("latency_family_usec_", "family", CommandFamilies, static (r, member) => r.FamilyLatency(member), TicksPerMicrosecond,
            Summary("redisclone_command_latency_seconds", "Seconds that the commands of a family took.", Unit.Microseconds)),
    ];

    public static readonly InfoRow[] Shards =
    [
        new Figure("shard_imbalance", static r => Ratio(r.Server.ShardLoads.Imbalance),
            Gauge("redisclone_shard_imbalance", "The load of the busiest shard divided by the mean load, in the last second.")),
        new Figure("commands_moved", static r => r.Stats.Totals.Hops,
            Counter("redisclone_commands_moved_total", "How often commands moved to a worker, because a shard was busy or because they are long.")),
        new Family<Shard>("shard", "shard", AllShards, [
            new("holds", static s => s.Holds, Counter("redisclone_shard_holds_total", "How often a thread took a shard.")),
            new("short_waits", static s => s.ShortWaits,
                Counter("redisclone_shard_short_waits_total", "How often a thread found a shard busy and waited a moment for it in place.")),
            new("waits", static s => s.Waits, Counter("redisclone_shard_waits_total", "Work that found a shard busy and waited.")),
            new("queued", static s => s.Queued, Gauge("redisclone_shard_queued", "Work that waits for a shard now.")),
            new("keys", static s => KeysOf(s), Gauge("redisclone_shard_keys", "Keys of a shard.")),
            new("bytes", static s => s.Store.Arena.BytesUsed, Gauge("redisclone_shard_used_bytes", "Bytes of the buffers in use of a shard.", Unit.Bytes)),
            new("slack", static s => s.Store.Arena.SlackBytes,
                Gauge("redisclone_shard_slack_bytes", "Bytes of a shard that are reserved and not in use.", Unit.Bytes)),
            new("buffers", static s => s.Store.Arena.LiveBuffers, Gauge("redisclone_shard_buffers", "Buffers in use of a shard.")),
        ]),
    ];

    public static readonly InfoRow[] Loops =
    [
        new Family<LoopCounters>("loop", "loop", AllLoops, [
            new("rounds", static l => l.Rounds, Counter("redisclone_loop_rounds_total", "Rounds of an event loop.")),
            new("receives", static l => l.Receives, Counter("redisclone_loop_receives_total", "Receives of an event loop that returned data.")),
            new("connections", static l => l.Connections, Gauge("redisclone_loop_connections", "Connections of an event loop.")),
            new("unsent", static l => l.UnsentBytes,
                Gauge("redisclone_loop_unsent_bytes", "Bytes of an event loop that the kernel has not taken yet.", Unit.Bytes)),
            new("moved", static l => l.Moved, Counter("redisclone_loop_moved_total", "Connections that have moved to another event loop.")),
        ]),
        new Distribution("batch_commands", "", [""], static (r, _) => r.Sum(static lane => lane.Batches), 1,
            Summary("redisclone_batch_commands", "Commands that one read of a connection delivered.")),
        new Distribution("batch_bytes", "", [""], static (r, _) => r.Sum(static lane => lane.Received), 1,
            Summary("redisclone_batch_bytes", "Bytes of the commands that one read of a connection delivered.", Unit.Bytes)),
        new Distribution("sent_bytes", "", [""], static (r, _) => r.Sum(static lane => lane.Sent), 1,
            Summary("redisclone_sent_bytes", "Bytes of replies that were sent together.", Unit.Bytes)),
    ];

    public static readonly InfoRow[] Journal =
    [
        new Figure("journal_bytes_at_risk", static r => r.Journal?.BytesAtRisk,
            Gauge("redisclone_journal_at_risk_bytes", "Bytes of effects that are not durable yet.", Unit.Bytes)),
        new Figure("journal_groups", static r => r.Journal?.Engine.Statistics.Groups,
            Counter("redisclone_journal_groups_total", "Groups written to the journal.")),
        new Figure("journal_flushes", static r => r.Journal?.Engine.Statistics.Flushes,
            Counter("redisclone_journal_flushes_total", "Flushes of the journal.")),
        new Distribution("journal_group_bytes", "", [""], static (r, _) => r.Journal?.GroupSizes, 1,
            Summary("redisclone_journal_group_bytes", "Bytes of the groups of the journal.", Unit.Bytes)),
        new Distribution("journal_flush_usec", "", [""], static (r, _) => r.Journal?.FlushTimes, TicksPerMicrosecond,
            Summary("redisclone_journal_flush_seconds", "Seconds that the flushes of the journal took.", Unit.Microseconds)),
    ];

    public static readonly InfoRow[] Process =
    [
        Resident("rss_anonymous", static p => p.Anonymous, "anonymous", "Resident bytes that no file backs."),
        Resident("rss_files", static p => p.Files, "files", "Resident bytes of mapped files, such as the executable."),
        Resident("rss_huge_pages", static p => p.HugePages, "huge_pages", "Resident bytes in huge pages."),
        Resident("rss_dirty", static p => p.PrivateDirty, "dirty", "Resident bytes that belong to the process alone and were written."),
        Resident("swapped", static p => p.Swapped, "swapped", "Bytes of the process in swap space."),
        new Figure("disk_read", static r => r.Process.DiskRead,
            Counter("redisclone_disk_read_bytes_total", "Bytes that the process read from disks.", Unit.Bytes)),
        new Figure("disk_written", static r => r.Process.DiskWritten,
            Counter("redisclone_disk_written_bytes_total", "Bytes that the process wrote to disks.", Unit.Bytes)),
        new Family<TimeSpan>("thread_", "thread", static r => r.Process.Threads, [
            new("cpu", static time => Time(time),
                Counter("redisclone_thread_cpu_seconds_total", "Processor seconds of the threads of a name.", Unit.Seconds)),
        ]),
        new Figure("gc_heap", static r => r.Collector.HeapSizeBytes,
            Gauge("redisclone_gc_heap_bytes", "Bytes of the managed heap after the last collection.", Unit.Bytes)),
        new Figure("gc_committed", static r => r.Collector.TotalCommittedBytes,
            Gauge("redisclone_gc_committed_bytes", "Bytes that the collector has committed.", Unit.Bytes)),
        new Figure("gc_fragmented", static r => r.Collector.FragmentedBytes,
            Gauge("redisclone_gc_fragmented_bytes", "Bytes between the objects of the managed heap.", Unit.Bytes)),
        new Figure("gc_full_collections", static _ => GC.CollectionCount(2),
            Counter("redisclone_gc_full_collections_total", "Garbage collections of the whole heap.")),
        new Figure("gc_allocated", static _ => GC.GetTotalAllocatedBytes(),
            Counter("redisclone_gc_allocated_bytes_total", "Bytes allocated on the managed heap.", Unit.Bytes)),
    ];

    private static Figure Resident(string name, Func<ProcessReading, long?> read, string part, string help) =>
        new(name, r => read(r.Process) is { } bytes ? bytes : default(FigureValue?), Gauge($"redisclone_resident_{part}_bytes", help, Unit.Bytes));

    private static IEnumerable<KeyValuePair<string, Shard>> AllShards(ServerReading reading)
    {
        for (int i = 0; i < reading.Server.Shards.Count; i++)
            yield return KeyValuePair.Create(i.ToString(CultureInfo.InvariantCulture), reading.Server.Shards[i]);
    }

    private static IEnumerable<KeyValuePair<string, LoopCounters>> AllLoops(ServerReading reading) =>
        reading.Loops.Select(static (loop, i) => KeyValuePair.Create(i.ToString(CultureInfo.InvariantCulture), loop));

    private static long KeysOf(Shard shard)
    {
        long keys = 0;
        for (int database = 0; database < shard.Store.DatabaseCount; database++) keys += shard.Store.ExistingDatabase(database)?.Count ?? 0;
        return keys;
    }
}
