using System.Numerics;
using RedisClone.Configuration;

namespace RedisClone.Engine.Shards;

/// <summary>A set of shards. It is enumerated in ascending order, which is the order in which shards are taken.</summary>
internal struct ShardSet
{
    public const int MaxShards = ServerConfig.MaxShards;

    private ulong _a, _b, _c, _d;

    public static ShardSet Of(int shard)
    {
        var set = default(ShardSet);
        set.Add(shard);
        return set;
    }

    public static ShardSet First(int count)
    {
        var set = default(ShardSet);
        for (int i = 0; i < count; i++) set.Add(i);
        return set;
    }

    public readonly bool IsEmpty => (_a | _b | _c | _d) == 0;

    public readonly int Count =>
        BitOperations.PopCount(_a) + BitOperations.PopCount(_b) + BitOperations.PopCount(_c) + BitOperations.PopCount(_d);

    /// <summary>The shard of a set of one, otherwise -1.</summary>
    public readonly int Only
    {
        get
        {
            ulong all = _a | _b | _c | _d;
            if (!BitOperations.IsPow2(all) || Count != 1) return -1;
            int word = _a != 0 ? 0 : _b != 0 ? 64 : _c != 0 ? 128 : 192;
            return word + BitOperations.TrailingZeroCount(all);
        }
    }

    public void Add(int shard)
    {
        ulong bit = 1UL << (shard & 63);
        switch (shard >> 6)
        {
            case 0: _a |= bit; break;
            case 1: _b |= bit; break;
            case 2: _c |= bit; break;
            default: _d |= bit; break;
        }
    }

    public void Add(in ShardSet other)
    {
        _a |= other._a;
        _b |= other._b;
        _c |= other._c;
        _d |= other._d;
    }

    public readonly bool Contains(int shard) => (Word(shard >> 6) >> (shard & 63) & 1) != 0;

    public readonly bool ContainsAll(in ShardSet other) =>
        ((other._a & ~_a) | (other._b & ~_b) | (other._c & ~_c) | (other._d & ~_d)) == 0;

    public readonly bool Overlaps(in ShardSet other) => ((_a & other._a) | (_b & other._b) | (_c & other._c) | (_d & other._d)) != 0;

    /// <summary>The first shard of the set that is <paramref name="from"/> or above, or -1.</summary>
    public readonly int Next(int from)
    {
        for (int word = from >> 6; word < 4; word++)
        {
            ulong bits = Word(word);
            if (word == from >> 6) bits &= ulong.MaxValue << (from & 63);
            if (bits != 0) return (word << 6) + BitOperations.TrailingZeroCount(bits);
        }
        return -1;
    }

    private readonly ulong Word(int index) => index switch { 0 => _a, 1 => _b, 2 => _c, _ => _d };
}
