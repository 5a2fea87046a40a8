using System.Numerics;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Shards;

/// <summary>All shards, and which one a key's hash belongs to.</summary>
internal sealed class ShardMap
{
    private readonly Shard[] _shards;
    private readonly ShardGate _gate = new();
    private readonly ShardSet _all;
    private readonly int _shift;

    public ShardMap(int count, int databases)
    {
        if (!BitOperations.IsPow2(count) || count > ShardSet.MaxShards)
            throw new ArgumentOutOfRangeException(nameof(count), $"The number of shards is a power of two up to {ShardSet.MaxShards}.");
        _shards = new Shard[count];
        for (int i = 0; i < count; i++)
            _shards[i] = new Shard(i, new ShardStore(databases, BitConverter.ToUInt64(RandomNumberGenerator.GetBytes(8))), _gate);
        _shift = 64 - BitOperations.Log2((uint)count);
        _all = ShardSet.First(count);
    }

    public int Count => _shards.Length;

    public ref readonly ShardSet All => ref _all;

    public Shard this[int index] => _shards[index];

    /// <summary>Bytes of all keys, values and indexes of some shards. One that is not held lags by what is being written this instant.</summary>
    public long BytesOf(in ShardSet shards)
    {
        long bytes = 0;
        for (int i = shards.Next(0); i >= 0; i = shards.Next(i + 1)) bytes += _shards[i].Store.Arena.BytesUsed;
        return bytes;
    }

    /// <summary>The memory that all shards together may take.</summary>
    public HeapBudget Budget { get; private set; } = HeapBudget.OfProcess;

    /// <summary>Lets a test meet the limit with little memory.</summary>
    internal void Restrict(HeapBudget budget)
    {
        foreach (Shard shard in _shards) shard.Store.Arena.Restrict(budget);
        Budget = budget;
    }

    /// <summary>Some shard had little room left for further buffers when <see cref="LookForRoom"/> looked last.</summary>
    public bool IsAnyNearlyFull { get; private set; }

    /// <summary>Looks, some times a second, whether every shard has room; the room that is left is more than a shard can take between two looks.</summary>
    public void LookForRoom()
    {
        bool any = false;
        foreach (Shard shard in _shards) any |= shard.Store.Arena.IsNearlyFull;
        IsAnyNearlyFull = any;
    }

    /// <summary>
    /// Takes all shards at once if all are idle: for scripts and their like, which would spend more on taking them one by one than on what they
    /// do. Where one is busy, a <see cref="ShardHold"/> takes them in order.
    /// </summary>
    internal bool TryEnterAll()
    {
        if (!_gate.TryClose()) return false;
        foreach (Shard shard in _shards)
        {
            if (shard.IsIdle) continue;
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

    /// <summary>The upper bits of the hash choose the shard: the lower ones place the key within it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int IndexOf(ulong hash) => (int)(hash >> 1 >> (_shift - 1));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Shard Of(ulong hash) => _shards[IndexOf(hash)];
}
