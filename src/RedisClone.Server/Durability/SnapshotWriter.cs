using System.Globalization;
using System.Text;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Rdb;
using RedisClone.Server.Admin;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Durability;

/// <summary>Writes all data as one RDB. The caller holds every shard, so what is written is of one moment.</summary>
internal static class SnapshotWriter
{
    /// <summary>
    /// Writes and flushes the file; null, or why it could not be, and then there is no file. <paramref name="lsn"/> is the position in the stream of
    /// effects that it stands for where it becomes the journal's base, else -1.
    /// </summary>
    public static string? Write(ServerCore server, IDisk disk, string path, long lsn = -1)
    {
        try
        {
            using IDiskFile file = disk.Open(path, DiskOpen.New);
            var writer = new RdbWriter(new RdbFileTarget(file), server.Config.RdbCompression);
            Contents(server, writer, lsn);
            writer.End(server.Config.RdbChecksum);
            file.Flush();
            return null;
        }
        catch (Exception failure) when (IsDiskFailure(failure))
        {
            Discard(disk, path);
            return failure.Message;
        }
    }

    public static bool IsDiskFailure(Exception failure) => failure is IOException or UnauthorizedAccessException;

    private static void Discard(IDisk disk, string path)
    {
        try
        {
            disk.Delete(path);
        }
        catch (Exception failure) when (IsDiskFailure(failure))
        {
            // What could not be written may not be removable either; its name says that it is temporary.
        }
    }

    private static void Contents(ServerCore server, RdbWriter writer, long lsn)
    {
        long now = ServerCore.UnixMilliseconds();
        bool fieldsExpire = false;
        for (int i = 0; i < server.Shards.Count; i++)
        {
            ShardStore store = server.Shards[i].Store;
            store.Now = now;
            for (int database = 0; database < store.DatabaseCount; database++)
                fieldsExpire |= store.ExistingDatabase(database)?.ExpiringHashCount > 0;
        }
        writer.Header(ValueWriter.VersionFor(fieldsExpire));
        writer.Aux("redis-ver"u8, Encoding.ASCII.GetBytes(ServerVersion.Redis));
        writer.Aux("redis-bits"u8, "64"u8);
        writer.Aux("ctime"u8, Number(now / 1000));
        writer.Aux("aof-base"u8, lsn >= 0 ? "1"u8 : "0"u8);
        if (lsn >= 0) writer.Aux(RdbAux.JournalPosition, Number(lsn));
        var values = new ValueWriter(writer);
        for (int database = 0; database < server.Config.Databases; database++) Database(server, writer, values, database);
    }

    private static void Database(ServerCore server, RdbWriter writer, ValueWriter values, int database)
    {
        long keys = 0, expiring = 0;
        for (int i = 0; i < server.Shards.Count; i++)
        {
            if (server.Shards[i].Store.ExistingDatabase(database) is not { } keyspace) continue;
            keys += keyspace.Count;
            expiring += keyspace.ExpiringCount;
        }
        if (keys == 0) return;
        writer.SelectDatabase(database);
        writer.ResizeDatabase(keys, expiring);
        for (int i = 0; i < server.Shards.Count; i++)
        {
            if (server.Shards[i].Store.ExistingDatabase(database) is not { } keyspace) continue;
            var visitor = new KeyVisitor(keyspace, values);
            ulong cursor = 0;
            do cursor = keyspace.Scan(cursor, ref visitor);
            while (cursor != 0);
        }
    }

    private static byte[] Number(long value) => Encoding.ASCII.GetBytes(value.ToString(CultureInfo.InvariantCulture));

    private readonly struct KeyVisitor(Keyspace keyspace, ValueWriter values) : IScanVisitor
    {
        public void Visit(uint handle) => values.TryWriteKey(keyspace.Locate(KeyHash.Of(keyspace.KeyOf(handle)), handle));
    }
}
