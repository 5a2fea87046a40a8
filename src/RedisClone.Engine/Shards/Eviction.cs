using System.Diagnostics;
using RedisClone.Configuration;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Metrics;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Shards;

/// <summary>
/// Keeps the data within maxmemory. A command that finds room in the budgets of its shards (<see cref="MemoryBudgets"/>) looks no
/// further. Otherwise the bytes of all shards are added up, and keys are sampled from the shards that the writing command holds.
/// The size is exact: the bytes of the shards' buffers.
/// </summary>
internal sealed class Eviction(ServerCore server)
{
    private const int FreedBuckets = 64;

    /// <summary>At the limit, a shard evicts this part of a block beyond its need, so that most writes find room at once.</summary>
    private const int SparePart = 16;

    /// <summary>Room for the largest maxmemory-samples and the rest of the last bucket.</summary>
    private const int MostSampled = 128;

    /// <summary>A shard with fewer keys than this has no choice: a key that is in use could be the best candidate.</summary>
    private const int LeastChoice = 32;

    /// <summary>A command that holds several shards compares the candidates of this many before it evicts one.</summary>
    private const int ComparedShards = 3;

    /// <summary>How many samples in a row may consist of keys that another node of the cluster serves.</summary>
    private const int MostForeignSamples = 64;

    private readonly MemoryBudgets _budgets = new(server);
    private int _lastShard = -1;        // written only by commands that evict from several shards
    private long _end;                  // the bytes of data with which an eviction that is due ends

    /// <summary>Bytes of all keys, values and indexes, of scripts and of clients.</summary>
    public long UsedBytes => DataBytes + server.ClientMemory.Lasting;

    private long DataBytes => server.Shards.BytesOf(server.Shards.All) + server.Scripts.AllocatedBytes;

    /// <summary>Bytes that maxmemory leaves to keys, values and indexes.</summary>
    internal long MostData => server.Config.MaxMemoryBytes - server.ClientMemory.Lasting - server.Scripts.AllocatedBytes;

    internal MemoryBudgets Budgets => _budgets;

    /// <summary>
    /// Whether memory was found above its limit. If so, background work and commands that take memory make room. Every command reads it;
    /// it is written only when it changes.
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

    /// <summary>
    /// Whether memory is above its limit, for a command that holds no shard yet. As long as shards can draw budgets, none of them is
    /// read.
    /// </summary>
    public bool LacksRoom()
    {
        if (!_budgets.IsSpent) return false;
        _budgets.TakeBack();
        return IsOver && !IsAnyFreeing();
    }

    /// <summary>Whether deleted data is left to free. A command that may need it holds shards and frees it.</summary>
    private bool IsAnyFreeing()
    {
        for (int i = 0; i < server.Shards.Count; i++)
            if (server.Shards[i].Store.IsFreeing) return true;
        return false;
    }

    private long Excess => UsedBytes - server.Config.MaxMemoryBytes;

    /// <summary>Whether a command that holds one shard of several finds room in the budget of the shard, as most do.</summary>
    public bool HasRoom(in ShardSet held) =>
        !IsDue && held.Only is >= 0 and int shard && server.Shards.Count > 1 && _budgets.HasRoom(server.Shards[shard]);

    /// <summary>
    /// Evicts keys of the held shards until the data fits, or for the time of a round, before a command begins. False if these shards
    /// have no key left to evict. The command must then hold more shards; if it holds all shards, it is refused.
    /// </summary>
    public bool MakeRoom(in ShardSet held, Lane lane, long now)
    {
        bool isAll = held.ContainsAll(server.Shards.All);
        if (!IsDue && !isAll && !held.IsEmpty && _budgets.HaveRoom(held)) return true;
        long started = server.Latency.Start();
        var round = new EvictionRound(server.Config.MaxMemoryEvictionTenacity);
        bool fits = TryEvictAlone(held, lane, now) || TryMakeRoom(held, lane, now, ref round);
        server.Latency.End(LatencyEvents.EvictionCycle, started);
        if (round.IsOver || fits || isAll) Expect(round.IsOver);
        return fits;
    }

