using System.Diagnostics;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Caching;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Commands.Transactions;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Execution;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;

namespace RedisClone.Server.Net;

/// <summary>
/// The execution of a batch: on the connection's thread while the shards are idle, on a worker if a shard is busy or the command
/// is long.
/// </summary>
internal sealed partial class Connection
{
    private static readonly long s_heldTurn = (long)(Limits.HeldTurn.TotalSeconds * Stopwatch.Frequency);

    private readonly RequestBatch _batch = new();
    private ShardHold _hold;
    private Prepared[] _prepared = new Prepared[16];
    private bool _fetchesMembers;
    private int _current;               // the request that is being executed
    private Outcome _outcome;           // of the last run on a worker
    private ShardSet _widened;          // the shards that the last run asked for
    private int _reportedMisses;        // of the last run, if the command moved to a worker
    private Waiter? _earlier;           // the wait before, if the command runs again
    private bool _begun;                // the command was already counted, and is checked again after a wait
    private string? _refusal;           // found when the shards of a command that waited became free

    /// <summary>The reason why <see cref="Execute"/> returned.</summary>
    private enum Pace
    {
        EndOfBatch,

        /// <summary>The command continues on another thread or waits. The signal resumes the connection.</summary>
        Suspended,

        /// <summary>The output so far is sent before the next command.</summary>
        OutputFull,
    }

    /// <summary>Whether the current command has begun and must end, even if the client is gone. Only the end of the server prevents it.</summary>
    private bool MustFinish => Session.Migration is not null && !_server.Scripts.Runs.ServerEnds;

    public CommandRow CurrentRow => _prepared[_current].Row!;

    public Request CurrentRequest => _batch[_current];

    public void Reconsider()
    {
        // The old hold's place in the queue of a shard remains, so the connection gets a new hold.
        if (!_hold.CanGiveUp) return;
        // Nothing may fail once the old hold is given up, because then only this thread can resume the connection.
        var next = new ShardHold(_server.Shards, this);
        if (!_hold.TryGiveUp()) return;
        _hold = next;
        CheckAgain();
    }

    /// <summary>
    /// Looks up each command of the batch, hashes its key and prefetches the bucket of the key. <see cref="Fetch"/> then
    /// prefetches the record. Small batches of many connections run these steps together.
    /// </summary>
    private void Prepare()
    {
        int count = _batch.Count;
        _hold.IsPatient = count > Limits.GatheredBatch;
        if (_prepared.Length < count) _prepared = new Prepared[Math.Max(count, _prepared.Length * 2)];
        int database = Session.Database;
        CommandRow? row = null;
        ReadOnlySpan<byte> name = [];
        for (int i = 0; i < count; i++)
        {
            Request request = _batch[i];
            // Most batches repeat one command.
            if (row is not { Parent: null, Subcommands.Length: 0 } || !request[0].SequenceEqual(name))
            {
                row = _server.Commands.Resolve(request);
                name = request[0];
            }
            ref Prepared prepared = ref _prepared[i];
            prepared.Row = row;
            if (row is null || row.FirstKey == 0 || row.FirstKey >= request.Count) continue;
            prepared.Hash = _server.Shards.HashOf(request[row.FirstKey]);
            FetchAhead.Bucket(_server.Shards, database, prepared.Hash);
        }
    }

    private void Fetch() => _fetchesMembers = FetchAhead.Records(_server.Shards, Session.Database, _batch, _prepared);

