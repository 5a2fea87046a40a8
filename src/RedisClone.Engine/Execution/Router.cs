using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;

namespace RedisClone.Engine.Execution;

/// <summary>Determines the shards that a command needs.</summary>
internal static class Router
{
    public static ShardSet ShardsOf(ServerCore server, Session session, in Transaction.Queued queued)
    {
        CommandRow row = queued.Row;
        bool isSingle = queued.HasSingleKey && row.Route is null && !row.Has(CommandFlags.AllShards);
        return isSingle ? ShardSet.Of(server.Shards.IndexOf(queued.Hash)) : ShardsOf(server, session, row, queued.Request);
    }

    public static ShardSet ShardsOf(ServerCore server, Session session, CommandRow row, in Request request)
    {
        if (row.Has(CommandFlags.AllShards)) return server.Shards.All;
        if (row.Route is not null) return row.Route(request, session);
        var set = default(ShardSet);
        if (row.Keys.Length == 0) return set;
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        // Malformed arguments name no keys. The handler detects the same error and reports it.
        if (row.CollectKeys(request, ref positions))
            for (int i = 0; i < positions.Count; i++) set.Add(server.Shards.IndexOf(server.Shards.HashOf(request[positions[i]])));
        positions.Dispose();
        return set;
    }
}
