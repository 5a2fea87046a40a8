using System.Diagnostics;
using Microsoft.Extensions.Logging;
using RedisClone.Protocol;
using RedisClone.Server.Admin;
using RedisClone.Server.Net;
using RedisClone.Server.Shards;

namespace RedisClone.Server.Commands;

/// <summary>How a run of a command ended.</summary>
internal enum Outcome
{
    /// <summary>The reply is written.</summary>
    Done,

    /// <summary>It had no effect and wants to be run again on a worker.</summary>
    Moved,

    /// <summary>It had no effect; the client waits for one of its keys.</summary>
    Blocked,

    /// <summary>It had no effect; it must hold more shards (those of a client that it will wake) before it has one.</summary>
    Widened,

    /// <summary>It had no effect; a snapshot must get on first, then it is run again.</summary>
    Deferred,
}

/// <summary>
/// Runs one command whose shards are held by the calling thread, and everything around it that every command has: the error
/// as its reply, the effect as its journal entry, its counters, and the blocked clients that it serves.
/// </summary>
internal sealed class Executor(ServerCore server)
{
    /// <summary>
    /// Runs a client's command. <paramref name="started"/> is the time of the end of the command before, and becomes the end of this one: one
    /// clock reading a command.
    /// </summary>
    public Outcome Run(
        Session session, CommandRow row, in Request request, ulong hash, long now, Lane lane, bool onWorker, in ShardSet held, ref long started)
    {
        if (server.Snapshots.Slot.Running is { } snapshot && snapshot.MustWait(session, row, request)) return Outcome.Deferred;
        if (server.Journal is { IsBehind: true } && (row.FlagsFor(request, session) & CommandFlags.Write) != 0) return Outcome.Deferred;
        if ((row.IsWrite || row.Route is not null) && server.Blocked.MustWiden(row, request, session, held)) return Outcome.Widened;
        bool journalled = server.Effects.Wanted;
        if (journalled && server.Journal is { NeverDurable: { } lost } && (row.FlagsFor(request, session) & CommandFlags.ReadOnly) != 0
            && IsAnyBehind(held, server.Journal.DurableLsn))
        {
            Reject(session, row, lost, lane);
            return Outcome.Done;
        }
        if (journalled) lane.Messages.Hold();
        long seen = session.SeenLsn;
        Outcome outcome = server.Config.MaxMemoryBytes > 0
            ? RunWithinMemory(session, row, request, hash, now, lane, onWorker, held, ref started)
            : RunAlone(session, row, request, hash, now, lane, onWorker, held, ref started);
        // Even a command that is refused, or is to run again, may have evicted keys or noticed that some had expired.
        if (journalled) PlaceEffects(session, lane, held);
        if (row.Has(CommandFlags.Blind)) session.SeenLsn = seen;
        if (lane.HasFollowUps) FollowUp(lane, held);
        return outcome;
    }

    /// <summary>Whether the last change of any of these shards is behind this position.</summary>
    private bool IsAnyBehind(in ShardSet held, long position)
    {
        for (int i = held.Next(0); i >= 0; i = held.Next(i + 1))
            if (server.Shards[i].Lsn > position) return true;
        return false;
    }

