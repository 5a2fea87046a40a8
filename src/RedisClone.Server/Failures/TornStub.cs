using RedisClone.Storage;

namespace RedisClone.Server.Failures;

internal static class TornStub
{
    extension(ShardStore store)
    {
        public bool IsTorn => store is null;
    }
}
