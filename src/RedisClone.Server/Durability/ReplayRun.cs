using System.Buffers;
using System.Text;
using Microsoft.Extensions.Logging;
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
    private const int RepliesKept = 16 * 1024;

    private readonly ServerCore _server;
    private readonly Session _session;
    private readonly RequestParser _parser = new(new RequestLimits { MaxBulkLength = int.MaxValue });
    private readonly RequestBatch _requests = new();
    private readonly ArrayBufferWriter<byte> _replies = new(2 * RepliesKept);
    private long _forgotten;
    private int _errors;

    public ReplayRun(ServerCore server)
    {
        _server = server;
        _session = new Session(server, 0, new ReplyWriter(_replies)) { Authenticated = true, InTransaction = true, IsReplay = true };
    }

    /// <summary>Null, or why it cannot go on.</summary>
    public string? Run(ReplayBatch batch)
    {
        _session.Database = batch.Database;
        Lane lane = _server.Lanes.Current;
        var rest = new ReadOnlySequence<byte>(batch.Bytes);
        for (int done = 0; done < batch.Count; done += _requests.Count)
        {
            if (!Parse(ref rest, out string? error)) return error;
            Prefetch(batch, done);
            long now = ServerCore.UnixMilliseconds();
            for (int i = 0; i < _requests.Count; i++)
                if (Run(_requests[i], batch[done + i].Row, batch[done + i].Hash, now, lane) is { } failure) return failure;
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
        return Run(request, row, hash, ServerCore.UnixMilliseconds(), _server.Lanes.Current);
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

    /// <summary>Nothing is counted or told, and what it does is no new effect.</summary>
    private string? Run(in Request request, CommandRow row, ulong hash, long now, Lane lane)
    {
        int before = (int)(_session.Reply.BytesWritten - _forgotten);
        var context = new CommandContext(_server, _session, row, request, hash, now, lane, onWorker: true);
        lane.Effects.IsMuted = true;
        try
        {
            row.Handler!(ref context);
        }
        catch (Exception bug)
        {
            _server.Log.LogError(bug, "Command {Command} failed unexpectedly while it was replayed", row.FullName);
            return $"'{row.Name}' failed: {bug.Message}";
        }
        finally
        {
            lane.Effects.IsMuted = false;
        }
        if (lane.HasFollowUps)
        {
            lane.ReadyKeys.Clear();
            lane.EndUnit();
        }
        if (context.Failure is not null) _session.Reply.Error(context.Failure);
        bool failed = _session.Reply.Errors != _errors;
        if (!failed && before < RepliesKept) return null;
        _session.Reply.Commit();
        string? error = failed ? $"'{row.Name}' answered {Encoding.UTF8.GetString(_replies.WrittenSpan[before..]).TrimEnd()}" : null;
        _replies.ResetWrittenCount();
        (_forgotten, _errors) = (_session.Reply.BytesWritten, _session.Reply.Errors);
        return error;
    }
}
