using RedisClone.Engine.Effects;
using RedisClone.Memory;

namespace RedisClone.Engine.Durability;

/// <summary>The keys of all databases and the function libraries, deleted as a whole before a load. The caller holds every shard.</summary>
internal static class DataSet
{
    /// <summary>Deletes everything, and notes it for the clients that watch, await or cache keys.</summary>
    public static void Drop(ServerCore server, Lane lane)
    {
        long now = ServerCore.UnixMilliseconds();
        for (int i = 0; i < server.Shards.Count; i++)
            for (int database = 0; database < server.Config.Databases; database++)
                server.Shards[i].NoteReplaced(database, after: null, lane, now);
        Abandon(server);
        server.Invalidations.InvalidateAll();
    }

    /// <summary>Deletes everything without a note. In a heap with a limit, the memory is free at once: what is loaded next needs it.</summary>
    public static void Abandon(ServerCore server)
    {
        server.Scripts.Libraries.Clear();
        for (int i = 0; i < server.Shards.Count; i++)
            for (int database = 0; database < server.Config.Databases; database++)
                server.Shards[i].Store.Abandon(database);
        if (HeapLimit.Bytes > 0) LoadRoom.MakeHeld(server);
    }
}
