using RedisClone.Engine.Clients;
using RedisClone.Storage;

namespace RedisClone.Engine.Metrics;

/// <summary>
/// The distribution of memory. The numbers of the shards are exact; those of clients include only their buffers. Other memory
/// of the runtime appears only in the resident size.
/// </summary>
internal readonly record struct MemoryUsage
{
    /// <summary>Bytes of keys, values and their indexes.</summary>
    public long Data { get; private init; }

    /// <summary>The part of <see cref="Data"/> that indexes use.</summary>
    public long Indexes { get; private init; }

    /// <summary>Bytes of the pages that the shards have reserved.</summary>
    public long Reserved { get; private init; }

    /// <summary>Bytes held for clients other than replicas.</summary>
    public long Clients { get; private init; }

    /// <summary>
    /// Bytes held for replicas: the shared replication stream and the unsent bytes of each replica. They do not count towards
    /// maxmemory.
    /// </summary>
    public long Replicas { get; private init; }

    public long Keys { get; private init; }

    public long PendingFrees { get; private init; }

    public long LazilyFreed { get; private init; }

    /// <summary>Bytes held by scripts.</summary>
    public long Scripts { get; private init; }

    public long Used => Data + Clients + Replicas + Scripts;

    public long Overhead => Indexes + Clients + Replicas + Scripts;

    public static long Resident => Environment.WorkingSet;

    public static MemoryUsage Read(ServerCore server)
    {
        long data = 0, indexes = 0, reserved = 0, keys = 0, pending = 0, freed = server.Scripts.Libraries.LazilyFreed;
        for (int i = 0; i < server.Shards.Count; i++)
        {
            ShardStore store = server.Shards[i].Store;
            data += store.Arena.BytesUsed;
            reserved += store.Arena.BytesReserved;
            pending += store.PendingFrees;
            freed += store.LazyFreed;
            for (int database = 0; database < store.DatabaseCount; database++)
            {
                if (store.ExistingDatabase(database) is not { } keyspace) continue;
                indexes += keyspace.IndexBytes;
                keys += keyspace.Count;
            }
        }
        long clients = 0, replicas = server.Replicas.Stream.KeptBytes;
        foreach (Session session in server.Sessions.All)
        {
            long held = ClientDescription.MemoryOf(session);
            if (session.IsReplica) replicas += held;
            else clients += held;
        }
        return new MemoryUsage
        {
            Data = data, Indexes = indexes, Reserved = reserved, Clients = clients, Replicas = replicas, Scripts = server.Scripts.AllocatedBytes,
            Keys = keys, PendingFrees = pending, LazilyFreed = freed,
        };
    }
}
