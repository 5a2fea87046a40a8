using System.Buffers.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Rdb;
using RedisClone.Server.Scripting;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Durability;

/// <summary>Brings back what an RDB holds, over shards that nobody else can hold.</summary>
/// <param name="server">The server, whose databases the file's keys are added to.</param>
/// <param name="keepExpired">
/// Whether keys whose time has passed are kept: in a journal's base they are, since the effect that removes them may follow.
/// </param>
/// <param name="replace">Whether what the file holds may replace what is there already.</param>
internal sealed class SnapshotLoader(ServerCore server, bool keepExpired, bool replace = false) : IRdbVisitor
{
    private const int LogEvery = 1 << 20;

    private readonly ValueReader _value = new();
    private readonly long _now = ServerCore.UnixMilliseconds();
    private RdbReader? _reader;
    private long _owed;

    public long Loaded { get; private set; }

    /// <summary>How far the reading is; may be asked from any thread.</summary>
    public long Offset => _reader?.Offset ?? 0;

    public long Expired { get; private set; }

    public long Empty { get; private set; }

    /// <summary>The position in the stream of effects that the file says it stands for, -1 when it says none.</summary>
    public long Lsn { get; private set; } = -1;

    /// <summary>Reads a whole RDB and tells where it ends; null, or why it cannot be loaded.</summary>
    public string? Load(IDiskFile file, out long end)
    {
        _reader = new RdbReader(file);
        string? error;
        try
        {
            error = RdbFileReader.Read(_reader, this, server.Config.RdbChecksum);
        }
        catch (Exception failure) when (SnapshotFile.IsDiskFailure(failure))
        {
            error = failure.Message;
        }
        end = _reader.Offset;
        if (error is null) return null;
        _value.Drop();
        return _value.Refusal ?? error;
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
        FunctionLibrary? library = server.Scripts.Load(code, patient: true, server.Scripts.Libraries, replace, out string error);
        return library is null ? error : server.Scripts.Libraries.Add([library], replace);
    }

    IRdbValueVisitor? IRdbVisitor.Key(in RdbKey key)
    {
        if (server.Loading is { IsCancelled: true }) return _value.Reject("the server is to end");
        Pause();
        if (key.Database >= server.Config.Databases)
            return _value.Reject($"FATAL: Data file was created with a Redis server configured to handle more than {server.Config.Databases} databases. Exiting");
        if (!keepExpired && key.ExpireMilliseconds >= 0 && key.ExpireMilliseconds < _now)
        {
            Expired++;
            return null;
        }
        if (++Loaded % LogEvery == 0)
            server.Log.LogInformation("Loading: {Keys} keys, {Offset} of {Length} bytes", Loaded, _reader!.Offset, _reader.Offset + _reader.Remaining);
        ulong hash = KeyHash.Of(key.Name);
        var store = server.Shards.Of(hash).Store;
        store.Now = _now;
        // In storage 0 is never: what expired in 1970 did so a millisecond later.
        long expiry = key.ExpireMilliseconds < 0 ? 0 : Math.Max(key.ExpireMilliseconds, 1);
        Keyspace keyspace = store.Database(key.Database);
        if (replace && keyspace.Find(key.Name, hash) is { Exists: true } old) keyspace.Remove(old);
        return _value.Start(keyspace, key.Name, hash, expiry);
    }

    void IRdbVisitor.SkippedEmpty()
    {
        server.Log.LogInformation("Loading: skipping empty key: {Key}", _value.KeyText);
        _value.Drop();
        Loaded--;
        Empty++;
    }

    /// <summary>For tests of what is done meanwhile: a little time for each key, in sleeps that are long enough for the clock.</summary>
    private void Pause()
    {
        int delay = server.Config.KeyLoadDelay;
        if (delay <= 0 || (_owed += delay) < 1000) return;
        Thread.Sleep((int)(_owed / 1000));
        _owed = 0;
    }
}
