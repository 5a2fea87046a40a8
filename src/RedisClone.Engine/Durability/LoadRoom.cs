using RedisClone.Engine.Shards;
using RedisClone.Memory;
using RedisClone.Storage;

namespace RedisClone.Engine.Durability;

/// <summary>Makes room in shards while data is loaded, because no background work runs then, and before a snapshot.</summary>
internal static class LoadRoom
{
    /// <summary>The reason of a load that failed for lack of memory.</summary>
    public const string LacksMemory = "there is not enough memory for the data";

    private const int LargeItem = 1 << 20;

    private const int BucketsPerSlice = 1024;

    /// <summary>
    /// Whether an item of this many bytes is loaded alone: in a small heap, it is not copied for a thread while that thread holds another
    /// large one.
    /// </summary>
    public static bool IsLarge(int bytes) => HeapLimit.IsSmall && bytes > LargeItem;

    /// <summary>Frees what commands have abandoned, and compacts the shard if memory is short.</summary>
    public static void Free(ShardStore store, bool isShort)
    {
        if (store.IsFreeing) store.FreeAbandoned(int.MaxValue);
        if (!isShort) return;
        while (store.Compact(int.MaxValue)) { }
        store.Arena.Trim();
    }

    /// <summary>
    /// Packs all shards, in slices between the commands of clients, and compacts the heap. A snapshot needs buffers while sparse shards may
    /// leave no place for them, and a journal that has failed accepts no command that would free memory. The caller holds no shard.
    /// </summary>
    public static void MakeForSnapshot(ServerCore server)
    {
        for (int i = 0; i < server.Shards.Count; i++)
        {
            ShardStore store = server.Shards[i].Store;
            bool hasMore = true;
            while (hasMore)
            {
                new HeldAction(server.Shards, () =>
                {
                    hasMore = !store.IsFreeing && store.Compact(BucketsPerSlice);
                    if (!hasMore) store.Arena.TrimAll();
                }).RunAndWait(ShardSet.Of(i));
            }
        }
        HeapRelief.Relieve();
    }

    /// <summary>The same for a caller that holds every shard.</summary>
    public static void MakeHeld(ServerCore server)
    {
        for (int i = 0; i < server.Shards.Count; i++) Free(server.Shards[i].Store, isShort: true);
        HeapRelief.TryRelieve();
    }

    /// <summary>
    /// Makes room in a shard after an allocation for it has failed. A value that was not completed would be an obstacle for the next attempt.
    /// </summary>
    public static void Make(ShardStore store)
    {
        store.ClearScratch();
        Free(store, isShort: true);
    }

    /// <summary>Waits before a further attempt: the heap is compacted only now and then.</summary>
    public static void Wait(int attempt) => Thread.Sleep(attempt * 4);
}
