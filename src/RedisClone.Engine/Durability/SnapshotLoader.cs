using System.Buffers.Text;
using System.Text;
using RedisClone.Engine.Replication;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Rdb;
using RedisClone.Memory;
using RedisClone.Storage;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Loads an RDB while no other thread can hold a shard. Values of usual size are built by the threads that own their shards.
/// A long value is built on this thread as it is read, after all earlier values are done.
/// </summary>
internal sealed class SnapshotLoader : IRdbVisitor
{
    private readonly ServerCore _server;
    private readonly bool _replace;
    private readonly ShardStore[]? _stores;
    private readonly long _now = ServerCore.UnixMilliseconds();
    private readonly SnapshotBuilder _here;
    private readonly List<SnapshotBuilder> _builders = [];
    private LoadWorkers<SnapshotBatch>? _workers;
    private bool _keepExpired;
    private string _history = "";
    private long _streamOffset = -1;
    private RdbReader? _reader;
    private long _handed;
    private long _owed;

    /// <summary>Prepares a load.</summary>
    /// <param name="server">The server to load the keys into.</param>
    /// <param name="keepExpired">
    /// Whether expired keys are kept. The base of a journal keeps them, because an effect that removes them may follow.
    /// </param>
    /// <param name="replace">Whether the file's keys and libraries may replace existing ones.</param>
    /// <param name="stores">
    /// Stores that get the keys instead of those of the shards. The libraries are then only collected, in <see cref="Libraries"/>.
    /// </param>
    public SnapshotLoader(ServerCore server, bool keepExpired, bool replace = false, ShardStore[]? stores = null)
    {
        (_server, _keepExpired, _replace, _stores) = (server, keepExpired, replace, stores);
        _here = NewBuilder();
    }

    public long Loaded => _handed - Empty;

    /// <summary>The offset that the reading has reached. Any thread may read it.</summary>
    public long Offset => _reader?.Offset ?? 0;

    /// <summary>The number of keys that had expired, whether they are kept or not.</summary>
    public long Expired { get; private set; }

    public long Empty => _builders.Sum(b => b.Empty);

    /// <summary>The LSN that the file says it stands for, or -1.</summary>
    public long Lsn { get; private set; } = -1;

    /// <summary>The database that the file says the replication stream after it is in, or -1.</summary>
    public int StreamDatabase { get; private set; } = -1;

    /// <summary>The position in the replication stream that the file says it has, or null.</summary>
    public StreamPosition? Position =>
        _history.Length == ReplicationHistory.IdLength && _streamOffset >= 0 && StreamDatabase >= 0
            ? new StreamPosition(_history, _streamOffset, StreamDatabase)
            : null;

    /// <summary>The sources of the function libraries, if the keys go to stores of their own.</summary>
    public List<byte[]> Libraries { get; } = [];

    bool IRdbVisitor.TakesValues => true;

    /// <summary>Reads a whole RDB and its end offset. Returns null, or the reason of a failure.</summary>
    public string? Load(IDiskFile file, out long end)
    {
        // A load beside the old data leaves the clients their memory.
        int loads = _stores is null ? 1 : 0;
        _server.Shards.Budget.LoadsChanged(loads);
        try
        {
            return Read(file, out end);
        }
        finally
        {
            _server.Shards.Budget.LoadsChanged(-loads);
        }
    }

    private string? Read(IDiskFile file, out long end)
    {
        using HeapRelief.Patience patience = HeapRelief.BePatient();
        _reader = new RdbReader(file);
        using LoadWorkers<SnapshotBatch> workers = _workers = new LoadWorkers<SnapshotBatch>("load", () => NewBuilder().Run);
        string? error;
        try
        {
            error = RdbFileReader.Read(_reader, this, _server.Config.RdbChecksum);
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            error = failure.Message;
        }
        end = _reader.Offset;
        if (error is not null) error = _here.Drop() ?? error;
        error = workers.Settle() ?? error;
        // The threads fail at earlier offsets than the reader. Of several failures, the first in the file is reported.
        if (_builders.Where(b => b.Failure is not null).MinBy(b => b.FailedAt) is not { } first) return error;
        end = first.FailedAt;
        return first.Failure;
    }

    void IRdbVisitor.Aux(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        if (name.SequenceEqual(RdbAux.JournalPosition) && Utf8Parser.TryParse(value, out long lsn, out int used) && used == value.Length) Lsn = lsn;
        if (name.SequenceEqual(RdbAux.StreamDatabase) && Utf8Parser.TryParse(value, out int database, out used) && used == value.Length
            && database >= 0 && database < _server.Config.Databases) StreamDatabase = database;
        if (name.SequenceEqual(RdbAux.History)) _history = Encoding.ASCII.GetString(value);
        if (name.SequenceEqual(RdbAux.StreamOffset) && Utf8Parser.TryParse(value, out long offset, out used) && used == value.Length) _streamOffset = offset;
        // Replicas that continue the stream have the expired keys too. Their removal is an effect of its own.
        _keepExpired |= Position is not null;
    }

    void IRdbVisitor.Resize(int database, long keys, long expiring)
    {
    }

    string? IRdbVisitor.Function(ReadOnlySpan<byte> code)
    {
        if (_stores is not null)
        {
            Libraries.Add(code.ToArray());
            return null;
        }
        return _server.Scripts.Restore(code, _replace);
    }

    string? IRdbVisitor.Value(in RdbKey key, RdbType type, ReadOnlySpan<byte> value)
    {
        if (Refuse(key) is { } reason) return reason;
        if (DropsExpired(key)) return null;
        ulong hash = _server.Shards.HashOf(key.Name);
        if (_workers!.BatchFor(_server.Shards.Of(hash), key.Database, key.Name.Length + value.Length) is not { } batch) return _workers.Settle();
        _handed++;
        batch.Add(key, hash, type, value, _reader!.Offset - value.Length);
        return null;
    }

    IRdbValueVisitor? IRdbVisitor.Key(in RdbKey key)
    {
        if ((Refuse(key) ?? _workers!.Settle()) is { } reason) return _here.Reject(reason);
        if (DropsExpired(key)) return null;
        _handed++;
        return _here.Begin(key.Database, key.Name, _server.Shards.HashOf(key.Name), key.ExpireMilliseconds);
    }

    void IRdbVisitor.SkippedEmpty() => _here.DropEmpty();

    private SnapshotBuilder NewBuilder()
    {
        var builder = new SnapshotBuilder(_server, _now, _replace, _stores);
        _builders.Add(builder);
        return builder;
    }

    private string? Refuse(in RdbKey key)
    {
        if (_server.Loading is { IsCancelled: true }) return "the server is to end";
        Pause();
        return key.Database < _server.Config.Databases
            ? null
            : $"FATAL: Data file was created with a Redis server configured to handle more than {_server.Config.Databases} databases. Exiting";
    }

    /// <summary>Counts an expired key. True if the load drops it.</summary>
    private bool DropsExpired(in RdbKey key)
    {
        if (key.ExpireMilliseconds < 0 || key.ExpireMilliseconds >= _now) return false;
        Expired++;
        return !_keepExpired;
    }

    /// <summary>
    /// Delays each key by key-load-delay, for tests. Delays are collected until a sleep is long enough for the clock.
    /// </summary>
    private void Pause()
    {
        int delay = _server.Config.KeyLoadDelay;
        if (delay <= 0 || (_owed += delay) < 1000) return;
        Thread.Sleep((int)(_owed / 1000));
        _owed = 0;
    }
}
