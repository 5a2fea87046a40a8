using System.Diagnostics;
using RedisClone.Engine.Caching;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Commands.Transactions;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Execution;

/// <summary>The result of one run of a command.</summary>
internal enum Outcome
{
    /// <summary>The reply is written.</summary>
    Done,

    /// <summary>The command had no effect and must run again on a worker.</summary>
    Moved,

    /// <summary>The command had no effect; the client waits for one of its keys.</summary>
    Blocked,

    /// <summary>
    /// The command had no effect; it must hold more shards first, for example those of a client that it will wake.
    /// </summary>
    Widened,

    /// <summary>The command had no effect; a snapshot, the journal or the transfer of a key must advance first, then the command runs again.</summary>
    Deferred,
}

/// <summary>
/// Runs one command whose shards the calling thread holds, with the work that all commands share: the error as reply, the effect
/// for the journal, the counters, and the blocked clients to serve.
/// </summary>
internal sealed class Executor(ServerCore server)
{
    /// <summary>
    /// Runs a client's command. <paramref name="started"/> is the end time of the previous command and becomes the end time of
    /// this one, so that each command reads the clock once. <paramref name="widened"/> is set if the outcome is
    /// <see cref="Outcome.Widened"/>: the shards that the command must hold.
    /// </summary>
    public Outcome Run(ref CommandContext c, ref long started, ref ShardSet widened)
    {
        Outcome outcome = Outcome.Done;
        try
        {
            // A pause may have begun since the command was admitted.
            if (server.Pause.IsOn && server.Pause.HoldsBack(c.Session, c.Flags)) return Outcome.Deferred;
            if (server.Snapshots.Slot.Running is { } snapshot && snapshot.MustWait(ref c)) return Outcome.Deferred;
            if (server.MigrationLinks.Running > 0 && server.MigrationLinks.MustWait(ref c)) return Outcome.Deferred;
            if (server.Cluster is { } cluster && !cluster.Serves(in c) && TryRedirect(ref c, cluster) is { } redirected) return redirected;
            // The server may have become a replica after the command was admitted.
            if (server.Role.IsReadOnly && (c.Flags & CommandFlags.Write) != 0 && !RefuseInPlace(c.Session, c.Row, Errors.ReadOnlyReplica, c.Lane))
                return Outcome.Done;
            // The field is read once: a thread without a hold may turn the journal off while the command runs.
            JournalKeeper? journal = server.Journal;
            if ((c.Flags & CommandFlags.Write) != 0 && server.IsDiskBehind) return Outcome.Deferred;
            if ((c.Row.IsWrite || c.Row.Route is not null) && server.Blocked.MustWiden(ref c, out ShardSet needed))
            {
                widened = needed;
                return Outcome.Widened;
            }
            bool journalled = server.Effects.Wanted;
            const CommandFlags reads = CommandFlags.ReadOnly | CommandFlags.RunsScript;
            if (journalled && journal is { NeverDurable: { } lost } && (c.Flags & reads) != 0 && IsAnyBehind(c.Held, journal.DurableLsn))
            {
                EndTransaction(ref c);
                Reject(c.Session, c.Row, lost, c.Lane);
                return Outcome.Done;
            }
            c.Lane.BeginUnit();
            long seen = c.Session.SeenLsn;
            outcome = server.Eviction.IsOn && !server.Pause.IsOn ? RunWithinMemory(ref c, ref started, ref widened) : RunAlone(ref c, ref started, ref widened);
            if (c.Lane.IsAbandoned) DropUnit(ref c);
            // Even a command that is refused, or that will run again, may have evicted or expired keys.
            EndUnit(c.Session, c.Lane, c.Held, journalled);
            if (c.Row.Has(CommandFlags.Blind)) c.Session.SeenLsn = seen;
            if (c.Lane.HasFollowUps) FollowUp(c.Lane, c.Held);
            // After CONFIG SET maxmemory, the client expects the first evictions in its next command. The rest goes on in the background.
            if (server.Eviction.IsDue && c.Row.Has(CommandFlags.Admin) && c.Held.IsEmpty && !server.Pause.IsOn) server.Eviction.RunOverall(c.Now);
            return outcome;
        }
        catch (Exception failure)
        {
            server.Failures.RunFailed(ref c, failure);
            EndTransaction(ref c);
            if (!c.IsAnswered && outcome == Outcome.Done) ReplyFailure(c.Session, c.Reply.Mark(), failure);
            if (c.Lane.IsAbandoned) DropUnit(ref c);
            return outcome;
        }
    }

