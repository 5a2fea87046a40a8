using System.Globalization;
using RedisClone.Engine;
using RedisClone.Engine.Cluster;
using static RedisClone.Admin.Info.Metric;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section about databases that contain keys.</summary>
internal static class KeyspaceInfo
{
    public static readonly InfoRow[] Rows =
    [
        new Family<DatabaseReading>("", "db", static r => r.Databases.Select(d => KeyValuePair.Create(d.Name, d)),
        [
            new("keys", d => d.Keys, Gauge("redis_db_keys", "Keys of a database.", place: 77)),
            new("expires", d => d.Expiring, Gauge("redis_db_keys_expiring", "Keys of a database with an expiry.", place: 78)),
            new("avg_ttl", d => d.AverageTtl,
                Gauge("redis_db_avg_ttl_seconds",
                    "Average time to live of the keys with an expiry, in seconds.", Unit.Milliseconds, place: 79)),
            new("subexpiry", d => d.WithExpiringFields),
        ]),
    ];
}

/// <summary>The keys of a database, over all shards.</summary>
internal sealed record DatabaseReading(string Name, long Keys, long Expiring, long AverageTtl, long WithExpiringFields)
{
    /// <summary>Returns the databases that contain keys.</summary>
    public static DatabaseReading[] All(ServerCore server)
    {
        var all = new List<DatabaseReading>();
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
            if (database == 0) keys -= SlotKeys.CountForeign(server);
            if (keys <= 0) continue;
            string name = string.Create(CultureInfo.InvariantCulture, $"db{database}");
            all.Add(new DatabaseReading(name, keys, expiring, expiring > 0 ? server.TtlAverages.Of(database) : 0, withFields));
        }
        return [.. all];
    }
}
