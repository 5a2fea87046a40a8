using System.Diagnostics;
using Microsoft.Extensions.Logging;
using RedisClone.Protocol;
using RedisClone.Server.Admin;
using RedisClone.Server.Durability;
using RedisClone.Server.Failures;
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
    public Outcome Run(ref CommandContext c, ref long started)
    {
        Outcome outcome = Outcome.Done;
        try
        {
            if (server.Snapshots.Slot.Running is { } snapshot && snapshot.MustWait(ref c)) return Outcome.Deferred;
            // The journal may be turned off while the command runs, by a thread that holds no shard.
            JournalKeeper? journal = server.Journal;
            if (journal is { IsBehind: true } && (c.Flags & CommandFlags.Write) != 0) return Outcome.Deferred;
            if ((c.Row.IsWrite || c.Row.Route is not null) && server.Blocked.MustWiden(ref c)) return Outcome.Widened;
            bool journalled = server.Effects.Wanted;
            if (journalled && journal is { NeverDurable: { } lost } && (c.Flags & CommandFlags.ReadOnly) != 0 && IsAnyBehind(c.Held, journal.DurableLsn))
            {
                Reject(c.Session, c.Row, lost, c.Lane);
                return Outcome.Done;
            }
            if (journalled) c.Lane.Messages.Hold();
            long seen = c.Session.SeenLsn;
            outcome = server.Config.MaxMemoryBytes > 0 ? RunWithinMemory(ref c, ref started) : RunAlone(ref c, ref started);
            // Even a command that is refused, or is to run again, may have evicted keys or noticed that some had expired.
            if (journalled) PlaceEffects(c.Session, c.Lane, c.Held);
            if (c.Row.Has(CommandFlags.Blind)) c.Session.SeenLsn = seen;
            if (c.Lane.HasFollowUps) FollowUp(c.Lane, c.Held);
            return outcome;
        }
        catch (Exception failure)
        {
            server.Failures.RunFailed(ref c, failure);
            EndTransaction(ref c);
            if (!c.IsAnswered && outcome == Outcome.Done) ReplyFailure(c.Session, c.Reply.Mark(), failure);
            return outcome;
        }
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
    private Outcome RunWithinMemory(ref CommandContext c, ref long started)
    {
        CommandFlags flags = c.Flags;
        bool grows = (flags & CommandFlags.DenyOom) != 0;
        if (grows || (flags & CommandFlags.AllShards) != 0 || server.Eviction.IsDue)
        {
            Session session = c.Session;
            Lane lane = c.Lane;
            bool holds = lane.Messages.IsHolding;
            session.LacksMemory = !server.Eviction.MakeRoom(c.Held, lane, c.Now);
            // What was evicted has been told.
            if (holds) lane.Messages.Hold();
            if (session.LacksMemory)
            {
                // The shards at hand have nothing to give: all together may have.
                if (!c.Held.ContainsAll(server.Shards.All))
                {
                    session.WidenedShards = server.Shards.All;
                    return Outcome.Widened;
                }
                if (grows && !RefuseForMemory(session, c.Row, lane)) return Outcome.Done;
            }
            // Whom the eviction deprived of a cached key must not take the news for news of what this command does to the key.
            if (session is { Tracking: not null, Connection: { PendingMessages: > 0 } connection }) connection.WriteMessages();
        }
        long before = server.Shards.BytesOf(c.Held);
        Outcome outcome = RunAlone(ref c, ref started);
        if (grows && server.Shards.BytesOf(c.Held) - before >= Limits.NoticedGrowth) server.Eviction.Look();
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

    private Outcome RunAlone(ref CommandContext c, ref long started)
    {
        Outcome outcome = RunPart(ref c, ref started);
        if (outcome == Outcome.Done) c.Session.LastCommand = c.Row;
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
    public Outcome RunPart(ref CommandContext c, ref long started)
    {
        Session session = c.Session;
        CommandRow row = c.Row;
        Lane lane = c.Lane;
        if (row.IsWrite && !lane.Effects.HasRoomFor(c.Args.WireLength))
        {
            Reject(session, row, Errors.TooManyEffects, lane);
            return Outcome.Done;
        }
        if (row.Has(CommandFlags.DenyOom | CommandFlags.Grows) && RefuseGrowth(ref c) is { } refusal)
        {
            Reject(session, row, refusal, lane);
            return Outcome.Done;
        }
        ReplyMark mark = c.Reply.Mark();
        int effectsBefore = lane.Effects.Commands;
        long changesBefore = server.Failures.ChangesOf(ref c);
        HotKeySession? watching = session.Connection is null ? null : server.HotKeys.Active;
        long replied = watching is null ? 0 : c.Reply.BytesWritten;
        try
        {
            if (row.IsWrite) c.Reply.EnsureRoom(Limits.ShortReply);
            row.Handler!(ref c);
            if (c.Moved || c.Blocked) CheckUnchanged(ref c);
            session.MissesTold = c.Moved ? c.Misses : 0;
            if (c.Moved) return Outcome.Moved;
            lane.KeyspaceHits += c.Hits;
            lane.KeyspaceMisses += c.Misses;
            if (c.Blocked) return Outcome.Blocked;
            if (c.Failure is not null) c.Reply.Error(c.Failure);
            if (c.Changes > 0 && !c.EffectReplaced && server.Effects.Wanted)
                lane.Effects.AddCommand(session.Database, server.Commands.EffectName(row, c.Args), c.Args);
        }
        catch (Exception failure)
        {
            server.Failures.HandlerFailed(ref c, failure, effectsBefore, changesBefore);
            EndTransaction(ref c);
            ReplyFailure(session, mark, failure);
        }
        c.IsAnswered = true;
        lane.Changes += c.Changes;
        if (session.Tracking is { } tracking) server.Invalidations.AfterCommand(tracking, ref c);

        long ended = Stopwatch.GetTimestamp();
        long ticks = ended - started;
        started = ended;
        Count(session, row, ticks, lane);
        // A script's commands have a session without a connection: the script itself is what was slow.
        if (ticks >= server.SlowLog.Threshold && session.Connection is not null) server.SlowLog.Add(session, row, c.Args, ticks);
        if (ticks >= server.Latency.Threshold && session.Connection is not null)
            server.Latency.Note(row.Has(CommandFlags.Fast) ? LatencyEvents.FastCommand : LatencyEvents.Command, ticks);
        watching?.Note(row, c.Args, ticks, c.Reply.BytesWritten - replied);
        return Outcome.Done;
    }

    /// <summary>An EXEC that failed has ended its transaction, as one that was refused.</summary>
    private static void EndTransaction(ref CommandContext c)
    {
        if (c.Row.Handler == TransactionCommands.ExecHandler) c.Session.EndTransaction();
    }

    /// <summary>Why a command that may take memory is not run; null if it is.</summary>
    private string? RefuseGrowth(ref CommandContext c)
    {
        if (server.Failures.IsShortOfMemory) return Errors.AllocationFailed;
        if (c.Row.Has(CommandFlags.Grows)) return server.ClientMemory.IsHeldMuch ? Errors.AllocationFailed : null;
        if (server.Shards.Budget.IsShortFor(c.Args.WireLength)) return Errors.AllocationFailed;
        return server.Shards.IsAnyNearlyFull && IsNearlyFull(ref c) ? Errors.ShardFull : null;
    }

    /// <summary>Whether a shard that the command may write to has little room left.</summary>
    private bool IsNearlyFull(ref CommandContext c)
    {
        if (c.Row.HasSingleKey) return server.Shards.Of(c.HashOf(c.Row.FirstKey)).Store.Arena.IsNearlyFull;
        for (int i = c.Held.Next(0); i >= 0; i = c.Held.Next(i + 1))
            if (server.Shards[i].Store.Arena.IsNearlyFull) return true;
        return false;
    }

    /// <summary>
    /// A command that runs again must not have changed anything: it would change it twice. One that waits may have, if it gave the effect itself: XREADGROUP
    /// creates its consumer first.
    /// </summary>
    private static void CheckUnchanged(ref CommandContext c)
    {
        if (c.Moved ? c.Changes > 0 || c.EffectReplaced : c.Changes > 0 && !c.EffectReplaced) throw new InvalidOperationException("A command asked to run again after its first effect.");
    }

    /// <summary>Answers an error instead of half a reply. Where even that is impossible, the connection ends.</summary>
    private static void ReplyFailure(Session session, ReplyMark mark, Exception failure)
    {
        try
        {
            if (session.Reply.Rollback(mark)) session.Reply.Error(FailurePolicy.ErrorOf(failure));
            else session.Connection?.Kill();
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
