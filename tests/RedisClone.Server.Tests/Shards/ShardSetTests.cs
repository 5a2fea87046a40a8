using RedisClone.Engine.Shards;

namespace RedisClone.Server.Tests.Shards;

public sealed class ShardSetTests
{
    [Fact]
    public void OnlyASetOfOneHasAnOnlyShard()
    {
        Assert.Equal(-1, default(ShardSet).Only);
        for (int shard = 0; shard < ShardSet.MaxShards; shard++)
        {
            var set = ShardSet.Of(shard);
            Assert.Equal(shard, set.Only);
            // The same bit of another word, and another bit of the same word.
            foreach (int other in new[] { (shard + 64) % ShardSet.MaxShards, shard ^ 1 })
            {
                ShardSet two = set;
                two.Add(other);
                Assert.Equal(-1, two.Only);
            }
        }
    }
}