    /// <summary>Executes the batch from the current request on.</summary>
    private Pace Execute()
    {
        Lane lane = _server.Lanes.Current;
        long started = Stopwatch.GetTimestamp();
        OutputBufferLimit limit = _server.Config.ClientOutputBufferLimits[(int)Session.Class];
        Session.Reply.Limit = limit.Hard > 0 && !Session.IsReplica ? limit.Hard + Limits.UncountedOutput : Limits.ReplyBytes;
        long outputMost = Math.Min(Session.Reply.Limit, Limits.UnflushedReplies);
        long outputCheck = Math.Min(outputMost, Limits.NoticedOutput);
        bool isBroken = _socket is { IsBroken: true };
        for (; _current < _batch.Count && (!Session.CloseAfterReply || MustFinish); _current++)
        {
            if (_fetchesMembers) FetchAhead.Members(_server.Shards, _batch, _prepared, _current);
            Request request = _batch[_current];
            CommandRow? row = _prepared[_current].Row;
            if (isBroken && row is { OnlyReads: true } && !_begun) continue;
            // Replies before a command that may wait must not wait with it.
            if (row is not null && row.Has(CommandFlags.Blocking | CommandFlags.Long) && _output.Unflushed > 0) return Pace.OutputFull;
            if (!_begun) BeforeCommand(row, request, lane);
            else _begun = Session.IsPaused = false;
            string? refusal = _refusal ?? Admission.Refuse(_server, Session, row, request);
            _refusal = null;
            if (refusal is not null)
            {
                if (!Reject(row, request, refusal, lane, ref started)) return _killed ? Pace.EndOfBatch : Pace.Suspended;
            }
            else if (_server.Pause.IsOn && _server.Pause.HoldsBack(Session, row!.FlagsFor(request, Session)))
            {
                _begun = true;
                if (_output.Unflushed > 0) return Pace.OutputFull;
                if (AwaitPause(row!, request)) return Session.CloseAfterReply && !MustFinish ? Pace.EndOfBatch : Pace.Suspended;
                _current--;
                continue;
            }
            else if (Session.Transaction is { } transaction && !row!.Has(CommandFlags.NotQueued))
            {
                if (_server.Failures.IsShortOfMemory || _server.ClientMemory.IsFull)
                {
                    if (!Reject(row, request, Errors.AllocationFailed, lane, ref started)) return Pace.EndOfBatch;
                    continue;
                }
                transaction.Add(row, request, row.FlagsFor(request, Session), row.HashOfFirstKey(request, _server.Shards));
                Session.LastCommand = row;
                Session.Reply.SimpleString("QUEUED"u8);
            }
            else if (!Dispatch(request, lane, ref started))
            {
                return Pace.Suspended;
            }
            if (_output.HasMessages) WriteMessages();
            if (_output.Unflushed < outputCheck) continue;
            if (KillIfOverLimit()) return Pace.EndOfBatch;
            NoteOutput();
            outputCheck = Math.Min(outputMost, _output.Unflushed + Limits.NoticedOutput);
            if (_output.Unflushed >= Limits.UnflushedReplies)
            {
                _current++;
                return Pace.OutputFull;
            }
        }
        return Pace.EndOfBatch;
    }

    /// <summary>
    /// Runs the current command here if its shards are idle. Returns false if the command continues elsewhere and will signal.
    /// Another thread may then own this connection, so the caller must not touch its state.
    /// </summary>
    private bool Dispatch(in Request request, Lane lane, ref long started)
    {
        CommandRow row = CurrentRow;
        if (row.HasSingleKey)
        {
            Shard shard = _server.Shards.Of(_prepared[_current].Hash);
            var only = ShardSet.Of(shard.Index);
            if (!shard.TryEnter())
            {
                _hold.MayGiveUp = !row.Has(CommandFlags.AllowBusy);
                return _hold.TryAcquire(only) && RunHeldHere(request, lane, byGate: false, ref started);
            }
            Outcome outcome;
            try
            {
                outcome = Run(request, lane, only, onWorker: false, ref started);
            }
            finally
            {
                shard.Exit();
            }
            return outcome == Outcome.Done || Continue(outcome, only);
        }

        ShardSet wanted = Router.ShardsOf(_server, Session, row, request);
        // A refused EXEC must still end its transaction, so it keeps its place.
        _hold.MayGiveUp = !row.Has(CommandFlags.AllowBusy) && Session.Transaction is not { Aborted: true };
        if (row.Has(CommandFlags.Long))
        {
            _hold.AcquireOnWorker(wanted);
            return false;
        }
        bool byGate = wanted.ContainsAll(_server.Shards.All) && _server.Shards.TryEnterAll();
        return (byGate || _hold.TryAcquire(wanted)) && RunHeldHere(request, lane, byGate, ref started);
    }

    private bool RunHeldHere(in Request request, Lane lane, bool byGate, ref long started)
    {
        ShardSet held = byGate ? _server.Shards.All : _hold.Shards;
        Outcome outcome;
        try
        {
            outcome = Run(request, lane, held, onWorker: false, ref started);
        }
        finally
        {
            if (byGate) _server.Shards.ExitAll();
            else _hold.Release(held);
        }
        return outcome == Outcome.Done || Continue(outcome, held);
    }