    /// <summary>
    /// Makes room first where memory is limited: before every command that may take more (of a script nobody knows), and before any once one has
    /// taken much.
    /// </summary>
    private Outcome RunWithinMemory(
        Session session, CommandRow row, in Request request, ulong hash, long now, Lane lane, bool onWorker, in ShardSet held, ref long started)
    {
        CommandFlags flags = row.FlagsFor(request, session);
        bool grows = (flags & CommandFlags.DenyOom) != 0;
        if (grows || (flags & CommandFlags.AllShards) != 0 || server.Eviction.IsDue)
        {
            bool holds = lane.Messages.IsHolding;
            session.LacksMemory = !server.Eviction.MakeRoom(held, lane, now);
            // What was evicted has been told.
            if (holds) lane.Messages.Hold();
            if (session.LacksMemory)
            {
                // The shards at hand have nothing to give: all together may have.
                if (!held.ContainsAll(server.Shards.All))
                {
                    session.WidenedShards = server.Shards.All;
                    return Outcome.Widened;
                }
                if (grows && !RefuseForMemory(session, row, lane)) return Outcome.Done;
            }
            // Whom the eviction deprived of a cached key must not take the news for news of what this command does to the key.
            if (session is { Tracking: not null, Connection: { PendingMessages: > 0 } connection }) connection.WriteMessages();
        }
        long before = server.Shards.BytesOf(held);
        Outcome outcome = RunAlone(session, row, request, hash, now, lane, onWorker, held, ref started);
        if (grows && server.Shards.BytesOf(held) - before >= Limits.NoticedGrowth) server.Eviction.Look();
        return outcome;
    }

    /// <summary>False when that is all; a transaction still has to end, and says why it ran nothing.</summary>
    private static bool RefuseForMemory(Session session, CommandRow row, Lane lane)
    {
        if (row.Handler == TransactionCommands.ExecHandler && session.Transaction is { } transaction)
        {
            transaction.Abort(Errors.OutOfMemory);
            return true;
        }
        Reject(session, row, Errors.OutOfMemory, lane);
        return false;
    }

    private Outcome RunAlone(
        Session session, CommandRow row, in Request request, ulong hash, long now, Lane lane, bool onWorker, in ShardSet held, ref long started)
    {
        Outcome outcome = RunPart(session, row, request, hash, now, lane, onWorker, held, ref started);
        if (outcome == Outcome.Done) session.LastCommand = row;
        return outcome;
    }

    /// <summary>Messages that tell of what begins here leave when its effects have their place.</summary>
    public void BeginUnit(Lane lane)
    {
        if (server.Effects.Wanted) lane.Messages.Hold();
    }

    /// <summary>Ends what happened in one shard by itself: its effects get their place, whom it concerns is told.</summary>
    public void EndOwnUnit(Shard shard, Lane lane)
    {
        PlaceOwnUnit(shard, lane);
        if (lane.HasFollowUps) FollowUp(lane, ShardSet.Of(shard.Index));
    }

    /// <summary>The same where those whom it concerns are about to be served and told anyway.</summary>
    public void PlaceOwnUnit(Shard shard, Lane lane)
    {
        // Whoever wanted them may have left meanwhile.
        if (lane.Effects.Commands > 0) shard.Lsn = Math.Max(shard.Lsn, server.Effects.Append(lane.Effects));
        lane.Messages.Release();
    }

    /// <summary>Serves and tells those whom the unit that just ended concerns besides its author; its shards are held and its effects placed.</summary>
    public void FollowUp(Lane lane, in ShardSet held)
    {
        server.Blocked.Serve(lane, held);
        server.Invalidations.Deliver(lane.Invalidations);
        lane.EndUnit();
    }

    /// <summary>
    /// Gives the effects of what was just run their place in the one order, while the shards are held; the session's replies have seen
    /// everything up to there, or up to the last change of any of these shards. Messages that tell of the effects leave now.
    /// </summary>
    public void PlaceEffects(Session session, Lane lane, in ShardSet held)
    {
        long placed = server.Effects.Append(lane.Effects);
        long seen = Math.Max(session.SeenLsn, placed);
        for (int i = held.Next(0); i >= 0; i = held.Next(i + 1))
        {
            Shard shard = server.Shards[i];
            if (placed > 0) shard.Lsn = placed;
            else seen = Math.Max(seen, shard.Lsn);
        }
        session.SeenLsn = seen;
        lane.Messages.Release();
    }