    /// <summary>
    /// Drops the unit of a script that the shutdown has abandoned. The replies of a transaction would confirm what is dropped, so its client
    /// gets none.
    /// </summary>
    private static void DropUnit(ref CommandContext c)
    {
        Lane lane = c.Lane;
        lane.IsAbandoned = false;
        lane.Effects.Clear();
        lane.ForgetReady();
        lane.EndUnit();
        if (c.Row.Handler == TransactionCommands.ExecHandler) c.Session.Connection?.Kill();
    }

    /// <summary>In a cluster, answers a command on keys that another node serves. Returns null if the command runs here now.</summary>
    private static Outcome? TryRedirect(ref CommandContext c, ClusterMember cluster)
    {
        if (cluster.Redirection.Refuse(ref c) is not { } redirection) return null;
        // The reply to a redirected EXEC is the redirection.
        EndTransaction(ref c);
        Reject(c.Session, c.Row, redirection, c.Lane);
        return Outcome.Done;
    }

    /// <summary>Whether the last change of any of these shards has a higher LSN than this.</summary>
    private bool IsAnyBehind(in ShardSet held, long position)
    {
        for (int i = held.Next(0); i >= 0; i = held.Next(i + 1))
            if (server.Shards[i].Lsn > position) return true;
        return false;
    }

    /// <summary>
    /// Makes room before the command if maxmemory is set: before a command that may use more memory, before a script, whose
    /// commands are unknown, and before a command that holds all shards.
    /// </summary>
    private Outcome RunWithinMemory(ref CommandContext c, ref long started, ref ShardSet widened)
    {
        CommandFlags flags = c.Flags;
        bool grows = (flags & CommandFlags.DenyOom) != 0;
        if (grows && !server.Eviction.HasRoom(c.Held) || (flags & (CommandFlags.AllShards | CommandFlags.RunsScript)) != 0)
        {
            Session session = c.Session;
            Lane lane = c.Lane;
            c.LacksMemory = !server.Eviction.MakeRoom(c.Held, lane, c.Now);
            // The eviction has released its messages. The messages of the command itself are held again.
            lane.BeginUnit();
            if (c.LacksMemory)
            {
                // The held shards have nothing left to evict, but other shards may have.
                if (!c.Held.ContainsAll(server.Shards.All))
                {
                    widened = server.Shards.All;
                    return Outcome.Widened;
                }
                if (grows && !RefuseInPlace(session, c.Row, Errors.OutOfMemory, lane)) return Outcome.Done;
            }
            // Writes the invalidations of evicted keys now, so that the client does not attribute them to this command.
            if (session is { Tracking: not null, Connection: { PendingMessages: > 0 } connection }) connection.WriteMessages();
        }
        Outcome outcome = RunAlone(ref c, ref started, ref widened);
        if (grows) server.Eviction.NoteGrowth(c.Held);
        return outcome;
    }

    /// <summary>
    /// Returns false if the command is finished. A refused EXEC continues, because it must end its transaction; its reply states
    /// the reason.
    /// </summary>
    private static bool RefuseInPlace(Session session, CommandRow row, string refusal, Lane lane)
    {
        if (row.Handler == TransactionCommands.ExecHandler && session.Transaction is { } transaction)
        {
            transaction.Abort(refusal, mayMove: false);
            return true;
        }
        Reject(session, row, refusal, lane);
        return false;
    }

    private Outcome RunAlone(ref CommandContext c, ref long started, ref ShardSet widened)
    {
        byte[]? shown = server.Monitors.Any ? Show(ref c) : null;
        Outcome outcome = RunPart(ref c, ref started);
        if (outcome == Outcome.Widened) widened = server.Shards.All;
        if (shown is not null && outcome is Outcome.Moved or Outcome.Widened)
        {
            // Other commands may run before it.
            c.Lane.Messages.Withdraw(shown);
            c.Session.IsShown = false;
        }
        if (outcome == Outcome.Done) c.Session.LastCommand = c.Row;
        return outcome;
    }

