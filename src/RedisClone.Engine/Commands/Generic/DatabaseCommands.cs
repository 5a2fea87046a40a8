using RedisClone.Engine.Shards;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Engine.Commands.Generic;

/// <summary>Commands on whole databases.</summary>
internal static class DatabaseCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("FLUSHDB [ASYNC | SYNC]",
            -1, Keys.None, Write | AllShards, "server", "1.0.0", FlushDb, "Removes all keys of the database.")
            { Categories = ["keyspace", "dangerous"], Complexity = "O(N)", Tips = CommandTips.AllShards },
        new("FLUSHALL [ASYNC | SYNC]",
            -1, Keys.None, Write | AllShards, "server", "1.0.0", FlushAll, "Removes all keys of all databases.")
            { Categories = ["keyspace", "dangerous"], Complexity = "O(N)", Tips = CommandTips.AllShards },
        new("SWAPDB index1 index2", 3, Keys.None, Write | Fast | AllShards, "server", "4.0.0", SwapDb, "Exchanges two databases.")
            { Categories = ["keyspace", "dangerous"], Complexity = "O(N) where N is the count of clients watching or blocking " +
                "on keys from both databases." },
    ];

    /// <summary>The number of buckets of a database that a flush with SYNC frees before it replies, in all shards together.</summary>
    private const int FirstSlice = 256;

    private static void FlushDb(ref CommandContext c)
    {
        if (!TryFlushMode(ref c, out bool waits)) return;
        Flush(ref c, c.Session.Database, waits);
        c.Data.Invalidations.InvalidateAll();
        c.Changed();
        c.Reply.Ok();
    }

    private static void FlushAll(ref CommandContext c)
    {
        if (!TryFlushMode(ref c, out bool waits)) return;
        if (c.Data.Snapshots.SavesWhenFlushed && c.MoveToWorker(long.MaxValue)) return;
        c.Data.Snapshots.CancelSave();
        for (int database = 0; database < c.Data.Config.Databases; database++) Flush(ref c, database, waits);
        c.Data.Invalidations.InvalidateAll();
        c.Changed();
        // Without this snapshot, a restart would load the old data again.
        if (c.Data.Snapshots.SavesWhenFlushed) c.Data.Snapshots.Save(c.Changes);
        c.Reply.Ok();
    }

    /// <summary>Removes all keys as a part of another command.</summary>
    public static void EmptyAll(ref CommandContext c)
    {
        c.Data.Snapshots.CancelSave();
        for (int database = 0; database < c.Data.Config.Databases; database++) Flush(ref c, database, waits: false);
        c.Data.Invalidations.InvalidateAll();
        c.ReplaceEffect(arguments: 1)?.Add("FLUSHALL"u8);
        c.Changed();
    }

    private static bool TryFlushMode(ref CommandContext c, out bool waits)
    {
        waits = c.Args.Count == 1 ? !c.Data.Config.LazyFreeUserFlush : c.Is(1, "SYNC"u8);
        if (c.Args.Count == 1 || c.Args.Count == 2 && (c.Is(1, "ASYNC"u8) || c.Is(1, "SYNC"u8))) return true;
        return c.FailSyntax();
    }

    /// <summary>
    /// Detaches the old keyspaces and frees them in slices, for SYNC as well as ASYNC, so a flush does not block clients for
    /// long. With SYNC, the first slice is freed at once. A transaction does not count the keys as lazily freed, because
    /// Redis frees them at once there.
    /// </summary>
    private static void Flush(ref CommandContext c, int database, bool waits)
    {
        int atOnce = waits ? Math.Max(1, FirstSlice / c.Data.Shards.Count) : 0;
        c.Data.Cluster?.Migrations.Flushed();
        for (int i = 0; i < c.Data.Shards.Count; i++)
        {
            Shard shard = c.Data.Shards[i];
            if (shard.Keys.HasWatchers) shard.Keys.TouchAllWatched(database, shard.Store.ExistingDatabase(database), null, c.Now);
            long abandoned = shard.Store.Abandon(database, c.Session.InTransaction ? atOnce : 0);
            if (abandoned > 0 && !c.Session.InTransaction) shard.Store.FreeAbandoned(atOnce);
            AwaitedMayBeReady(ref c, shard, database);
        }
    }

    private static void SwapDb(ref CommandContext c)
    {
        long first = c.Int64(1, int.MinValue, int.MaxValue, "ERR invalid first DB index");
        long second = c.Int64(2, int.MinValue, int.MaxValue, "ERR invalid second DB index");
        int count = c.Data.Config.Databases;
        if (!c.Failed && (first < 0 || first >= count || second < 0 || second >= count)) c.Fail(Errors.DbIndex);
        if (c.Data.Config.ClusterEnabled) c.Fail("ERR SWAPDB" + Errors.NotInCluster);
        if (c.Failed) return;
        for (int i = 0; first != second && i < c.Data.Shards.Count; i++)
        {
            Shard shard = c.Data.Shards[i];
            if (shard.Keys.HasWatchers)
            {
                (Storage.Keyspace? a, Storage.Keyspace? b) = (shard.Store.ExistingDatabase((int)first), shard.Store.ExistingDatabase((int)second));
                shard.Keys.TouchAllWatched((int)first, a, b, c.Now);
                shard.Keys.TouchAllWatched((int)second, b, a, c.Now);
            }
            shard.Store.Swap((int)first, (int)second);
            AwaitedMayBeReady(ref c, shard, (int)first);
            AwaitedMayBeReady(ref c, shard, (int)second);
        }
        if (first != second) c.Data.Invalidations.InvalidateAll();
        c.Lane.ForgetAbsent();
        c.Changed();
        c.Reply.Ok();
    }

    private static void AwaitedMayBeReady(ref CommandContext c, Shard shard, int database)
    {
        if (!shard.Keys.HasWaiters) return;
        foreach (DatabaseKey key in shard.Keys.AwaitedIn(database)) c.Lane.AddReady(shard, key);
    }
}
