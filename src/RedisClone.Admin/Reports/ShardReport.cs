using System.Text.Json;
using RedisClone.Engine;
using RedisClone.Engine.Shards;
using RedisClone.Scheduling;

namespace RedisClone.Admin.Reports;

/// <summary>The load of each shard in the last minute, what each shard holds, and the counters of the event loops.</summary>
internal static class ShardReport
{
    private const int HeatSeconds = 60;

    public static void Write(ServerCore server, Utf8JsonWriter json)
    {
        json.WriteStartObject();
        json.WriteNumber("imbalance", server.ShardLoads.Imbalance);
        json.WriteStartArray("seconds");
        foreach (int[] second in server.ShardLoads.Read(HeatSeconds))
        {
            json.WriteStartArray();
            foreach (int holds in second) json.WriteNumberValue(holds);
            json.WriteEndArray();
        }
        json.WriteEndArray();
        json.WriteStartArray("shards");
        for (int i = 0; i < server.Shards.Count; i++) WriteShard(server.Shards[i], json);
        json.WriteEndArray();
        json.WriteStartArray("loops");
        foreach (LoopCounters loop in server.Loops())
        {
            json.WriteStartObject();
            json.WriteNumber("rounds", loop.Rounds);
            json.WriteNumber("receives", loop.Receives);
            json.WriteNumber("connections", loop.Connections);
            json.WriteNumber("unsent", loop.UnsentBytes);
            json.WriteNumber("moved", loop.Moved);
            json.WriteEndObject();
        }
        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static void WriteShard(Shard shard, Utf8JsonWriter json)
    {
        long keys = 0;
        for (int database = 0; database < shard.Store.DatabaseCount; database++) keys += shard.Store.ExistingDatabase(database)?.Count ?? 0;
        json.WriteStartObject();
        json.WriteNumber("holds", shard.Holds);
        json.WriteNumber("waits", shard.Waits);
        json.WriteNumber("queued", shard.Queued);
        json.WriteNumber("keys", keys);
        json.WriteNumber("used", shard.Store.Arena.BytesUsed);
        json.WriteNumber("slack", shard.Store.Arena.SlackBytes);
        json.WriteEndObject();
    }
}
