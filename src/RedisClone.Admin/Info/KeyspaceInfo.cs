using System.Globalization;
using RedisClone.Engine;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section about databases that contain keys.</summary>
internal static class KeyspaceInfo
{
    public static void Write(ServerCore server, InfoWriter info)
    {
        info.Section("Keyspace");
        for (int database = 0; database < server.Config.Databases; database++)
        {
            long keys = 0, expiring = 0, withFields = 0;
            for (int shard = 0; shard < server.Shards.Count; shard++)
            {
                if (server.Shards[shard].Store.ExistingDatabase(database) is not { } keyspace) continue;
                keys += keyspace.Count;
                expiring += keyspace.ExpiringCount;
                withFields += keyspace.ExpiringHashCount;
            }
            long averageTtl = expiring > 0 ? server.TtlAverages.Of(database) : 0;
            if (keys > 0)
                info.Field(string.Create(CultureInfo.InvariantCulture, $"db{database}"),
                    string.Create(CultureInfo.InvariantCulture,
                        $"keys={keys},expires={expiring},avg_ttl={averageTtl},subexpiry={withFields}"));
        }
    }
}
