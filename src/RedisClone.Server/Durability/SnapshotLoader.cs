using System.Buffers.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Rdb;
using RedisClone.Server.Scripting;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Durability;

/// <summary>
/// Brings back what an RDB holds, over shards that nobody else can hold: values of a usual size are read by the threads that have their shards,
/// a long one here, as it comes from the file, when all that came before is done.
/// </summary>
internal sealed class SnapshotLoader : IRdbVisitor
{
    private const int LogEvery = 1 << 20;

    private readonly ServerCore _server;
    private readonly bool _keepExpired;
    private readonly bool _replace;
    private readonly long _now = ServerCore.UnixMilliseconds();
    private readonly SnapshotBuilder _here;
    private readonly List<SnapshotBuilder> _builders = [];
    private LoadWorkers<SnapshotBatch>? _workers;
    private RdbReader? _reader;
    private long _handed;
    private long _owed;

    /// <param name="server">The server, whose databases the file's keys are added to.</param>
    /// <param name="keepExpired">
    /// Whether keys whose time has passed are kept: in a journal's base they are, since the effect that removes them may follow.
    /// </param>
    /// <param name="replace">Whether what the file holds may replace what is there already.</param>
    public SnapshotLoader(ServerCore server, bool keepExpired, bool replace = false)
    {
        (_server, _keepExpired, _replace) = (server, keepExpired, replace);
        _here = NewBuilder();
    }

    public long Loaded => _handed - Empty;

    /// <summary>How far the reading is; may be asked from any thread.</summary>
    public long Offset => _reader?.Offset ?? 0;

    public long Expired { get; private set; }

    public long Empty => _builders.Sum(b => b.Empty);

    /// <summary>The position in the stream of effects that the file says it stands for, -1 when it says none.</summary>
    public long Lsn { get; private set; } = -1;

    bool IRdbVisitor.TakesValues => true;

    /// <summary>Reads a whole RDB and tells where it ends; null, or why it cannot be loaded.</summary>
    public string? Load(IDiskFile file, out long end)
    {
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
        // What the threads found lies before what ended the reading; of several, the first in the file counts.
        if (_builders.Where(b => b.Failure is not null).MinBy(b => b.FailedAt) is not { } first) return error;
        end = first.FailedAt;
        return first.Failure;
    }

    void IRdbVisitor.Aux(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        if (name.SequenceEqual(RdbAux.JournalPosition) && Utf8Parser.TryParse(value, out long lsn, out int used) && used == value.Length) Lsn = lsn;
    }

    void IRdbVisitor.Resize(int database, long keys, long expiring)
    {
    }

    string? IRdbVisitor.Function(ReadOnlySpan<byte> code)
    {
        FunctionLibrary? library = _server.Scripts.Load(code, patient: true, _server.Scripts.Libraries, _replace, out string error);
        return library is null ? error : _server.Scripts.Libraries.Add([library], _replace);
    }

    string? IRdbVisitor.Value(in RdbKey key, RdbType type, ReadOnlySpan<byte> value)
    {
        if (Refuse(key) is { } reason) return reason;
        if (HasExpired(key)) return null;
        ulong hash = KeyHash.Of(key.Name);
        if (_workers!.BatchFor(_server.Shards.Of(hash), key.Database, key.Name.Length + value.Length) is not { } batch) return _workers.Settle();
        Count();
        batch.Add(key, hash, type, value, _reader!.Offset - value.Length);
        return null;
    }

    IRdbValueVisitor? IRdbVisitor.Key(in RdbKey key)
    {
        if ((Refuse(key) ?? _workers!.Settle()) is { } reason) return _here.Reject(reason);
        if (HasExpired(key)) return null;
        Count();
        return _here.Begin(key.Database, key.Name, KeyHash.Of(key.Name), key.ExpireMilliseconds);
    }

    void IRdbVisitor.SkippedEmpty() => _here.DropEmpty();

    private SnapshotBuilder NewBuilder()
    {
        var builder = new SnapshotBuilder(_server, _now, _replace);
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

    private bool HasExpired(in RdbKey key)
    {
        if (_keepExpired || key.ExpireMilliseconds < 0 || key.ExpireMilliseconds >= _now) return false;
        Expired++;
        return true;
    }

    private void Count()
    {
        if (++_handed % LogEvery == 0)
            _server.Log.LogInformation("Loading: {Keys} keys, {Offset} of {Length} bytes", _handed, _reader!.Offset, _reader.Offset + _reader.Remaining);
    }

    /// <summary>For tests of what is done meanwhile: a little time for each key, in sleeps that are long enough for the clock.</summary>
    private void Pause()
    {
        int delay = _server.Config.KeyLoadDelay;
        if (delay <= 0 || (_owed += delay) < 1000) return;
        Thread.Sleep((int)(_owed / 1000));
        _owed = 0;
    }
}
