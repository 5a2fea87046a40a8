using System.Numerics;
using System.Runtime.CompilerServices;
using RedisClone.Memory;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Shards;

/// <summary>All shards, and the mapping from a key's hash to its shard.</summary>
internal sealed class ShardMap
{
    private readonly Shard[] _shards;
    private readonly ShardGate _gate = new();
    private readonly ShardSet _all;
    private readonly int _shift, _slots;

    /// <summary>Creates empty shards.</summary>
    /// <param name="count">The number of shards.</param>
    /// <param name="databases">The number of databases.</param>
    /// <param name="isCluster">Whether the slot of a key determines its shard.</param>
    public ShardMap(int count, int databases, bool isCluster)
    {
        if (!BitOperations.IsPow2(count) || count > ShardSet.MaxShards)
            throw new ArgumentOutOfRangeException(nameof(count), $"The number of shards is a power of two up to {ShardSet.MaxShards}.");
        _slots = isCluster ? KeySlot.Count / count : 1;
        _shards = new Shard[count];
        for (int i = 0; i < count; i++) _shards[i] = new Shard(i, NewStore(databases), _gate);
        _shift = 64 - BitOperations.Log2((uint)count);
        _all = ShardSet.First(count);
    }

    public int Count => _shards.Length;

    /// <summary>Empty stores that can replace those of the shards.</summary>
    public ShardStore[] NewStores()
    {
        var stores = new ShardStore[_shards.Length];
        for (int i = 0; i < stores.Length; i++)
        {
            ShardStore now = _shards[i].Store;
            stores[i] = NewStore(now.DatabaseCount);
            (stores[i].Limits, stores[i].NewAccess) = (now.Limits, now.NewAccess);
            if (Budget != HeapBudget.OfProcess) stores[i].Arena.Restrict(Budget);
        }
        return stores;
    }

    public ref readonly ShardSet All => ref _all;

    public PersistentHolds Persistent { get; } = new();

    public Shard this[int index] => _shards[index];

    /// <summary>
    /// Bytes of all keys, values and indexes of some shards. The figure of a shard that is not held may lag behind a write in
    /// progress.
    /// </summary>
    public long BytesOf(in ShardSet shards)
    {
        long bytes = 0;
        for (int i = shards.Next(0); i >= 0; i = shards.Next(i + 1)) bytes += _shards[i].Store.Arena.BytesUsed;
        return bytes;
    }

    /// <summary>The limit for the memory of all shards together.</summary>
    public HeapBudget Budget { get; private set; } = HeapBudget.OfProcess;

    /// <summary>Lets a test reach the limit with little memory.</summary>
    internal void Restrict(HeapBudget budget)
    {
        foreach (Shard shard in _shards) shard.Store.Arena.Restrict(budget);
        Budget = budget;
    }

    /// <summary>Whether a shard had little room left for further buffers at the last <see cref="LookForRoom"/>.</summary>
    public bool IsAnyNearlyFull { get; private set; }

    /// <summary>
    /// Checks whether every shard has room. It runs several times a second: a shard cannot use up the remaining room between
    /// two checks.
    /// </summary>
    public void LookForRoom()
    {
        bool any = false;
        foreach (Shard shard in _shards) any |= shard.Store.Arena.IsNearlyFull;
        IsAnyNearlyFull = any;
    }

    /// <summary>
    /// Takes all shards at once if all are idle within a moment. A short script would otherwise spend more time on taking the shards one
    /// by one than on its work. While the gate is closed, no thread enters a shard, and a thread with a short command leaves its shard soon.
    /// If a shard stays busy, a <see cref="ShardHold"/> takes the shards.
    /// </summary>
    internal bool TryEnterAll()
    {
        var patience = new Patience();
        while (!_gate.TryClose())
            if (!patience.Pause()) return false;
        foreach (Shard shard in _shards)
        {
            if (shard.IsSoonIdle()) continue;
            ExitAll();
            return false;
        }
        return true;
    }

    internal void ExitAll()
    {
        _gate.Open();
        foreach (Shard shard in _shards) shard.GateOpened();
    }

    private ShardStore NewStore(int databases) => new(databases, BitConverter.ToUInt64(SystemRandom.GetBytes(8)), _slots);

    /// <summary>The hash of a key. In a cluster, its upper bits are those of the key's slot.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong HashOf(ReadOnlySpan<byte> key) => _slots == 1 ? KeyHash.Of(key) : KeySlot.HashOf(key);

    /// <summary>
    /// The shard's index comes from the upper bits of the hash; the lower bits place the key within the shard.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int IndexOf(ulong hash) => (int)(hash >> 1 >> (_shift - 1));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Shard Of(ulong hash) => _shards[IndexOf(hash)];
}