    /// <summary>
    /// Runs the current command. The caller holds its shards. A killed client runs nothing more: its command must not follow a
    /// command of a client that has seen the kill.
    /// </summary>
    private Outcome Run(in Request request, Lane lane, in ShardSet held, bool onWorker, ref long started)
    {
        if (_killed && !MustFinish) return Outcome.Done;
        ref readonly Prepared prepared = ref _prepared[_current];
        var context = new CommandContext(Session, prepared.Row!, request, prepared.Hash, lane, held, lane.UnixMillisecondsAt(started), onWorker);
        context.ReportedMisses = _reportedMisses;
        context.Earlier = _earlier;
        Outcome outcome = _server.Executor.Run(ref context, ref started, ref _widened);
        if (outcome == Outcome.Moved) _reportedMisses = context.Misses;
        return outcome;
    }

    /// <summary>Continues after a run that did not finish the command. It always returns false.</summary>
    private bool Continue(Outcome outcome, in ShardSet held)
    {
        if (outcome == Outcome.Moved) _hold.AcquireOnWorker(held);
        else if (outcome == Outcome.Widened) _hold.AcquireOnWorker(_widened);
        else if (outcome == Outcome.Deferred && IsHeldBack()) CheckAgain();
        else if (outcome == Outcome.Deferred) _ = TryAgainAsync(held);
        // Blocked: the thread that claims the waiter resumes the connection, and may already have done so.
        return false;
    }

    /// <summary>Whether the current command waits for the end of a pause that has begun since the command was admitted.</summary>
    private bool IsHeldBack() => _server.Pause.HoldsBack(Session, CurrentRow.FlagsFor(CurrentRequest, Session));

    /// <summary>Resumes the connection, which then decides again whether the current command may run.</summary>
    private void CheckAgain()
    {
        _begun = true;
        _resumed.Set();
    }

    private async Task TryAgainAsync(ShardSet held)
    {
        try
        {
            await Task.Delay(Limits.DiskPatience).ConfigureAwait(false);
            _hold.AcquireOnWorker(held);
        }
        catch (OutOfMemoryException failure)
        {
            ((IHeldWork)this).Released(failure);
        }
    }

    /// <summary>Runs the current command on a worker, with its shards held, and the commands after it that need only the same shard.</summary>
    bool IHeldWork.RunHeld()
    {
        if (!MayStillRun())
        {
            _outcome = Outcome.Done;
            return true;
        }
        Lane lane = _server.Lanes.Current;
        lane.Hops++;
        long begun = Stopwatch.GetTimestamp(), started = begun;
        do
        {
            _outcome = Run(CurrentRequest, lane, _hold.Shards, onWorker: true, ref started);
            if (_outcome != Outcome.Done) break;
            _current++;
            if (_output.Unflushed >= Limits.NoticedOutput && !KillIfOverLimit()) NoteOutput();
        }
        while (started - begun < s_heldTurn && MayFollow(lane));
        if (_outcome != Outcome.Blocked) return true;
        // The client may be woken at any time, so another thread may own this connection from here on.
        if (_server.Effects.Wanted) _server.Journal?.AppendedElsewhere();
        return false;
    }

    /// <summary>
    /// Whether the next command of the batch may run in the hold of the command before. It would find the shard busy otherwise, because
    /// other clients want it too. What the event loop does between two commands is left to it.
    /// </summary>
    private bool MayFollow(Lane lane)
    {
        if (_current >= _batch.Count || Session.CloseAfterReply || Session.Transaction is not null) return false;
        if (_prepared[_current].Row is not { HasSingleKey: true } row || row.Has(CommandFlags.Blocking | CommandFlags.Long)) return false;
        Shard shard = _server.Shards.Of(_prepared[_current].Hash);
        if (_hold.Shards.Count != 1 || !_hold.Shards.Contains(shard.Index)) return false;
        if (_server.Pause.IsOn || _output.HasMessages || _output.Unflushed >= Limits.UnflushedReplies) return false;
        BeforeCommand(row, CurrentRequest, lane);
        if (!MayStillRun()) return false;
        shard.CountFurtherCommand();
        return true;
    }

    /// <summary>
    /// A command that waited does not run if its client has lost a right meanwhile, or if it would be refused for another
    /// reason now. A refused EXEC still ends its transaction.
    /// </summary>
    private bool MayStillRun()
    {
        if (Session.Transaction is { Aborted: true }) return true;
        if (CurrentRow.OnlyReads && _socket is { IsBroken: true }) return false;
        _refusal = Admission.Refuse(_server, Session, CurrentRow, CurrentRequest);
        _begun = _refusal is not null;
        return !_begun;
    }

    void IHeldWork.Released(Exception? failure)
    {
        if (failure is not null)
        {
            // The client cannot know whether the command took effect, so it gets no further reply.
            _server.Failures.ConnectionFailed(failure);
            _outcome = Outcome.Done;
            Kill();
        }
        if (_server.Effects.Wanted) _server.Journal?.AppendedElsewhere();
        if (_outcome == Outcome.Done) _resumed.Set();
        else Continue(_outcome, _hold.Shards);
    }

