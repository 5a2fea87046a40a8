using RedisClone.Configuration;
using static RedisClone.Admin.Info.FigureValue;
using static RedisClone.Admin.Info.Metric;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section about memory.</summary>
internal static class MemoryInfo
{
    public static readonly Figure[] Rows =
    [
        new("used_memory", r => r.Memory.Used,
            Gauge("redis_memory_used_bytes",
                "Bytes of data, clients, replicas and scripts.", Unit.Bytes, place: 11)) { AlsoHuman = true },
        new("used_memory_rss", r => r.Memory.Resident,
            Gauge("redis_memory_used_rss_bytes",
                "Resident memory of the process in bytes.", Unit.Bytes, place: 12)) { AlsoHuman = true },
        new("used_memory_peak", r => r.Memory.Peak,
            Gauge("redis_memory_used_peak_bytes", "Peak of used memory in bytes.", Unit.Bytes, place: 13)) { AlsoHuman = true },
        new("used_memory_peak_perc", r => Percentage(Percent(r.Memory.Used, r.Memory.Peak))),
        new("used_memory_overhead", r => r.Memory.Usage.Overhead,
            Gauge("redis_memory_used_overhead_bytes", "Used bytes that are not keys and values.", Unit.Bytes, place: 14)),
        new("used_memory_startup", _ => 0),
        new("used_memory_dataset", r => r.Memory.Dataset,
            Gauge("redis_memory_used_dataset_bytes", "Used bytes of keys and values.", Unit.Bytes, place: 15)),
        new("used_memory_dataset_perc", r => Percentage(Percent(r.Memory.Dataset, r.Memory.Used))),
        new("allocator_allocated", r => r.Memory.Usage.Data,
            Gauge("redis_allocator_allocated_bytes", "Bytes of buffers that are in use.", Unit.Bytes, place: 18)),
        new("allocator_active", r => r.Memory.Usage.Reserved,
            Gauge("redis_allocator_active_bytes", "Bytes of the pages that contain buffers in use.", Unit.Bytes, place: 19)),
        new("allocator_resident", r => r.Memory.Usage.Reserved),
        new("allocator_muzzy", _ => 0),
        new("managed_heap", _ => GC.GetTotalMemory(forceFullCollection: false),
            Gauge("redisclone_managed_heap_bytes", "Bytes of the managed heap of the runtime.", Unit.Bytes, place: 26)),
        new("managed_heap_committed", _ => GC.GetGCMemoryInfo().TotalCommittedBytes),
        new("total_system_memory", r => r.Config.HostMemory,
            Gauge("redis_total_system_memory_bytes",
                "Memory of the machine or the container in bytes.", Unit.Bytes, place: 24)) { AlsoHuman = true },
        new("used_memory_lua", r => r.Memory.Interpreter - r.Memory.Functions) { AlsoHuman = true },
        new("used_memory_vm_eval", r => r.Memory.Interpreter - r.Memory.Functions),
        new("used_memory_scripts_eval", r => r.Server.Scripts.Cache.SourceBytes),
        new("number_of_cached_scripts", r => r.Server.Scripts.Cache.Count),
        new("number_of_functions", r => r.Server.Scripts.Libraries.FunctionCount),
        new("number_of_libraries", r => r.Server.Scripts.Libraries.All.Count),
        new("used_memory_vm_functions", r => r.Memory.Functions),
        new("used_memory_vm_total", r => r.Memory.Interpreter) { AlsoHuman = true },
        new("used_memory_functions", r => r.Server.Scripts.Libraries.SourceBytes),
        new("used_memory_scripts", r => r.Server.Scripts.Cache.SourceBytes + r.Server.Scripts.Libraries.SourceBytes,
            Gauge("redis_memory_used_scripts_bytes",
                "Bytes of the texts of scripts and functions.", Unit.Bytes, place: 16)) { AlsoHuman = true },
        new("maxmemory", r => r.Config.MaxMemoryBytes,
            Gauge("redis_memory_max_bytes", "The limit of used memory; 0 is none.", Unit.Bytes, place: 17)) { AlsoHuman = true },
        new("maxmemory_policy", r => ConfigTable.TextOf("maxmemory-policy", r.Config)),
        new("allocator_frag_ratio", r => Ratio(Quotient(r.Memory.Usage.Reserved, r.Memory.Usage.Data)),
            Gauge("redis_allocator_frag_ratio", "Active bytes divided by allocated bytes.", place: 20)),
        new("allocator_frag_bytes", r => r.Memory.Usage.Reserved - r.Memory.Usage.Data),
        new("allocator_rss_ratio", _ => Ratio(1)),
        new("allocator_rss_bytes", _ => 0),
        new("rss_overhead_ratio", r => Ratio(Quotient(r.Memory.Resident, r.Memory.Usage.Reserved))),
        new("rss_overhead_bytes", r => r.Memory.Resident - r.Memory.Usage.Reserved),
        new("mem_fragmentation_ratio", r => Ratio(Quotient(r.Memory.Resident, r.Memory.Used)),
            Gauge("redis_mem_fragmentation_ratio", "Resident memory divided by used memory.", place: 21)),
        new("mem_fragmentation_bytes", r => r.Memory.Resident - r.Memory.Used),
        new("mem_not_counted_for_evict", r => r.Memory.Usage.Replicas),
        new("mem_replication_backlog", _ => 0),
        new("mem_total_replication_buffers", r => r.Server.Replicas.Stream.KeptBytes),
        new("mem_clients_slaves", r => r.Memory.Usage.Replicas,
            Gauge("redis_mem_clients_slaves",
                "Bytes that wait for replicas, which do not count for maxmemory.", Unit.Bytes, place: 23)),
        new("mem_clients_normal", r => r.Memory.Usage.Clients,
            Gauge("redis_mem_clients_normal", "Bytes of buffers of clients.", Unit.Bytes, place: 22)),
        new("mem_cluster_links", r => r.Server.Cluster?.Bus.PendingBytes ?? 0),
        new("mem_aof_buffer", r => r.Server.Journal?.Engine.BytesPending ?? 0),
        new("mem_allocator", _ => "redisclone-arena"),
        new("mem_overhead_db_hashtable_rehashing", _ => 0),
        new("active_defrag_running", _ => 0),
        new("lazyfree_pending_objects", r => r.Memory.Usage.PendingFrees,
            Gauge("redis_lazyfree_pending_objects", "Deleted values that wait to be freed.", place: 25)),
        new("lazyfreed_objects", r => r.Memory.Usage.LazilyFreed - r.Server.Sampler.LazilyFreedBefore),
    ];

    public static double Percent(long part, long whole) => whole == 0 ? 0 : 100.0 * part / whole;

    public static double Quotient(long part, long whole) => whole == 0 ? 0 : (double)part / whole;
}
