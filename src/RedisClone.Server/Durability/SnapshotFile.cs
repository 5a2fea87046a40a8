using System.Globalization;
using System.Text;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Rdb;
using RedisClone.Server.Admin;
using RedisClone.Storage;

namespace RedisClone.Server.Durability;

/// <summary>What is to be written, and where.</summary>
/// <param name="Disk">The file system.</param>
/// <param name="Path">A temporary name; whoever ordered the snapshot gives it its own.</param>
/// <param name="AsRdb">As an RDB, else as commands.</param>
/// <param name="Lsn">The position in the stream of effects that it stands for where it becomes the journal's base, else -1.</param>
internal sealed record SnapshotOrder(IDisk Disk, string Path, bool AsRdb = true, long Lsn = -1)
{
    /// <summary>Without keys.</summary>
    public bool OnlyFunctions { get; init; }
}

/// <summary>A snapshot's file: what stands before the keys and behind them is decided at the mark, the keys come as they are ready.</summary>
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

    /// <summary>The caller holds every shard.</summary>
    public SnapshotFile(ServerCore server, SnapshotOrder order)
    {
        _order = order;
        _withChecksum = server.Config.RdbChecksum;
        _libraries = [.. server.Scripts.Libraries.All.Select(static library => library.Source)];
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

    /// <summary>How many keys there were at the mark.</summary>
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

    /// <summary>All keys were appended: the file is complete when this returns, and on the disk.</summary>
    public void End()
    {
        _rdb?.End(_withChecksum);
        _file!.Flush();
    }

    /// <summary>The file is not to be: nothing of it stays, if the disk lets go of it.</summary>
    public void Discard()
    {
        try
        {
            Dispose();
            _order.Disk.Delete(_order.Path);
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            // What could not be written may not be removable either; its name says that it is temporary.
        }
    }

    public void Dispose()
    {
        _file?.Dispose();
        _file = null;
    }

    private static byte[] Number(long value) => Encoding.ASCII.GetBytes(value.ToString(CultureInfo.InvariantCulture));
}
