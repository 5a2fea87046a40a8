using System.Buffers.Text;
using System.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Reading;
using RedisClone.Server.Commands;
using RedisClone.Server.Shards;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Durability;

/// <summary>
/// Applies what a journal holds, before anybody is served: the same handlers run, over shards that nobody else can hold, and nothing
/// expires while they do, since every expiry is an effect of its own.
/// </summary>
/// <remarks>
/// A command with one key goes to the thread that replays its key's shard, so each shard sees its own in order. Any other is run here, when
/// all that came before it is done. Nobody looks before the end, so the commands of a transaction go their ways one by one: that it is
/// there as a whole, the reader has seen to.
/// </remarks>
internal sealed class JournalLoader : IJournalSink, IDisposable
{
    private const int MostWorkers = 8;

    private readonly ServerCore _server;
    private readonly ReplayRun _run;
    private readonly ReplayWorker[] _workers;
    private byte[] _lastName = [];
    private CommandRow? _lastRow;
    private SnapshotLoader? _snapshot;

    public JournalLoader(ServerCore server)
    {
        _server = server;
        _run = new ReplayRun(server);
        _workers = new ReplayWorker[Math.Clamp(Environment.ProcessorCount, 1, MostWorkers)];
        for (int i = 0; i < _workers.Length; i++) _workers[i] = new ReplayWorker(server, i);
        server.ExpiryEnabled = false;
    }

    /// <summary>How far the reading of a base is, 0 when none is read.</summary>
    public long SnapshotOffset => Volatile.Read(ref _snapshot)?.Offset ?? 0;

    string? IJournalSink.LoadSnapshot(IDiskFile file, string name, out long end, out long lsn)
    {
        var loader = _snapshot = new SnapshotLoader(_server, keepExpired: true);
        string? error = loader.Load(file, out end);
        _snapshot = null;
        lsn = loader.Lsn;
        if (error is null) _server.Log.LogInformation("{File}: {Keys} keys loaded", name, loader.Loaded);
        return error;
    }

    string? IJournalSink.Apply(in JournalUnit unit)
    {
        if (_server.Loading is { IsCancelled: true }) return "the server is to end";
        if (!unit.IsTransaction) return Apply(unit.Bytes, unit.Database);
        int database = unit.Database;
        for (ReadOnlySpan<byte> rest = unit.Bytes; !rest.IsEmpty;)
        {
            int length = LengthOf(rest);
            ReadOnlySpan<byte> command = rest[..length];
            rest = rest[length..];
            // Redis writes annotations between commands.
            if (command[0] == (byte)'#') continue;
            int at = 0;
            int count = Number(command, ref at);
            ReadOnlySpan<byte> name = Word(command, ref at);
            if (count == 1 && (Ascii.EqualsIgnoreCase(name, "multi"u8) || Ascii.EqualsIgnoreCase(name, "exec"u8))) continue;
            if (count == 2 && Ascii.EqualsIgnoreCase(name, "select"u8))
            {
                ReadOnlySpan<byte> number = Word(command, ref at);
                if (Utf8Parser.TryParse(number, out database, out int used) && used == number.Length && (uint)database < (uint)_server.Config.Databases) continue;
                return $"no database {Encoding.Latin1.GetString(number)}";
            }
            if (Apply(command, database) is { } error) return error;
        }
        return null;
    }

    string? IJournalSink.Complete()
    {
        Drain();
        return Error;
    }

    public void Dispose()
    {
        foreach (ReplayWorker worker in _workers) worker.Dispose();
        _server.ExpiryEnabled = true;
    }

    private string? Error => Array.Find(_workers, w => w.Error is not null)?.Error;

    private string? Apply(ReadOnlySpan<byte> command, int database)
    {
        int at = 0;
        int count = Number(command, ref at);
        ReadOnlySpan<byte> name = Word(command, ref at);
        CommandRow? row = RowOf(name);
        if (row is not { HasSingleKey: true, FirstKey: 1, Handler: not null, Subcommands.Length: 0 } || !row.ArityFits(count)) return ApplyAlone(command, database);
        ulong hash = KeyHash.Of(Word(command, ref at));
        ReplayWorker worker = _workers[_server.Shards.Of(hash).Index % _workers.Length];
        if (!worker.Filling.Takes(database) || worker.Filling.IsFull)
        {
            worker.HandOver();
            if (worker.Error is { } error) return error;
        }
        worker.Filling.Add(database, row, hash, command);
        return null;
    }

    private string? ApplyAlone(ReadOnlySpan<byte> command, int database)
    {
        // What an idle worker has not been handed yet is quicker done here than over there.
        foreach (ReplayWorker worker in _workers)
        {
            if (worker.Filling.IsEmpty || !worker.IsIdle) continue;
            if (_run.Run(worker.Filling) is { } failure) return failure;
            worker.Filling.Clear();
        }
        Drain();
        return Error ?? _run.RunAlone(command.ToArray(), database);
    }

    private void Drain()
    {
        foreach (ReplayWorker worker in _workers)
            if (!worker.Filling.IsEmpty) worker.HandOver();
        foreach (ReplayWorker worker in _workers) worker.WaitUntilIdle();
    }

    private CommandRow? RowOf(ReadOnlySpan<byte> name)
    {
        if (name.SequenceEqual(_lastName)) return _lastRow;
        _lastName = name.ToArray();
        return _lastRow = _server.Commands.Find(name);
    }

    // The reader has seen that these are whole commands.

    private static int LengthOf(ReadOnlySpan<byte> bytes)
    {
        if (bytes[0] == (byte)'#') return bytes.IndexOf((byte)'\n') + 1;
        int at = 0;
        for (int left = Number(bytes, ref at); left > 0; left--) Word(bytes, ref at);
        return at;
    }

    private static ReadOnlySpan<byte> Word(ReadOnlySpan<byte> bytes, ref int at)
    {
        int length = Number(bytes, ref at);
        ReadOnlySpan<byte> word = bytes.Slice(at, length);
        at += length + 2;
        return word;
    }

    /// <summary>The number of a line such as *3 or $5.</summary>
    private static int Number(ReadOnlySpan<byte> bytes, ref int at)
    {
        int value = 0;
        while (bytes[++at] != (byte)'\r') value = value * 10 + (bytes[at] - '0');
        at += 2;
        return value;
    }
}
