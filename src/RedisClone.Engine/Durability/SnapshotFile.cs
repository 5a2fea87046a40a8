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
/// <param name="Output">Where the snapshot goes.</param>
/// <param name="AsRdb">True for an RDB file, false for a file of commands.</param>
/// <param name="Lsn">The LSN of the snapshot if it becomes the base of a journal, else -1.</param>
internal sealed record SnapshotOrder(ISnapshotOutput Output, bool AsRdb = true, long Lsn = -1)
{
    /// <summary>A snapshot in a file.</summary>
    public SnapshotOrder(IDisk disk, string path, bool asRdb = true, long lsn = -1)
        : this(new SnapshotFileOutput(disk, path), asRdb, lsn)
    {
    }

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
/// The bytes of a snapshot. Header and trailer are decided at the moment of the snapshot; the keys are appended as they are
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
    private readonly ISnapshotOutput _output;
    private RdbWriter? _rdb;
    private BaseEnd? _end;

    /// <summary>Collects the content of the header. The caller holds every shard.</summary>
    public SnapshotFile(ServerCore server, SnapshotOrder order)
    {
        (_order, _output) = (order, order.Output);
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
        _output.Open();
        if (!_order.AsRdb)
        {
            if (_order.Lsn >= 0)
            {
                _end = new BaseEnd();
                WriteCommands(BasePosition.Line(_order.Lsn));
                WriteCommands(BaseEnd.Announcement);
            }
            foreach (byte[] library in _libraries) WriteLoad(library);
            return;
        }
        _rdb = new RdbWriter(_output, compress: false);
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
        WriteCommands(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"*3\r\n$8\r\nFUNCTION\r\n$4\r\nLOAD\r\n${library.Length}\r\n")));
        WriteCommands(library);
        WriteCommands("\r\n"u8);
    }

    private void WriteCommands(ReadOnlySpan<byte> bytes)
    {
        _end?.Add(bytes);
        _output.Write(bytes);
    }

    public void Append(ReadOnlySpan<byte> bytes)
    {
        if (_rdb is null) WriteCommands(bytes);
        else _rdb.Raw(bytes);
    }

    /// <summary>Whether the walk may go on.</summary>
    public bool HasRoom => _output.HasRoom;

    /// <summary>Ends the snapshot after all keys are appended. It is complete when this returns.</summary>
    public void End()
    {
        _rdb?.End(_withChecksum);
        if (_end is not null) _output.Write(_end.Line());
        _output.End();
    }

    /// <summary>Gives an incomplete snapshot up.</summary>
    public void Discard() => _output.Discard();

    public void Dispose() => _output.Dispose();

    private static byte[] Number(long value) => Encoding.ASCII.GetBytes(value.ToString(CultureInfo.InvariantCulture));
}
