using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section about memory.</summary>
internal static class MemoryInfo
{
    public static void Write(ServerCore server, InfoWriter info)
    {
        MemoryUsage memory = MemoryUsage.Read(server);
        server.Sampler.NoteMemory(memory.Used);
        long peak = server.Sampler.PeakMemory;
        long resident = MemoryUsage.Resident;
        long managed = GC.GetTotalMemory(forceFullCollection: false);
        GCMemoryInfo collector = GC.GetGCMemoryInfo();
        long interpreter = server.Scripts.State.AllocatedBytes, functions = server.Scripts.Libraries.LuaBytes;
        long dataset = memory.Used - memory.Overhead;
        info.Section("Memory");
        info.Size("used_memory", memory.Used);
        info.Size("used_memory_rss", resident);
        info.Size("used_memory_peak", peak);
        info.Ratio("used_memory_peak_perc", Percent(memory.Used, peak), "%");
        info.Field("used_memory_overhead", memory.Overhead);
        info.Field("used_memory_startup", 0);
        info.Field("used_memory_dataset", dataset);
        info.Ratio("used_memory_dataset_perc", Percent(dataset, memory.Used), "%");
        info.Field("allocator_allocated", memory.Data);
        info.Field("allocator_active", memory.Reserved);
        info.Field("allocator_resident", memory.Reserved);
        info.Field("allocator_muzzy", 0);
        info.Field("managed_heap", managed);
        info.Field("managed_heap_committed", collector.TotalCommittedBytes);
        info.Size("total_system_memory", server.Config.HostMemory);
        info.Size("used_memory_lua", interpreter - functions);
        info.Field("used_memory_vm_eval", interpreter - functions);
        info.Field("used_memory_scripts_eval", server.Scripts.Cache.SourceBytes);
        info.Field("number_of_cached_scripts", server.Scripts.Cache.Count);
        info.Field("number_of_functions", server.Scripts.Libraries.FunctionCount);
        info.Field("number_of_libraries", server.Scripts.Libraries.All.Count);
        info.Field("used_memory_vm_functions", functions);
        info.Size("used_memory_vm_total", interpreter);
        info.Field("used_memory_functions", server.Scripts.Libraries.SourceBytes);
        info.Size("used_memory_scripts", server.Scripts.Cache.SourceBytes + server.Scripts.Libraries.SourceBytes);
        info.Size("maxmemory", server.Config.MaxMemoryBytes);
        info.Field("maxmemory_policy", ConfigTable.TextOf("maxmemory-policy", server.Config));
        info.Ratio("allocator_frag_ratio", Quotient(memory.Reserved, memory.Data));
        info.Field("allocator_frag_bytes", memory.Reserved - memory.Data);
        info.Ratio("allocator_rss_ratio", 1);
        info.Field("allocator_rss_bytes", 0);
        info.Ratio("rss_overhead_ratio", Quotient(resident, memory.Reserved));
        info.Field("rss_overhead_bytes", resident - memory.Reserved);
        info.Ratio("mem_fragmentation_ratio", Quotient(resident, memory.Used));
        info.Field("mem_fragmentation_bytes", resident - memory.Used);
        info.Field("mem_not_counted_for_evict", memory.Replicas);
        info.Field("mem_replication_backlog", 0);
        info.Field("mem_total_replication_buffers", server.Replicas.Stream.KeptBytes);
        info.Field("mem_clients_slaves", memory.Replicas);
        info.Field("mem_clients_normal", memory.Clients);
        info.Field("mem_cluster_links", 0);
        info.Field("mem_aof_buffer", server.Journal?.Engine.BytesPending ?? 0);
        info.Field("mem_allocator", "redisclone-arena");
        info.Field("mem_overhead_db_hashtable_rehashing", 0);
        info.Field("active_defrag_running", 0);
        info.Field("lazyfree_pending_objects", memory.PendingFrees);
        info.Field("lazyfreed_objects", memory.LazilyFreed - server.Sampler.LazilyFreedBefore);
    }

    public static double Percent(long part, long whole) => whole == 0 ? 0 : 100.0 * part / whole;

    public static double Quotient(long part, long whole) => whole == 0 ? 0 : (double)part / whole;
}
