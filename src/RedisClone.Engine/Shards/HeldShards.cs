namespace RedisClone.Engine.Shards;

/// <summary>Refers to the set of shards that are held for a command.</summary>
internal readonly ref struct HeldShards(ref readonly ShardSet set)
{
    public readonly ref readonly ShardSet Set = ref set;

    public static implicit operator HeldShards(in ShardSet set) => new(in set);
}