    /// <summary>
    /// Shows a client's command to MONITOR clients once, also if it waits and runs again. EXEC is shown after the commands of its transaction.
    /// </summary>
    private byte[]? Show(ref CommandContext c)
    {
        Session session = c.Session;
        if (session.IsShown || c.Row.Handler == TransactionCommands.ExecHandler) return null;
        session.IsShown = true;
        return server.Monitors.Show(session, session.PeerName, c.Row, c.Args);
    }

    /// <summary>
    /// Ends a unit that changed one shard: places its effects, sends its messages and serves blocked clients.
    /// </summary>
    public void EndOwnUnit(Shard shard, Lane lane)
    {
        PlaceOwnUnit(shard, lane);
        if (lane.HasFollowUps) FollowUp(lane, ShardSet.Of(shard.Index));
    }

    /// <summary>Places the effects of such a unit and sends its messages. The caller serves clients later.</summary>
    public void PlaceOwnUnit(Shard shard, Lane lane)
    {
        // The last consumer of effects may have gone meanwhile.
        if (lane.Effects.Commands > 0) shard.Lsn = Math.Max(shard.Lsn, server.Effects.Append(lane.Effects));
        Release(lane, shard.Lsn);
    }

    /// <summary>
    /// Serves blocked clients after a unit. Its shards are held and its effects are placed.
    /// </summary>
    public void FollowUp(Lane lane, in ShardSet held)
    {
        server.Blocked.Serve(lane, held);
        lane.EndUnit();
    }

    /// <summary>Sends the messages of a unit, those to clients in broadcast mode last, as in Redis.</summary>
    private void Release(Lane lane, long lsn)
    {
        if (lane.HasFollowUps) server.Invalidations.Broadcast(lane.Invalidations);
        lane.Messages.Release(lsn);
    }

    /// <summary>Ends a unit of a session. Without effects, only its messages leave.</summary>
    public void EndUnit(Session session, Lane lane, in ShardSet held, bool journalled)
    {
        if (journalled) PlaceEffects(session, lane, held);
        else Release(lane, HeldMessages.Unknown);
    }

    /// <summary>
    /// Gives the effects of the last unit their LSN while its shards are held, and releases the messages about them. The session
    /// has seen the effects up to that LSN, or up to the last change of any of these shards.
    /// </summary>
    public void PlaceEffects(Session session, Lane lane, in ShardSet held)
    {
        long placed = server.Effects.Append(lane.Effects);
        if (placed > 0) session.WroteLsn = placed;
        long seen = Math.Max(session.SeenLsn, placed);
        int only = held.Only;
        if (only >= 0) Place(server.Shards[only], placed, ref seen);
        else
            for (int i = held.Next(0); i >= 0; i = held.Next(i + 1)) Place(server.Shards[i], placed, ref seen);
        session.SeenLsn = seen;
        Release(lane, seen);
    }

    private static void Place(Shard shard, long placed, ref long seen)
    {
        if (placed > 0) shard.Lsn = placed;
        else seen = Math.Max(seen, shard.Lsn);
    }