    /// <summary>
    /// After a claim: removes the waiter from the queues of keys in shards that the claimer did not hold, and replies according
    /// to the reason. A client that was served already has its reply.
    /// </summary>
    private async ValueTask LeaveWaitAsync(Waiter waiter)
    {
        waiter.Dispose();
        try
        {
            if (waiter.Keys.Count > 0) await new ShardVisit(_server.Shards, waiter.Shards, shard => shard.Keys.RemoveWaiter(waiter), _scheduler).RunAsync();
        }
        finally
        {
            Session.Waiter = null;
            _server.Blocked.Left();
        }
        if (waiter.Reason == WakeReason.Again)
        {
            _earlier = waiter;
            _reportedMisses = 0;
            _begun = true;
            return;
        }
        CommandRow row = CurrentRow;
        _current++;
        int errors = Session.Reply.Errors;
        switch (waiter.Reason)
        {
            case WakeReason.TimedOut or WakeReason.Unblocked:
                waiter.Answer(Session.Reply);
                break;
            case WakeReason.UnblockedWithError:
                Session.Reply.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
                break;
            case WakeReason.RoleChanged:
                Session.Reply.Error(Errors.RoleChanged);
                Session.CloseAfterReply = true;
                break;
            case WakeReason.Closed or WakeReason.Shutdown:
                Session.CloseAfterReply = true;
                break;
        }
        if (waiter.Reason == WakeReason.Served) return;
        if (Session.Tracking is { } tracking) Invalidations.EndCommand(tracking, Session, row);
        _server.Executor.Count(Session.Reply, row, 0, _server.Lanes.Current, Session.Reply.Errors - errors);
    }

    /// <summary>Releases what the requests of a batch, and their waits, refer to.</summary>
    private void ForgetBatch()
    {
        _batch.Clear();
        _earlier = null;
    }

    private void BeforeCommand(CommandRow? row, in Request request, Lane lane)
    {
        if (Session.ReplyMode != ReplyMode.On) Session.AdvanceReplyMode();
        _reportedMisses = 0;
        _earlier = null;
        Session.IsShown = false;
        Session.CommandsProcessed++;
        Session.NetInput += request.WireLength;
        lane.CommandsProcessed++;
        lane.NetInput += request.WireLength;
    }

    /// <summary>Returns false if no further command may run now.</summary>
    private bool Reject(CommandRow? row, in Request request, string refusal, Lane lane, ref long started)
    {
        if (row is null && SecurityCheck.IsFromBrowser(request))
        {
            _security.Report(Session);
            Kill();
            return false;
        }
        if (row?.Handler == TransactionCommands.ExecHandler)
        {
            // A refused EXEC still ends the transaction, if there is one, and the watch. Its reply states the reason.
            // The shards of the queued commands would be free only at the end of a busy script.
            bool mayMove = _server.Cluster is not null && !_server.Scripts.Runs.IsAnyBusy;
            (Session.Transaction ??= new Transaction(_server.Commands)).Abort(refusal, mayMove);
            return Dispatch(request, lane, ref started);
        }
        if (Session.IsReplica) NoteErrorOf(row, refusal);
        if (Session.Transaction is { } transaction) transaction.Aborted = true;
        Executor.Reject(Session, row, refusal, lane);
        return true;
    }

    /// <summary>
    /// Waits for the end of CLIENT PAUSE. Returns false if the pause is already over; the command is then checked again.
    /// </summary>
    private bool AwaitPause(CommandRow row, in Request request)
    {
        if (IsClosed && !MustFinish) return Session.CloseAfterReply = true;
        // Once the connection is in the list, another thread may resume it at once, so its state must be complete before.
        Session.IsPaused = true;
        if (!_server.Pause.Await(this, row.FlagsFor(request, Session))) return Session.IsPaused = false;
        // The client may have gone before the connection was in the list.
        if (IsClosed && !MustFinish) _server.Pause.Forget(this);
        return true;
    }

    /// <summary>Replies as to a command: after CLIENT REPLY SKIP, this reply is the one that is skipped.</summary>
    private void ReplyProtocolError()
    {
        Session.AdvanceReplyMode();
        Session.Reply.Error(_batch.ErrorBytes);
        _server.Lanes.Current.CountError(Session.Reply.LastErrorCode);
        Session.CloseAfterReply = true;
    }
}
