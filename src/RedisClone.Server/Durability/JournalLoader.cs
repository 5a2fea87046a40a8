using System.Buffers;
using System.Diagnostics;
using System.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Reading;
using RedisClone.Protocol;
using RedisClone.Server.Commands;
using RedisClone.Server.Net;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Durability;

/// <summary>
/// Applies what a journal holds, before anybody is served: the same handlers run, over shards that nobody else can hold, and nothing
/// expires while they do, since every expiry is an effect of its own.
/// </summary>
internal sealed class JournalLoader : IJournalSink
{
    private readonly ServerCore _server;
    private readonly Session _session;
    private readonly RequestParser _parser = new(new RequestLimits { MaxBulkLength = int.MaxValue });
    private readonly RequestBatch _batch = new();
    private readonly ArrayBufferWriter<byte> _replies = new(4096);

    private SnapshotLoader? _snapshot;

    public JournalLoader(ServerCore server)
    {
        _server = server;
        _session = new Session(server, 0, new ReplyWriter(_replies)) { Authenticated = true, InTransaction = true, IsReplay = true };
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
        _server.ExpiryEnabled = false;
        _session.Database = unit.Database;
        byte[] bytes = ArrayPool<byte>.Shared.Rent(unit.Bytes.Length);
        unit.Bytes.CopyTo(bytes);
        string? error = Apply(new ReadOnlySequence<byte>(bytes, 0, unit.Bytes.Length));
        ArrayPool<byte>.Shared.Return(bytes);
        _server.ExpiryEnabled = true;
        return error;
    }

    private string? Apply(ReadOnlySequence<byte> commands)
    {
        long now = ServerCore.UnixMilliseconds();
        while (!commands.IsEmpty)
        {
            _parser.Parse(commands, _batch, out SequencePosition consumed, out _);
            if (_batch.HasError || _batch.Count == 0) return $"a unit is not made of commands: {_batch.Error}";
            for (int i = 0; i < _batch.Count; i++)
                if (Run(_batch[i], now) is { } error) return error;
            _batch.Clear();
            commands = commands.Slice(consumed);
        }
        return null;
    }

    private string? Run(in Request request, long now)
    {
        CommandRow? row = _server.Commands.Resolve(request);
        if (row?.Handler is null || !row.ArityFits(request.Count)) return $"unknown command '{Encoding.Latin1.GetString(request[0])}'";
        // The unit as a whole is applied before anybody can look: its borders need no command.
        if (row.Name is "multi" or "exec") return null;
        int errors = _session.Reply.Errors;
        long started = Stopwatch.GetTimestamp();
        ulong hash = row.FirstKey > 0 && row.FirstKey < request.Count ? KeyHash.Of(request[row.FirstKey]) : 0;
        Lane lane = _server.Lanes.Current;
        _server.Executor.RunPart(_session, row, request, hash, now, lane, onWorker: true, ref started);
        lane.ReadyKeys.Clear();
        _session.Reply.Commit();
        string reply = Encoding.UTF8.GetString(_replies.WrittenSpan);
        _replies.ResetWrittenCount();
        return _session.Reply.Errors == errors ? null : $"'{row.Name}' answered {reply.TrimEnd()}";
    }
}