    /// <summary>
    /// Runs a command as part of a unit: a transaction, a script, or the service of a blocked client. The effects are placed at
    /// the end of the unit.
    /// </summary>
    public Outcome RunPart(ref CommandContext c, ref long started)
    {
        Session session = c.Session;
        CommandRow row = c.Row;
        Lane lane = c.Lane;
        if (row.IsWrite && !lane.Effects.HasRoomFor(c.Args))
        {
            Reject(session, row, Errors.TooManyEffects, lane);
            return Outcome.Done;
        }
        if (row.Has(CommandFlags.DenyOom | CommandFlags.Grows | CommandFlags.NeedsRoom) && RefuseGrowth(ref c) is { } refusal)
        {
            Reject(session, row, refusal, lane);
            return Outcome.Done;
        }
        if (row.IsWrite && !TryReserve(ref c))
        {
            Reject(session, row, Errors.AllocationFailed, lane);
            return Outcome.Done;
        }
        ReplyMark mark = c.Reply.Mark();
        int errorsBefore = c.Reply.Errors;
        EffectMark effectsBefore = lane.Effects.Mark();
        long changesBefore = server.Failures.ChangesOf(ref c);
        HotKeySession? watching = session.Connection is null ? null : server.HotKeys.Active;
        SlotUse? use = session.Connection is null ? null : server.Cluster?.Use;
        long replied = watching is null && use is null ? 0 : c.Reply.BytesWritten;
        try
        {
            row.Handler!(ref c);
            if (c.Moved || c.Blocked || c.Widens) CheckUnchanged(ref c);
            if (c.Moved) return Outcome.Moved;
            if (c.Widens) return Outcome.Widened;
            lane.KeyspaceHits += c.Hits;
            lane.KeyspaceMisses += c.Misses;
            if (c.Blocked) return Outcome.Blocked;
            if (c.Failure is not null) c.Reply.Error(c.Failure);
            if (c.Changes > 0 && !c.EffectReplaced && server.Effects.Wanted)
            {
                // A command that replies with an error may change something else in a replay. What it has changed is written instead.
                if (c.Failure is not null && row.Keys.Length > 0) server.Failures.WriteImages(ref c, isUnchanged: false);
                else lane.Effects.AddCommand(session.Database, server.Commands.EffectName(row, c.Args), c.Args);
            }
        }
        catch (Exception failure)
        {
            server.Failures.HandlerFailed(ref c, failure, effectsBefore, changesBefore);
            EndTransaction(ref c);
            ReplyFailure(session, mark, failure);
            c.CountedErrors = 0;
        }
        c.IsAnswered = true;
        lane.Changes += c.Changes;
        Note(ref c, ref started, c.Reply.Errors - errorsBefore - c.CountedErrors, replied, watching, use);
        return Outcome.Done;
    }

    /// <summary>
    /// Tracks what the client has read, and counts the command. The command has had its effect, so a lack of memory here must not end
    /// the transaction or the script around it.
    /// </summary>
    private void Note(ref CommandContext c, ref long started, int errors, long replied, HotKeySession? watching, SlotUse? use)
    {
        (Session session, CommandRow row, Lane lane) = (c.Session, c.Row, c.Lane);
        try
        {
            if (session.Tracking is { } tracking) server.Invalidations.AfterCommand(tracking, ref c);
        }
        catch (OutOfMemoryException failure)
        {
            // The client would not learn that the keys change, so it must not keep what it has read.
            server.Failures.Refused(ref c, failure);
            session.Tracking?.Client.Connection?.Kill();
        }
        long ended = Stopwatch.GetTimestamp();
        long ticks = ended - started;
        started = ended;
        try
        {
            if (c.Changes > 0 && server.Role.IsReplica && !session.IsPrimary) server.Role.LocalExpiries.Note(ref c);
            Count(c.Reply, row, ticks, lane, errors, c.FailsWithPart);
            // The commands of a script have a session without a connection. The slow log records the script itself.
            if (ticks >= server.SlowLog.Threshold && session.Connection is not null) server.SlowLog.Add(session, row, c.Args, ticks);
            if (ticks >= server.Latency.Threshold && session.Connection is not null)
            {
                server.Latency.Note(row.Has(CommandFlags.Fast) ? LatencyEvents.FastCommand : LatencyEvents.Command, ticks);
                if (row.Has(CommandFlags.RunsScript) && c.HoldsAllShards) server.Latency.Note(LatencyEvents.ScriptOnAllShards, ticks);
            }
            watching?.Note(row, c.Args, ticks, c.Reply.BytesWritten - replied);
            use?.Note(c, ticks, c.Reply.BytesWritten - replied);
        }
        catch (OutOfMemoryException failure)
        {
            server.Failures.Refused(ref c, failure);
        }
    }

    /// <summary>
    /// Allocates what a command that writes needs after its first change: room for the effect and for a short reply. Without it,
    /// the command is refused, and nothing has changed.
    /// </summary>
    private bool TryReserve(ref CommandContext c)
    {
        try
        {
            c.Reply.EnsureRoom(Limits.ShortReply);
            if (server.Effects.Wanted) c.Lane.Effects.Reserve(c.Args);
            return true;
        }
        catch (OutOfMemoryException failure)
        {
            server.Failures.Refused(ref c, failure);
            return false;
        }
    }

    /// <summary>Ends the transaction of an EXEC that failed, as for one that was refused.</summary>
    private static void EndTransaction(ref CommandContext c)
    {
        if (c.Row.Handler == TransactionCommands.ExecHandler) c.Session.EndTransaction();
    }