    /// <summary>Runs a command as part of a whole (a transaction, a script, serving a blocked client): its effects wait for the whole's end.</summary>
    public Outcome RunPart(
        Session session, CommandRow row, in Request request, ulong hash, long now, Lane lane, bool onWorker, in ShardSet held, ref long started)
    {
        if (row.IsWrite && !lane.Effects.HasRoomFor(request.WireLength))
        {
            Reject(session, row, Errors.TooManyEffects, lane);
            return Outcome.Done;
        }
        var context = new CommandContext(server, session, row, request, hash, now, lane, onWorker, held);
        ReplyMark mark = session.Reply.Mark();
        HotKeySession? watching = session.Connection is null ? null : server.HotKeys.Active;
        long replied = watching is null ? 0 : session.Reply.BytesWritten;
        try
        {
            row.Handler!(ref context);
            if (context.Moved) return Outcome.Moved;
            lane.KeyspaceHits += context.Hits;
            lane.KeyspaceMisses += context.Misses;
            if (context.Blocked) return Outcome.Blocked;
            if (context.Failure is not null) session.Reply.Error(context.Failure);
        }
        catch (Exception bug)
        {
            // A bug must not spread: what was applied is what is journalled, the client gets an error instead of half a reply.
            lane.UnexpectedErrors++;
            lane.Effects.DropUnfinished();
            server.Log.LogError(bug, "Command {Command} of client {Client} failed unexpectedly", row.FullName, session.Id);
            ReplyInternalError(session, mark);
        }
        if (session.Tracking is { } tracking) server.Invalidations.AfterCommand(tracking, session, row, request, hash, lane);
        if (context.Changes > 0)
        {
            lane.Changes += context.Changes;
            if (server.Effects.Wanted && !context.EffectReplaced) lane.Effects.AddCommand(session.Database, request);
        }

        long ended = Stopwatch.GetTimestamp();
        long ticks = ended - started;
        started = ended;
        Count(session, row, ticks, lane);
        // A script's commands have a session without a connection: the script itself is what was slow.
        if (ticks >= server.SlowLog.Threshold && session.Connection is not null) server.SlowLog.Add(session, row, request, ticks);
        if (ticks >= server.Latency.Threshold && session.Connection is not null)
            server.Latency.Note(row.Has(CommandFlags.Fast) ? LatencyEvents.FastCommand : LatencyEvents.Command, ticks);
        watching?.Note(row, request, ticks, session.Reply.BytesWritten - replied);
        return Outcome.Done;
    }

    /// <summary>Nothing may escape: shards are held. Where even an error cannot be answered, the connection is of no use.</summary>
    private static void ReplyInternalError(Session session, ReplyMark mark)
    {
        try
        {
            session.Reply.Rollback(mark);
            session.Reply.Error(Errors.Internal);
        }
        catch (Exception)
        {
            session.Connection?.Kill();
        }
    }

    /// <summary>Answers a command that is not run.</summary>
    public static void Reject(Session session, CommandRow? row, string refusal, Lane lane)
    {
        session.Reply.Error(refusal);
        CountRefusal(session, lane);
        if (row is not null) lane.Calls[row.Id].Rejected++;
    }

    /// <summary>Counts an error just written that no command's run will count.</summary>
    public static void CountRefusal(Session session, Lane lane)
    {
        session.ErrorsCounted = session.Reply.Errors;
        lane.CountError(session.Reply.LastErrorCode);
    }

    /// <summary>Counts a command that is answered.</summary>
    public void Count(Session session, CommandRow row, long ticks, Lane lane)
    {
        ref CommandCounters counters = ref lane.Calls[row.Id];
        counters.Calls++;
        counters.Ticks += ticks;
        if (server.Config.LatencyTracking) lane.CountLatency(row.Id, ticks);
        int errors = session.Reply.Errors;
        if (errors == session.ErrorsCounted) return;
        // The errors of a transaction's parts were counted as theirs.
        session.ErrorsCounted = errors;
        counters.Failed++;
        lane.CountError(session.Reply.LastErrorCode);
    }
}