    /// <summary>
    /// Looks at the limit after a command that may have taken more memory. The next command of the shard notices growth by less
    /// than a block.
    /// </summary>
    public void NoteGrowth(in ShardSet held)
    {
        if (!_budgets.Cover(held)) Look();
    }

    /// <summary>
    /// At the limit, a shard gives up as much as its own writes take, for several writes at once. After a block of such evictions, it
    /// looks for unused budgets of other shards again.
    /// </summary>
    private bool TryEvictAlone(in ShardSet held, Lane lane, long now)
    {
        if (IsDue || held.Count != 1 || server.Config.MaxMemoryPolicy == MaxMemoryPolicy.NoEviction) return false;
        Shard shard = server.Shards[held.Next(0)];
        shard.Store.Now = now;
        long spare = _budgets.Block / SparePart;
        while (shard.EvictsAlone > 0 && HasChoice(shard))
        {
            long used = shard.Store.Arena.BytesUsed;
            if (!FreeSome(shard.Store) && !EvictOne(shard, lane)) break;
            shard.EvictsAlone -= used - shard.Store.Arena.BytesUsed;
            if (shard.Store.Arena.BytesUsed + spare < Volatile.Read(ref shard.Budget)) return true;
        }
        return shard.Store.Arena.BytesUsed < Volatile.Read(ref shard.Budget);
    }

    /// <summary>
    /// The end of an eviction is computed once. Notifications of evicted keys take client memory; counting them would evict ever more keys.
    /// </summary>
    private void Expect(bool isDue)
    {
        if (IsDue == isDue) return;
        if (isDue) Volatile.Write(ref _end, MostBytes);
        IsDue = isDue;
    }

    private long MostBytes => server.Config.MaxMemoryBytes - server.ClientMemory.Lasting;

    private long LeftToEvict => DataBytes - Volatile.Read(ref _end);

    private bool TryMakeRoom(in ShardSet held, Lane lane, long now, ref EvictionRound round)
    {
        _budgets.TakeBack();
        if (held.IsEmpty) return !IsOver;
        if (server.Config.MaxMemoryPolicy == MaxMemoryPolicy.NoEviction) return !IsOver || FreeAll(held);
        if (held.Count == 1) server.Shards[held.Next(0)].EvictsAlone = _budgets.Block;
        int empty = 0;
        bool isAll = held.ContainsAll(server.Shards.All);
        long most = MostBytes;          // computed once, as in Expect
        // After it has held all shards, the next writes of a shard without a choice find room for a block.
        for (long end = most; DataBytes > end; end = isAll ? most - _budgets.Block : most)
        {
            Shard shard = server.Shards[NextOf(held)];
            shard.Store.Now = now;
            if (FreeSome(shard.Store) || (isAll ? EvictBest(held, shard.Index, lane, now) : HasChoice(shard) && EvictOne(shard, lane))) empty = 0;
            else if (++empty == held.Count) return DataBytes <= most;
            if (round.Step()) return true;
        }
        return true;
    }

    /// <summary>Round robin from the last shard. If one shard always came first, it would cache worse than the others.</summary>
    private int NextOf(in ShardSet held)
    {
        int next = held.Next(_lastShard + 1);
        if (next < 0) next = held.Next(0);
        if (held.Count > 1) _lastShard = next;
        return next;
    }

    /// <summary>
    /// Whether a shard has enough keys to evict one of its own for its own growth. Otherwise a large key that is in use would first displace
    /// all other keys of its shard, and then itself, while other shards are full of keys that are not used.
    /// </summary>
    private bool HasChoice(Shard shard)
    {
        if (server.Shards.Count == 1) return true;
        bool onlyExpiring = OnlyExpiring;
        long keys = 0;
        for (int database = 0; database < shard.Store.DatabaseCount && keys < LeastChoice; database++)
            if (shard.Store.ExistingDatabase(database) is { } keyspace) keys += onlyExpiring ? keyspace.ExpiringCount : keyspace.Count;
        return keys >= LeastChoice;
    }

    private bool OnlyExpiring => server.Config.MaxMemoryPolicy is MaxMemoryPolicy.VolatileLru or MaxMemoryPolicy.VolatileLfu
        or MaxMemoryPolicy.VolatileRandom or MaxMemoryPolicy.VolatileTtl;

