using RedisClone.Engine.Effects;
using RedisClone.Engine.Failures;
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

    /// <summary>
    /// Loads data after the old ones were dropped. A failure ends the process: memory has a part of the data then, and the next rewrite or save
    /// would make that part the whole. A restart loads all of the data.
    /// </summary>
    /// <param name="what">The source of the data, for the log.</param>
    /// <param name="load">Drops and loads the data. Returns null, or the reason of a failure.</param>
    public static void Reload(string what, Func<string?> load)
    {
        string? reason;
        try
        {
            reason = load();
        }
        catch (Exception error)
        {
            Fatal.End($"{what} could not be loaded again", error);
            throw;
        }
        if (reason is not null) Fatal.End(reason);
    }

    /// <summary>
    /// Deletes everything without a note. In a heap with a limit, the memory is free at once, because what is loaded next needs it. A snapshot in
    /// progress would keep it, and is cancelled.
    /// </summary>
    public static void Abandon(ServerCore server)
    {
        if (HeapLimit.Bytes > 0)
        {
            server.Snapshots.Slot.Cancel();
            for (int i = 0; i < server.Shards.Count; i++) server.Shards[i].Store.FinishCapture();
        }
        server.Scripts.Libraries.Clear();
        for (int i = 0; i < server.Shards.Count; i++)
            for (int database = 0; database < server.Config.Databases; database++)
                server.Shards[i].Store.Abandon(database);
        if (HeapLimit.Bytes > 0) LoadRoom.MakeHeld(server);
    }
}
