using System.Buffers;
using System.Diagnostics;
using System.Text;
using RedisClone.Protocol;
using RedisClone.Server.Commands;
using RedisClone.Server.Net;
using RedisClone.Server.Shards;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Durability;

/// <summary>
/// Runs commands of a journal on one thread: the handlers that clients' commands run, and what they will touch fetched ahead for a whole
/// batch. What any of them answers beyond an error is of no interest.
/// </summary>
internal sealed class ReplayRun
{
    private readonly ServerCore _server;
    private readonly Session _session;
    private readonly RequestParser _parser = new(new RequestLimits { MaxBulkLength = int.MaxValue });
    private readonly RequestBatch _requests = new();
    private readonly ArrayBufferWriter<byte> _replies = new(4096);

    public ReplayRun(ServerCore server)
    {
        _server = server;
        _session = new Session(server, 0, new ReplyWriter(_replies)) { Authenticated = true, InTransaction = true, IsReplay = true };
    }

    /// <summary>Null, or why it cannot go on.</summary>
    public string? Run(ReplayBatch batch)
    {
        _session.Database = batch.Database;
        var rest = new ReadOnlySequence<byte>(batch.Bytes);
        for (int done = 0; done < batch.Count; done += _requests.Count)
        {
            if (!Parse(ref rest, out string? error)) return error;
            Prefetch(batch, done);
            long now = ServerCore.UnixMilliseconds();
            for (int i = 0; i < _requests.Count; i++)
                if (Run(_requests[i], batch[done + i].Row, batch[done + i].Hash, now) is { } failure) return failure;
        }
        return null;
    }

    /// <summary>Runs one command, whatever its keys; the caller sees to it that nobody else runs any.</summary>
    public string? RunAlone(ReadOnlyMemory<byte> command, int database)
    {
        _session.Database = database;
        var rest = new ReadOnlySequence<byte>(command);
        if (!Parse(ref rest, out string? error)) return error;
        Request request = _requests[0];
        if (_server.Commands.Resolve(request) is not { Handler: not null } row || !row.ArityFits(request.Count))
            return $"Unknown command '{Encoding.Latin1.GetString(request[0])}' reading the append only file";
        ulong hash = row.FirstKey > 0 && row.FirstKey < request.Count ? KeyHash.Of(request[row.FirstKey]) : 0;
        return Run(request, row, hash, ServerCore.UnixMilliseconds());
    }

    private bool Parse(ref ReadOnlySequence<byte> rest, out string? error)
    {
        _requests.Clear();
        _parser.Parse(rest, _requests, out SequencePosition consumed, out _);
        rest = rest.Slice(consumed);
        bool isGood = !_requests.HasError && _requests.Count > 0;
        error = isGood ? null : $"a unit is not made of commands: {_requests.Error}";
        return isGood;
    }

    private void Prefetch(ReplayBatch batch, int first)
    {
        for (int i = first; i < first + _requests.Count; i++)
            _server.Shards.Of(batch[i].Hash).Store.ExistingDatabase(batch.Database)?.PrefetchBucket(batch[i].Hash);
        for (int i = first; i < first + _requests.Count; i++)
            _server.Shards.Of(batch[i].Hash).Store.ExistingDatabase(batch.Database)?.PrefetchRecord(batch[i].Hash);
    }

    private string? Run(in Request request, CommandRow row, ulong hash, long now)
    {
        int errors = _session.Reply.Errors;
        long started = Stopwatch.GetTimestamp();
        Lane lane = _server.Lanes.Current;
        _server.Executor.RunPart(_session, row, request, hash, now, lane, onWorker: true, ref started);
        lane.ReadyKeys.Clear();
        _session.Reply.Commit();
        string? error = _session.Reply.Errors == errors ? null : $"'{row.Name}' answered {Encoding.UTF8.GetString(_replies.WrittenSpan).TrimEnd()}";
        _replies.ResetWrittenCount();
        return error;
    }
}