    /// <summary>Evicts the best candidate of a held shard and of those after it.</summary>
    private bool EvictBest(in ShardSet held, int first, Lane lane, long now)
    {
        if (FindBest(held, first, now, out Candidate best) is not { } chosen) return false;
        Evict(chosen, best, lane);
        return true;
    }

    private Shard? FindBest(in ShardSet held, int first, long now, out Candidate best)
    {
        Shard? chosen = null;
        best = default;
        for (int i = first, compared = 0; compared < ComparedShards; compared++)
        {
            server.Shards[i].Store.Now = now;
            Candidate candidate = SampleOf(server.Shards[i]);
            if (!candidate.IsNone && (best.IsNone || candidate.Score > best.Score)) (chosen, best) = (server.Shards[i], candidate);
            i = held.Next(i + 1);
            if (i < 0) i = held.Next(0);
        }
        return chosen;
    }

    /// <summary>Frees deleted data of held shards until the rest fits. False if it does not fit.</summary>
    private bool FreeAll(in ShardSet held)
    {
        for (int i = held.Next(0); i >= 0; i = held.Next(i + 1))
            while (FreeSome(server.Shards[i].Store))
                if (!IsOver) return true;
        return !IsOver;
    }

    /// <summary>Frees data that is deleted already, before any key is evicted.</summary>
    private static bool FreeSome(ShardStore store)
    {
        if (!store.IsFreeing) return false;
        store.FreeAbandoned(FreedBuckets);
        return true;
    }

    /// <summary>Takes unused budgets back, and checks whether memory is above its limit and the policy allows eviction.</summary>
    public void Look()
    {
        if (IsOn) _budgets.TakeBack();
        Expect(IsOn && server.Config.MaxMemoryPolicy != MaxMemoryPolicy.NoEviction && IsOver);
    }

    /// <summary>
    /// Evicts keys of a held shard for one turn, so that memory shrinks even if no client sends commands. No shard gives up
    /// more than its share. False if it had nothing to give.
    /// </summary>
    public bool Run(Shard shard, TimeSpan budget)
    {
        bool hasGiven = false;
        long deadline = Stopwatch.GetTimestamp() + (long)(budget.TotalSeconds * Stopwatch.Frequency);
        Lane lane = server.Lanes.Current;
        long enough = shard.Store.Arena.BytesUsed - LeftToEvict / server.Shards.Count;
        while (IsDue && (FreeSome(shard.Store) || HasChoice(shard) && EvictOne(shard, lane)))
        {
            hasGiven = true;
            if (LeftToEvict <= 0) IsDue = false;
            if (shard.Store.Arena.BytesUsed <= enough || Stopwatch.GetTimestamp() > deadline) break;
        }
        return hasGiven;
    }

    /// <summary>
    /// Evicts keys for the time of a round when no shard has a choice of its own, so that memory shrinks even if no client sends commands.
    /// </summary>
    public void RunOverall(long now)
    {
        if (!IsDue || IsAnyFreeing() || !server.Shards.TryEnterAll()) return;
        try
        {
            EvictOverall(now);
        }
        finally
        {
            server.Shards.ExitAll();
        }
    }

    private void EvictOverall(long now)
    {
        var round = new EvictionRound(server.Config.MaxMemoryEvictionTenacity);
        ShardSet all = server.Shards.All;
        Lane lane = server.Lanes.Current;
        for (int empty = 0; LeftToEvict > 0 && empty < all.Count;)
        {
            if (FindBest(all, NextOf(all), now, out Candidate best) is not { } chosen)
            {
                empty++;
                continue;
            }
            empty = 0;
            try
            {
                Evict(chosen, best, lane);
            }
            catch (Exception failure)
            {
                server.Failures.BackgroundFailed("eviction failed", failure, chosen);
                return;
            }
            if (round.Step()) return;
        }
        Expect(isDue: false);
    }

    /// <summary>Evicts one key, as a unit of effects of its own. It is not part of the command that needs the room.</summary>
    private bool EvictOne(Shard shard, Lane lane)
    {
        Candidate best = SampleOf(shard);
        if (best.IsNone) return false;
        Evict(shard, best, lane);
        return true;
    }

