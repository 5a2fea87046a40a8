using System.Globalization;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Replication;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Rdb;

namespace RedisClone.Engine.Durability;

/// <summary>The content and place of a snapshot.</summary>
/// <param name="Disk">The file system.</param>
/// <param name="Path">A temporary name; the owner of the snapshot renames the file.</param>
/// <param name="AsRdb">True for an RDB file, false for a file of commands.</param>
/// <param name="Lsn">The LSN of the snapshot if it becomes the base of a journal, else -1.</param>
internal sealed record SnapshotOrder(IDisk Disk, string Path, bool AsRdb = true, long Lsn = -1)
{
    /// <summary>Whether the snapshot has the function libraries but no keys.</summary>
    public bool OnlyFunctions { get; init; }

    /// <summary>The slots whose keys the snapshot has, without the function libraries; null for everything.</summary>
    public SlotSet? Slots { get; init; }

    /// <summary>The database that the stream after the snapshot is in; -1 if the stream begins with a SELECT.</summary>
    public int StreamDatabase { get; init; } = -1;

    /// <summary>The position of the data in the replication stream, or null.</summary>
    public StreamPosition? Position { get; init; }
}

/// <summary>
/// The file of a snapshot. Header and trailer are decided at the moment of the snapshot; the keys are appended as they are
/// captured.
/// </summary>
internal sealed class SnapshotFile : IDisposable
{
    private readonly SnapshotOrder _order;
    private readonly bool _withChecksum;
    private readonly int _version;
    private readonly long _now = ServerCore.UnixMilliseconds();
    private readonly List<(int Database, long Keys, long Expiring)> _databases = [];
    private readonly byte[][] _libraries;
    private IDiskFile? _file;
    private RdbWriter? _rdb;
    private RdbFileTarget? _target;

    /// <summary>Collects the content of the file's header. The caller holds every shard.</summary>
    public SnapshotFile(ServerCore server, SnapshotOrder order)
    {
        _order = order;
        _withChecksum = server.Config.RdbChecksum;
        _libraries = order.Slots is null ? [.. server.Scripts.Libraries.All.Select(static library => library.Source)] : [];
        bool fieldsExpire = false;
        for (int database = 0; database < server.Config.Databases && !order.OnlyFunctions; database++)
        {
            long keys = 0, expiring = 0;
            for (int i = 0; i < server.Shards.Count; i++)
            {
                if (server.Shards[i].Store.ExistingDatabase(database) is not { } keyspace) continue;
                keys += keyspace.Count;
                expiring += keyspace.ExpiringCount;
                fieldsExpire |= keyspace.ExpiringHashCount > 0;
            }
            if (keys > 0) _databases.Add((database, keys, expiring));
            Keys += keys;
        }
        _version = ValueWriter.VersionFor(fieldsExpire);
    }

    /// <summary>The number of keys at the moment of the snapshot.</summary>
    public long Keys { get; }

    public void Open()
    {
        _file = _order.Disk.Open(_order.Path, DiskOpen.New);
        _target = new RdbFileTarget(_file);
        if (!_order.AsRdb)
        {
            if (_order.Lsn >= 0) _target.Write(BasePosition.Line(_order.Lsn));
            foreach (byte[] library in _libraries) WriteLoad(library);
            return;
        }
        _rdb = new RdbWriter(_target, compress: false);
        _rdb.Header(_version);
        _rdb.Aux("redis-ver"u8, Encoding.ASCII.GetBytes(ServerVersion.Redis));
        _rdb.Aux("redis-bits"u8, "64"u8);
        _rdb.Aux("ctime"u8, Number(_now / 1000));
        _rdb.Aux("aof-base"u8, _order.Lsn >= 0 ? "1"u8 : "0"u8);
        if (_order.Lsn >= 0) _rdb.Aux(RdbAux.JournalPosition, Number(_order.Lsn));
        if (_order.Position is { } position)
        {
            _rdb.Aux(RdbAux.StreamDatabase, Number(position.Database));
            _rdb.Aux(RdbAux.History, Encoding.ASCII.GetBytes(position.History));
            _rdb.Aux(RdbAux.StreamOffset, Number(position.Offset));
        }
        if (_order.StreamDatabase >= 0) _rdb.Aux(RdbAux.StreamDatabase, Number(_order.StreamDatabase));
        foreach (byte[] library in _libraries) _rdb.Function(library);
        foreach ((int database, long keys, long expiring) in _databases)
        {
            _rdb.SelectDatabase(database);
            _rdb.ResizeDatabase(keys, expiring);
        }
    }

    private void WriteLoad(byte[] library)
    {
        _target!.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"*3\r\n$8\r\nFUNCTION\r\n$4\r\nLOAD\r\n${library.Length}\r\n")));
        _target.Write(library);
        _target.Write("\r\n"u8);
    }

    public void Append(ReadOnlySpan<byte> bytes)
    {
        if (_rdb is null) _target!.Write(bytes);
        else _rdb.Raw(bytes);
    }

    /// <summary>Ends the file after all keys are appended, and flushes it to the disk.</summary>
    public void End()
    {
        _rdb?.End(_withChecksum);
        _file!.Flush();
    }

    /// <summary>Deletes the file if the disk allows it.</summary>
    public void Discard()
    {
        try
        {
            Dispose();
            _order.Disk.Delete(_order.Path);
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            // A disk that fails to write may fail to delete too. The file's name shows that it is temporary.
        }
    }

    public void Dispose()
    {
        _file?.Dispose();
        _file = null;
    }

    private static byte[] Number(long value) => Encoding.ASCII.GetBytes(value.ToString(CultureInfo.InvariantCulture));
}
