using System.Buffers;
using System.Diagnostics;
using System.Text;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Execution;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;

namespace RedisClone.Engine.Replication.Following;

/// <summary>
/// Runs units of the stream of a primary with the handlers that serve clients, while every shard is held. The effects go to the
/// journal of this server. Replies are discarded, except for errors.
/// </summary>
internal sealed class StreamRun
{
    private const int RepliesKept = 16 * 1024;

    private readonly ServerCore _server;
    private readonly ArrayBufferWriter<byte> _replies = new(2 * RepliesKept);
    private readonly NoticeLimit _notices = new();
    private long _forgotten;
    private int _errors;

    public StreamRun(ServerCore server, IPrimaryConnection connection, Action kill)
    {
        _server = server;
        Client = new PrimaryClient(server, new ReplyWriter(_replies), connection, kill);
    }

    /// <summary>The primary as a client of this server.</summary>
    public PrimaryClient Client { get; }

    /// <summary>Whether every error ends the stream. Otherwise an error is logged, unless its reason is a lack of memory.</summary>
    public bool IsStrict { get; init; }

    /// <summary>The reason why the stream cannot be applied further; null if there is none.</summary>
    public string? Failure { get; private set; }

    /// <summary>Whether a transaction of the stream was applied in part.</summary>
    public bool LeftPart { get; private set; }

    /// <summary>
    /// Runs units until the end of the batch, until one must wait for the disk, or until a failure. Returns the number of the
    /// next unit. The caller holds every shard.
    /// </summary>
    public int Run(StreamBatch batch, int from)
    {
        Lane lane = _server.Lanes.Current;
        long now = ServerCore.UnixMilliseconds(), started = Stopwatch.GetTimestamp();
        Client.Session.LastInteraction = now;
        bool fetchesMembers = Prefetch(batch);
        for (int unit = from; unit < batch.Units; unit++)
        {
            StreamBatch.Unit current = batch[unit];
            if (current.Count > 0 && MustWait(batch, current, lane, now)) return unit;
            Run(batch, current, lane, now, fetchesMembers, ref started);
            if (Failure is not null) return unit;
        }
        return batch.Units;
    }

    private bool Prefetch(StreamBatch batch)
    {
        if (batch.Requests.Count == 0) return false;
        int database = batch.DatabaseOf(0);
        for (int i = 0; i < batch.Requests.Count; i++) FetchAhead.Bucket(_server.Shards, database, batch.Prepared[i].Hash);
        return FetchAhead.Records(_server.Shards, database, batch.Requests, batch.Prepared);
    }

    /// <summary>Whether a snapshot or the journal must advance before the unit.</summary>
    private bool MustWait(StreamBatch batch, in StreamBatch.Unit unit, Lane lane, long now)
    {
        if (_server.IsDiskBehind) return true;
        if (_server.Snapshots.Slot.Running is not { } snapshot) return false;
        for (int i = unit.First; i < unit.First + unit.Count; i++)
        {
            Client.Session.Database = batch.DatabaseOf(i);
            ref readonly Prepared prepared = ref batch.Prepared[i];
            var context = new CommandContext(
                Client.Session, prepared.Row!, batch.Requests[i], prepared.Hash, lane, _server.Shards.All, now, cannotMove: true);
            if (snapshot.MustWait(ref context)) return true;
        }
        return false;
    }

    private void Run(StreamBatch batch, in StreamBatch.Unit unit, Lane lane, long now, bool fetchesMembers, ref long started)
    {
        Session session = Client.Session;
        // Usually one shard changes. Clients that wait may need further shards.
        bool isSmall = unit.Count == 1 && batch.Prepared[unit.First].Row!.HasSingleKey && _server.Blocked.Count == 0;
        ShardSet held = isSmall ? ShardSet.Of(_server.Shards.IndexOf(batch.Prepared[unit.First].Hash)) : _server.Shards.All;
        lane.BeginUnit();
        LeftPart = unit.Count > 1;
        try
        {
            for (int i = unit.First; i < unit.First + unit.Count && Failure is null; i++)
            {
                if (fetchesMembers) FetchAhead.Members(_server.Shards, batch.Requests, batch.Prepared, i);
                session.Database = batch.DatabaseOf(i);
                Request request = batch.Requests[i];
                CommandRow row = batch.Prepared[i].Row!;
                lane.CommandsProcessed++;
                session.CommandsProcessed++;
                session.LastCommand = row;
                if (_server.Monitors.Any) _server.Monitors.Show(session, session.PeerName, row, request);
                var context = new CommandContext(session, row, request, batch.Prepared[i].Hash, lane, held, now, cannotMove: true);
                _server.Executor.RunPart(ref context, ref started);
                Check(row);
            }
            LeftPart = Failure is not null && unit.Count > 1;
        }
        finally
        {
            lane.Effects.DropUnfinished();
            _server.Executor.PlaceEffects(session, lane, held);
            if (lane.HasFollowUps) _server.Executor.FollowUp(lane, held);
        }
        session.NetInput += unit.Bytes;
        lane.NetInput += unit.Bytes;
    }

    /// <summary>
    /// Discards the reply. An error means that the data differs from the primary's, which did not get this error. As in Redis, it
    /// is logged and the replica continues, unless the reason is a lack of memory here: then it copies all data again.
    /// </summary>
    private void Check(CommandRow row)
    {
        ReplyWriter reply = Client.Session.Reply;
        bool failed = reply.Errors != _errors;
        if (!failed && reply.BytesWritten - _forgotten < RepliesKept) return;
        reply.Commit();
        if (failed)
        {
            string? line = Encoding.UTF8.GetString(_replies.WrittenSpan).Split("\r\n").LastOrDefault(static line => line.StartsWith('-'));
            string error = line is null ? Encoding.UTF8.GetString(reply.LastErrorCode) : line[1..];
            bool isFatal = IsStrict || error is Errors.AllocationFailed or Errors.Internal or Errors.ShardFull or Errors.TooManyEffects;
            if (isFatal) Failure = $"'{row.FullName}' failed: {error}";
            else if (_notices.TryPass(Environment.TickCount64, out long leftOut))
                _server.Log.LogWarning(
                    "== CRITICAL == This replica is sending an error to its master: '{Error}' after processing the command '{Command}' " +
                    "({Count} more were not logged)", error, row.FullName, leftOut);
        }
        _replies.ResetWrittenCount();
        (_forgotten, _errors) = (reply.BytesWritten, reply.Errors);
    }
}