    private Candidate SampleOf(Shard shard)
    {
        bool onlyExpiring = OnlyExpiring;
        Candidate best = BestOfSample(shard, onlyExpiring);
        for (int more = 1; best.IsNone && best.AreForeign && more < MostForeignSamples; more++) best = BestOfSample(shard, onlyExpiring);
        return best;
    }

    private void Evict(Shard shard, in Candidate best, Lane lane)
    {
        Keyspace chosen = shard.Store.Database(best.Database);
        lane.BeginUnit();
        server.KeyEvents.Evict(chosen.Locate(chosen.Store.HashOf(chosen.KeyOf(best.Handle)), best.Handle), best.Database, lane);
        server.Executor.EndOwnUnit(shard, lane);
    }

    /// <summary>Samples the keys of a shard once.</summary>
    /// <remarks>
    /// The places of the next two samples are known already. The buckets of one and the records of the other are fetched while the shard's
    /// next commands run, so that an eviction does not wait for memory.
    /// </remarks>
    private Candidate BestOfSample(Shard shard, bool onlyExpiring)
    {
        Candidate best = default;
        long bestScore = long.MinValue;
        int samples = server.Config.MaxMemorySamples;
        ulong place = PlaceOf(shard, shard.Samples), next = PlaceOf(shard, shard.Samples + 1), last = PlaceOf(shard, shard.Samples + 2);
        shard.Samples++;
        Span<uint> found = stackalloc uint[MostSampled];
        for (int database = 0; database < shard.Store.DatabaseCount; database++)
        {
            Keyspace? keyspace = shard.Store.ExistingDatabase(database);
            if (keyspace is null || (onlyExpiring ? keyspace.ExpiringCount : keyspace.Count) == 0) continue;
            foreach (uint handle in found[..keyspace.Sample(place, samples, onlyExpiring, found)])
            {
                long score = Score(keyspace, handle, place);
                if (score > bestScore) (best, bestScore) = (new Candidate(database, handle, score, AreForeign: false), score);
                else if (best.IsNone) best = best with { AreForeign = true };
            }
            keyspace.PrefetchSampled(next, samples, onlyExpiring, found);
            keyspace.PrefetchSample(last, samples, onlyExpiring);
        }
        return best;
    }

    /// <summary>The random place of a sample of a shard.</summary>
    private static ulong PlaceOf(Shard shard, uint sample) => Mix((ulong)shard.Index << 32 | sample);

    /// <summary>Spreads all bits of a number over all bits of the result (the last steps of SplitMix64).</summary>
    private static ulong Mix(ulong value)
    {
        value = (value + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9;
        value = (value ^ value >> 30) * 0x94D049BB133111EB;
        return value ^ value >> 31;
    }

    /// <summary>The key with the highest score is evicted.</summary>
    private long Score(Keyspace keyspace, uint handle, ulong place)
    {
        // Another node of the cluster decides about keys of its slots.
        if (server.Cluster is { } cluster && cluster.Served.IsForeign(KeySlot.OfHash(keyspace.Store.HashOf(keyspace.KeyOf(handle)))))
            return long.MinValue;
        return server.Config.MaxMemoryPolicy switch
        {
            MaxMemoryPolicy.VolatileTtl => -keyspace.ExpiryOf(handle),
            MaxMemoryPolicy.AllKeysRandom or MaxMemoryPolicy.VolatileRandom => (long)(Mix(place ^ handle) >> 1),
            MaxMemoryPolicy.AllKeysLfu or MaxMemoryPolicy.VolatileLfu => -(long)server.AccessClock.Frequency(keyspace.AccessOf(handle)),
            _ => server.AccessClock.IdleSeconds(keyspace.AccessOf(handle)),
        };
    }

    /// <summary>The key of a sample that is evicted first, or none. Then it tells whether the sample had keys that another node serves.</summary>
    private readonly record struct Candidate(int Database, uint Handle, long Score, bool AreForeign)
    {
        public bool IsNone => Handle == 0;
    }
}
