using System.Diagnostics;
using RedisClone.Configuration;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Metrics;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Shards;

/// <summary>
/// Keeps the data within maxmemory. All shards share one budget, and keys are sampled from the shards that the writing
/// command holds. The size is exact: the bytes of the shards' buffers.
/// </summary>
internal sealed class Eviction(ServerCore server)
{
    private const int FreedBuckets = 64;

    private int _lastShard = -1;

    /// <summary>Bytes of all keys, values and indexes, of scripts and of clients.</summary>
    public long UsedBytes => DataBytes + server.ClientMemory.Lasting;

    private long DataBytes => server.Shards.BytesOf(server.Shards.All) + server.Scripts.AllocatedBytes;

    /// <summary>
    /// Whether memory was found above its limit. If so, the next command makes room, even if it needs none itself.
    /// </summary>
    public bool IsDue { get; private set; }

    /// <summary>Whether maxmemory is set and in force. A replica leaves eviction to its primary, unless configured otherwise.</summary>
    public bool IsOn => server.Config.MaxMemoryBytes > 0 && !(server.Config.ReplicaIgnoreMaxMemory && server.Role.IsReplica);

    /// <summary>
    /// Whether maxmemory is set with the policy noeviction. Commands that may take more memory are then refused while memory
    /// <see cref="IsOver"/>.
    /// </summary>
    public bool RefusesGrowth => IsOn && server.Config.MaxMemoryPolicy == MaxMemoryPolicy.NoEviction;

    /// <summary>Whether memory is above its limit. Reads every shard.</summary>
    public bool IsOver => Excess > 0;

    private long Excess => UsedBytes - server.Config.MaxMemoryBytes;

    /// <summary>
    /// Evicts keys of the held shards until the data fits, before a command begins. False if these shards have no key left to
    /// evict. The command must then hold more shards; if it holds all shards, it is refused.
    /// </summary>
    public bool MakeRoom(in ShardSet held, Lane lane, long now)
    {
        long started = server.Latency.Start();
        bool fits = TryMakeRoom(held, lane, now);
        server.Latency.End(LatencyEvents.EvictionCycle, started);
        if (fits || held.ContainsAll(server.Shards.All)) IsDue = false;
        return fits;
    }

    private bool TryMakeRoom(in ShardSet held, Lane lane, long now)
    {
        if (held.IsEmpty || server.Config.MaxMemoryPolicy == MaxMemoryPolicy.NoEviction) return !IsOver;
        int empty = 0;
        // The limit is computed once. Notifications of evicted keys take client memory; counting them here would evict ever
        // more keys.
        long most = server.Config.MaxMemoryBytes - server.ClientMemory.Lasting;
        while (DataBytes > most)
        {
            // Round robin from the last shard. If one shard always came first, it would cache worse than the others.
            int next = held.Next(_lastShard + 1);
            _lastShard = next = next >= 0 ? next : held.Next(0);
            server.Shards[next].Store.Now = now;
            if (FreeSome(server.Shards[next].Store) || EvictOne(server.Shards[next], lane)) empty = 0;
            else if (++empty == held.Count) return false;
        }
        return true;
    }

    /// <summary>Frees data that is deleted already, before any key is evicted.</summary>
    private static bool FreeSome(ShardStore store)
    {
        if (!store.IsFreeing) return false;
        store.FreeAbandoned(FreedBuckets);
        return true;
    }

    /// <summary>Checks whether memory is above its limit and the policy allows eviction.</summary>
    public void Look() => IsDue = IsOn && server.Config.MaxMemoryPolicy != MaxMemoryPolicy.NoEviction && IsOver;

    /// <summary>
    /// Evicts keys of a held shard for one turn, so that memory shrinks even if no client sends commands. No shard gives up
    /// more than its share.
    /// </summary>
    public void Run(Shard shard, TimeSpan budget)
    {
        long deadline = Stopwatch.GetTimestamp() + (long)(budget.TotalSeconds * Stopwatch.Frequency);
        Lane lane = server.Lanes.Current;
        long enough = shard.Store.Arena.BytesUsed - Excess / server.Shards.Count;
        while (IsDue && (FreeSome(shard.Store) || EvictOne(shard, lane)))
        {
            if (!IsOver) IsDue = false;
            if (shard.Store.Arena.BytesUsed <= enough || Stopwatch.GetTimestamp() > deadline) break;
        }
    }

    /// <summary>Evicts one key, as a unit of effects of its own. It is not part of the command that needs the room.</summary>
    private bool EvictOne(Shard shard, Lane lane)
    {
        bool onlyExpiring = server.Config.MaxMemoryPolicy is MaxMemoryPolicy.VolatileLru or MaxMemoryPolicy.VolatileLfu
            or MaxMemoryPolicy.VolatileRandom or MaxMemoryPolicy.VolatileTtl;
        Random random = shard.Store.Random;
        (int Database, uint Handle) best = default;
        double bestScore = double.NegativeInfinity;
        int samples = server.Config.MaxMemorySamples;
        for (int database = 0; database < shard.Store.DatabaseCount; database++)
        {
            Keyspace? keyspace = shard.Store.ExistingDatabase(database);
            if (keyspace is null || (onlyExpiring ? keyspace.ExpiringCount : keyspace.Count) == 0) continue;
            for (int i = 0; i < samples; i++)
            {
                uint handle = onlyExpiring ? keyspace.RandomExpiringHandle(random) : keyspace.RandomHandle(random);
                double score = Score(keyspace, handle, random);
                if (score > bestScore) (best, bestScore) = ((database, handle), score);
            }
        }
        if (best.Handle == 0) return false;
        Keyspace chosen = shard.Store.Database(best.Database);
        server.Executor.BeginUnit(lane);
        server.KeyEvents.Evict(chosen.Locate(KeyHash.Of(chosen.KeyOf(best.Handle)), best.Handle), best.Database, lane);
        server.Executor.EndOwnUnit(shard, lane);
        return true;
    }

    /// <summary>The key with the highest score is evicted.</summary>
    private double Score(Keyspace keyspace, uint handle, Random random)
    {
        Entry entry = keyspace.Locate(KeyHash.Of(keyspace.KeyOf(handle)), handle);
        return server.Config.MaxMemoryPolicy switch
        {
            MaxMemoryPolicy.VolatileTtl => -(double)entry.Expiry,
            MaxMemoryPolicy.AllKeysRandom or MaxMemoryPolicy.VolatileRandom => random.NextDouble(),
            MaxMemoryPolicy.AllKeysLfu or MaxMemoryPolicy.VolatileLfu => -(double)server.AccessClock.Frequency(entry),
            _ => server.AccessClock.IdleSeconds(entry),
        };
    }
}
