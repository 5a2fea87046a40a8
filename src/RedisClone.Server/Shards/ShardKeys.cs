namespace RedisClone.Server.Shards;

/// <summary>
/// What a shard knows of its keys beyond their values: who watches them, who is blocked on them. Owned by whoever holds the
/// shard, like the store.
/// </summary>
public sealed class ShardKeys(Shard shard)
{
    public Shard Shard => shard;
}