    /// <summary>Returns the error that refuses a command which may use memory, or null.</summary>
    private string? RefuseGrowth(ref CommandContext c)
    {
        // What the primary has done is done here too. If the memory does not suffice, the allocation fails.
        if (c.Session.IsPrimary) return null;
        bool hasRoom = !server.Shards.Budget.IsLowFor(c.Args.WireLength) || MakeRoom(ref c);
        if (server.Failures.IsShortOfMemory) return Errors.AllocationFailed;
        if (c.Row.Has(CommandFlags.Grows))
            return server.ClientMemory.IsHeldMuch || server.ClientMemory.IsFull ? Errors.AllocationFailed : null;
        if (!hasRoom) return Errors.AllocationFailed;
        return server.Shards.IsAnyNearlyFull && IsNearlyFull(ref c) ? Errors.ShardFull : null;
    }

    /// <summary>
    /// Frees deleted data of the shards that the command may write to while little memory is left. Commands can delete data
    /// faster than the background work frees it. Returns whether there is room for the command.
    /// </summary>
    private bool MakeRoom(ref CommandContext c)
    {
        HeapBudget budget = server.Shards.Budget;
        if (c.Row.HasSingleKey) return server.Shards.Of(c.HashOf(c.Row.FirstKey)).Store.MakeRoom(budget, c.Args.WireLength);
        for (int i = c.Held.Next(0); i >= 0; i = c.Held.Next(i + 1))
            server.Shards[i].Store.MakeRoom(budget, c.Args.WireLength);
        return !budget.IsShortFor(c.Args.WireLength);
    }

    /// <summary>Whether a shard that the command may write to is nearly full.</summary>
    private bool IsNearlyFull(ref CommandContext c)
    {
        if (c.Row.HasSingleKey) return server.Shards.Of(c.HashOf(c.Row.FirstKey)).Store.Arena.IsNearlyFull;
        for (int i = c.Held.Next(0); i >= 0; i = c.Held.Next(i + 1))
            if (server.Shards[i].Store.Arena.IsNearlyFull) return true;
        return false;
    }

    /// <summary>
    /// Checks that a command which runs again has not changed anything, because it would change it twice. A command that waits
    /// may have made a change whose effect it gave itself: XREADGROUP creates its consumer before it waits.
    /// </summary>
    private static void CheckUnchanged(ref CommandContext c)
    {
        if (c.Moved || c.Widens ? c.Changes > 0 || c.EffectReplaced : c.Changes > 0 && !c.EffectReplaced)
            throw new InvalidOperationException("A command asked to run again after its first effect.");
    }

    /// <summary>Replaces a partial reply by an error, or ends the connection if that is impossible.</summary>
    private static void ReplyFailure(Session session, ReplyMark mark, Exception failure)
    {
        try
        {
            session.Migration = null;
            if (session.Reply.Rollback(mark)) session.Reply.Error(FailurePolicy.ErrorOf(failure));
            else session.Connection?.Kill();
        }
        catch (Exception)
        {
            session.Connection?.Kill();
        }
    }

    /// <summary>
    /// Replies with an error to a command that does not run, or not a second time: it then ends the transfer of a MIGRATE. A refused command
    /// counts as the next command after CLIENT CACHING.
    /// </summary>
    public static void Reject(Session session, CommandRow? row, string refusal, Lane lane)
    {
        session.LastCommand = row;
        session.Migration = null;
        if (session.Tracking is { } tracking) Invalidations.EndCommand(tracking, session, row);
        session.Reply.Error(refusal);
        lane.CountError(session.Reply.LastErrorCode);
        if (row is not null) lane.Calls[row.Id].Rejected++;
    }

    /// <summary>
    /// Counts a command that was answered, and the error of its reply if <paramref name="errors"/> errors were not counted yet.
    /// </summary>
    public void Count(ReplyWriter reply, CommandRow row, long ticks, Lane lane, int errors, bool failsWithPart = false)
    {
        ref CommandCounters counters = ref lane.Calls[row.Id];
        counters.Calls++;
        counters.Ticks += ticks;
        if (server.Config.LatencyTracking) lane.CountLatency(row.Id, ticks);
        if (errors > 0) lane.CountError(reply.LastErrorCode);
        if (errors > 0 || failsWithPart) counters.Failed++;
    }
}
