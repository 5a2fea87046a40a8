using System.Diagnostics;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.Extensions.Logging;
using RedisClone.Protocol;
using RedisClone.Server.Admin;
using RedisClone.Server.Caching;
using RedisClone.Server.Commands;
using RedisClone.Server.Durability;
using RedisClone.Server.Net.EventLoop;
using RedisClone.Server.Shards;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Net;

/// <summary>
/// One client's way through the server: read what came, parse it as a batch, fetch ahead what it will touch, execute it in order,
/// flush. A command whose shards are busy runs on a worker when they are free, one that blocks waits to be served; the rest of
/// the batch waits for it, no thread does.
/// </summary>
public sealed class Connection : IHeldWork, IThreadPoolWorkItem
{
    private readonly ServerCore _server;
    private readonly ConnectionContext _transport;
    private readonly IConnectionScheduler _scheduler;
    private readonly IEventLoopFeature? _loop;
    private readonly RequestParser _parser;
    private readonly RequestBatch _batch = new();
    private readonly ClientOutput _output;
    private readonly Signal _resumed;
    private ShardHold _hold;
    private Prepared[] _prepared = new Prepared[16];
    private int _current;               // the request that is being executed
    private bool _begun;                // it was counted already, and is looked at again after a pause
    private bool _killed;
    private bool _idle;                 // waits for input; told to its loop's thread only
    private long _now;

    internal Connection(ServerCore server, ConnectionContext transport, IConnectionScheduler scheduler)
    {
        _server = server;
        _transport = transport;
        _scheduler = scheduler;
        _loop = transport.Features.Get<IEventLoopFeature>();
        _output = new ClientOutput(transport.Transport.Output, _loop);
        _parser = new RequestParser(server.RequestLimits);
        _resumed = new Signal(scheduler);
        _hold = new ShardHold(server.Shards, this);
        _output.Reply.Version = (int)server.Config.ClientDefaultResp;
        Session = new Session(server, server.Sessions.NextId(), _output.Reply)
        {
            Connection = this,
            Authenticated = !server.Access.Users.MustAuthenticate,
            PeerName = ClientAddress.Text(transport.RemoteEndPoint, server.Config.UnixSocket),
            LocalName = ClientAddress.Text(transport.LocalEndPoint, server.Config.UnixSocket),
            IsLocal = ClientAddress.IsLocal(transport.RemoteEndPoint),
            IsUnixSocket = transport.LocalEndPoint is System.Net.Sockets.UnixDomainSocketEndPoint,
            LastInteraction = ServerCore.UnixMilliseconds(),
        };
    }

    /// <summary>Why <see cref="Execute"/> returned.</summary>
    private enum Pace
    {
        EndOfBatch,

        /// <summary>The command goes on elsewhere, or waits; the signal tells when to go on.</summary>
        Suspended,

        /// <summary>What was written so far goes out before the next command.</summary>
        OutputFull,
    }

    public Session Session { get; }

    /// <summary>The command that is being executed, or that the client is blocked in.</summary>
    internal CommandRow CurrentRow => _prepared[_current].Row!;

    internal Request CurrentRequest => _batch[_current];

    /// <summary>The loop that owns it; null where the transport has none.</summary>
    internal IEventLoop? Loop => _loop?.EventLoop;

    /// <summary>Bytes of requests that are being executed, or of a half received one.</summary>
    public long QueryBytes { get; private set; }

    /// <summary>Bytes of replies not yet handed to the transport.</summary>
    public long ReplyBytes => _output.Unflushed;

    /// <summary>Bytes that the client has not taken yet.</summary>
    public long UnsentBytes => _output.Unsent;

    /// <summary>Messages that wait to be written.</summary>
    public int PendingMessages => _output.Messages;

    /// <summary>The socket's number, -1 where the transport does not tell.</summary>
    public long Descriptor => _loop?.Descriptor ?? _transport.Features.Get<IConnectionSocketFeature>()?.Socket.Handle ?? -1;

    /// <summary>The client is gone.</summary>
    internal bool IsClosed => _transport.ConnectionClosed.IsCancellationRequested;

    /// <summary>Ends the connection from any thread, without waiting for its output. At once it counts no longer as connected.</summary>
    public void Kill()
    {
        _killed = true;
        Session.CloseAfterReply = true;
        _server.Sessions.Remove(Session);
        _server.ClientMemory.Forget(Session);
        _transport.Abort();
    }

    /// <summary>Lets the client go, from any thread: what it is owed still leaves.</summary>
    public void Close()
    {
        Session.CloseAfterReply = true;
        Session.Waiter?.Wake(WakeReason.Closed);
        _server.Pause.Forget(this);
        _scheduler.Schedule(this);
    }

    /// <summary>Sends an encoded message that is no reply; may be called by any thread, also under a hold.</summary>
    internal void Push(byte[] message)
    {
        if (!_server.Lanes.Current.Messages.TryAdd(this, message)) PushNow(message);
    }

    internal void PushNow(byte[] message)
    {
        bool sent = _idle && CanSendHere && _output.TrySendMessage(message, Session, _server.Lanes.Current);
        if (!sent && _output.Add(message)) _scheduler.Schedule(this);
        NoteMemory();
        KillIfOverLimit();
    }

    private void NoteMemory()
    {
        if (_server.ClientMemory.IsWatched && !_killed) _server.ClientMemory.Update(Session);
    }

    /// <summary>
    /// A connection that waits for input is its loop's, whose thread may write on its behalf. Where replies are held until they are durable,
    /// messages are too, by the connection itself.
    /// </summary>
    private bool CanSendHere => _loop is { EventLoop.IsOnLoop: true } && _server.Journal is not { HoldsReplies: true };

    /// <summary>Wakes a connection that waits for input, so that it writes out what was pushed.</summary>
    void IThreadPoolWorkItem.Execute() => _transport.Transport.Input.CancelPendingRead();

    /// <summary>Lets a suspended connection go on, on its own thread; may be called by any thread, also under a hold.</summary>
    internal void Resume() => _resumed.Set();

    /// <summary>
    /// Has a command that waits for its shards looked at again, since it would be refused now; any thread may ask. Its place in a shard's queue
    /// stays behind, so the connection gets another hold.
    /// </summary>
    internal void Reconsider()
    {
        if (!_hold.TryGiveUp()) return;
        _hold = new ShardHold(_server.Shards, this);
        _begun = true;
        _resumed.Set();
    }

    /// <summary>The same on its own thread, inline.</summary>
    internal void ResumeHere() => _resumed.SetHere();

    internal void Mute(bool muted) => _output.Mute(muted);

    /// <summary>Disconnects a client that leaves more unread than its class may; any thread may ask.</summary>
    internal bool KillIfOverLimit()
    {
        if (_killed) return true;
        if (!Session.Reply.Overflowed && !_output.IsOver(_server.Config.ClientOutputBufferLimits[(int)Session.Class])) return false;
        _server.Log.LogWarning("Client {Client} closed for overcoming of output buffer limits.", ClientDescription.Of(Session));
        _server.Statistics.Count(RareEvent.OutputLimitDisconnection);
        Kill();
        return true;
    }

    internal async Task RunAsync()
    {
        PipeReader input = _transport.Transport.Input;
        LoopRounds? rounds = _server.Journal?.RoundsOf(_scheduler);
        using CancellationTokenRegistration closed = _transport.ConnectionClosed.UnsafeRegister(
            static state => ((Connection)state!).OnClosed(), this);
        while (true)
        {
            _idle = true;
            ReadResult read = await input.ReadAsync();
            _idle = false;
            rounds ??= _server.Journal?.RoundsOf(_scheduler);
            _now = ServerCore.UnixMilliseconds();
            _parser.Restricted = Session.MustAuthenticate;
            _parser.Parse(read.Buffer, _batch, out SequencePosition consumed, out SequencePosition examined);
            bool any = _batch.Count > 0;
            QueryBytes = _batch.WireBytes + _parser.BufferedBytes;
            NoteMemory();
            if (any && QueryBytes > _server.Config.ClientQueryBufferLimit) KillForQuery();
            else if (any)
            {
                Lane lane = _server.Lanes.Current;
                lane.Reads++;
                if (_batch.Count > lane.LargestBatch) lane.LargestBatch = _batch.Count;
                rounds?.Enter();
                Prepare();
                _current = 0;
                for (Pace pace = Execute(); pace != Pace.EndOfBatch; pace = Execute())
                {
                    if (pace == Pace.Suspended)
                    {
                        await _resumed.Wait();
                        if (Session.Waiter is { } waiter) await LeaveWaitAsync(waiter);
                        // A batch of which every command runs elsewhere must not outgrow what the client takes either.
                        if (_output.Unflushed < Limits.UnflushedReplies) continue;
                    }
                    NoteMemory();
                    if (KillIfOverLimit() || !await SendAsync(rounds)) return;
                }
            }
            // A long script has ended rounds of its loop within this one: what it did then belongs to a round all the same.
            if (any) rounds?.Enter();
            if (_batch.HasError && !Session.CloseAfterReply) ReplyProtocolError();
            _batch.Clear();
            input.AdvanceTo(consumed, examined);
            QueryBytes = _parser.BufferedBytes;
            if (QueryBytes > 0) KillIfQueryTooLong();
            if (_output.HasMessages) WriteMessages();
            NoteMemory();
            if (KillIfOverLimit() || !await SendAsync(rounds)) break;
            if (Session.CloseAfterReply || read.IsCompleted && !any) break;
        }
    }

    /// <summary>What others did may be told here only once it is durable: whatever was placed by now counts as seen.</summary>
    internal void WriteMessages()
    {
        _output.WriteMessages();
        if (_server.Journal is { HoldsReplies: true } journal) Session.SeenLsn = Math.Max(Session.SeenLsn, journal.Engine.Lsn);
    }

    /// <summary>Hands what was written to the transport, once it may be told; waits while the client does not read. False: the connection ends.</summary>
    private ValueTask<bool> SendAsync(LoopRounds? rounds) =>
        _server.Journal is { HoldsReplies: true } journal && Session.SeenLsn > journal.DurableLsn
            ? SendDurableAsync(journal, rounds)
            : _output.FlushAsync(Session, _server.Lanes.Current);

    private async ValueTask<bool> SendDurableAsync(JournalKeeper journal, LoopRounds? rounds) =>
        await BecomeDurableAsync(journal, rounds) && await _output.FlushAsync(Session, _server.Lanes.Current);

    /// <summary>Waits until all that the replies have seen is durable; false when it never will be.</summary>
    private async ValueTask<bool> BecomeDurableAsync(JournalKeeper journal, LoopRounds? rounds)
    {
        if (Session.SeenLsn <= journal.DurableLsn) return true;
        if (rounds is null) journal.AppendedElsewhere();
        while (Session.SeenLsn > journal.DurableLsn)
        {
            if (journal.Failure.Length > 0) return false;
            if (!journal.IsOn) return true;
            journal.Hold(Session.SeenLsn, this, rounds);
            await _resumed.Wait();
        }
        return true;
    }

    /// <summary>
    /// Looks up each command of the batch, hashes its key and asks for the cache lines that it will need, all before the first runs:
    /// memory latency is paid once for the batch.
    /// </summary>
    private void Prepare()
    {
        Session.LastInteraction = _now;
        int count = _batch.Count;
        if (_prepared.Length < count) _prepared = new Prepared[Math.Max(count, _prepared.Length * 2)];
        int database = Session.Database;
        bool ahead = count > 1;
        for (int i = 0; i < count; i++)
        {
            Request request = _batch[i];
            CommandRow? row = _server.Commands.Resolve(request);
            ref Prepared prepared = ref _prepared[i];
            prepared.Row = row;
            if (row is null || row.FirstKey == 0 || row.FirstKey >= request.Count) continue;
            prepared.Hash = KeyHash.Of(request[row.FirstKey]);
            if (ahead) _server.Shards.Of(prepared.Hash).Store.ExistingDatabase(database)?.PrefetchBucket(prepared.Hash);
        }
        if (!ahead) return;
        for (int i = 0; i < count; i++)
        {
            ref readonly Prepared prepared = ref _prepared[i];
            if (prepared.Row is null || prepared.Row.FirstKey == 0) continue;
            _server.Shards.Of(prepared.Hash).Store.ExistingDatabase(database)?.PrefetchRecord(prepared.Hash);
        }
    }

    /// <summary>Executes the batch from the current request on.</summary>
    private Pace Execute()
    {
        Lane lane = _server.Lanes.Current;
        long started = Stopwatch.GetTimestamp();
        OutputBufferLimit limit = _server.Config.ClientOutputBufferLimits[(int)Session.Class];
        Session.Reply.Limit = limit.Hard > 0 ? limit.Hard + Limits.UncountedOutput : Limits.ReplyBytes;
        long outputCheck = Math.Min(Session.Reply.Limit, Limits.UnflushedReplies);
        for (; _current < _batch.Count && !Session.CloseAfterReply; _current++)
        {
            Request request = _batch[_current];
            CommandRow? row = _prepared[_current].Row;
            // What comes before a command that may wait must not wait with it.
            if (row is not null && row.Has(CommandFlags.Blocking | CommandFlags.Long) && _output.Unflushed > 0) return Pace.OutputFull;
            if (!_begun) BeforeCommand(row, request, lane);
            else _begun = Session.IsPaused = false;
            string? refusal = Admission.Refuse(_server, Session, row, request);
            if (refusal is not null)
            {
                if (!Reject(row, request, refusal, lane, ref started)) return _killed ? Pace.EndOfBatch : Pace.Suspended;
            }
            else if (_server.Pause.IsOn && _server.Pause.HoldsBack(row!.FlagsFor(request, Session)))
            {
                _begun = true;
                if (_output.Unflushed > 0) return Pace.OutputFull;
                if (AwaitPause(row!, request)) return Session.CloseAfterReply ? Pace.EndOfBatch : Pace.Suspended;
                _current--;
                continue;
            }
            else if (Session.Transaction is { } transaction && !row!.Has(CommandFlags.NotQueued))
            {
                transaction.Add(row, request);
                Session.LastCommand = row;
        Session.WaitingAgain = null;
                Session.Reply.SimpleString("QUEUED"u8);
            }
            else if (!Dispatch(Shown(row!, request), request, _prepared[_current].Hash, lane, ref started))
            {
                return Pace.Suspended;
            }
            if (_output.HasMessages) WriteMessages();
            if (_output.Unflushed < outputCheck) continue;
            if (KillIfOverLimit()) return Pace.EndOfBatch;
            if (_output.Unflushed >= Limits.UnflushedReplies)
            {
                _current++;
                return Pace.OutputFull;
            }
        }
        return Pace.EndOfBatch;
    }

    /// <summary>The same row, after those who watch all commands were told; a transaction shows itself behind its parts.</summary>
    private CommandRow Shown(CommandRow row, in Request request)
    {
        if (_server.Monitors.Any && row.Handler != TransactionCommands.ExecHandler) _server.Monitors.Show(Session, Session.PeerName, row, request);
        return row;
    }

    /// <summary>
    /// Runs a command here if its shards are idle. False when it goes on elsewhere and will signal: from then on another thread may own
    /// this connection, and nothing of it is touched.
    /// </summary>
    private bool Dispatch(CommandRow row, in Request request, ulong hash, Lane lane, ref long started)
    {
        if (row.HasSingleKey)
        {
            Shard shard = _server.Shards.Of(hash);
            var only = ShardSet.Of(shard.Index);
            if (!shard.TryEnter())
            {
                _hold.MayGiveUp = !row.Has(CommandFlags.AllowBusy);
                if (!_hold.TryAcquire(only)) return false;
                return RunHeldHere(row, request, hash, lane, ref started);
            }
            Outcome outcome = _server.Executor.Run(Session, row, request, hash, _now, lane, onWorker: false, only, ref started);
            shard.Exit();
            return outcome == Outcome.Done || Continue(outcome, only);
        }

        ShardSet wanted = Router.ShardsOf(_server, Session, row, request);
        // An EXEC that was refused must end its transaction.
        _hold.MayGiveUp = !row.Has(CommandFlags.AllowBusy) && Session.Transaction is not { Aborted: true };
        if (row.Has(CommandFlags.Long))
        {
            _hold.AcquireOnWorker(wanted);
            return false;
        }
        if (row.Has(CommandFlags.AllShards) && _server.Shards.TryEnterAll()) return RunHoldingAll(row, request, hash, lane, ref started);
        return _hold.TryAcquire(wanted) && RunHeldHere(row, request, hash, lane, ref started);
    }

    private bool RunHoldingAll(CommandRow row, in Request request, ulong hash, Lane lane, ref long started)
    {
        Outcome outcome = _server.Executor.Run(Session, row, request, hash, _now, lane, onWorker: false, _server.Shards.All, ref started);
        _server.Shards.ExitAll();
        return outcome == Outcome.Done || Continue(outcome, _server.Shards.All);
    }

    private bool RunHeldHere(CommandRow row, in Request request, ulong hash, Lane lane, ref long started)
    {
        Outcome outcome = _server.Executor.Run(Session, row, request, hash, _now, lane, onWorker: false, _hold.Shards, ref started);
        ShardSet held = _hold.Shards;
        _hold.Release();
        return outcome == Outcome.Done || Continue(outcome, held);
    }

    /// <summary>What follows a run that did not end the command. Always false.</summary>
    private bool Continue(Outcome outcome, in ShardSet held)
    {
        if (outcome == Outcome.Moved) _hold.AcquireOnWorker(held);
        else if (outcome == Outcome.Widened) _hold.AcquireOnWorker(Session.WidenedShards);
        else if (outcome == Outcome.Deferred) _ = TryAgainAsync(held);
        // Blocked: whoever claims the waiter resumes us, and may have done so already.
        return false;
    }

    private async Task TryAgainAsync(ShardSet held)
    {
        await Task.Delay(Limits.SnapshotPatience).ConfigureAwait(false);
        _hold.AcquireOnWorker(held);
    }

    /// <summary>The current command on a worker thread, its shards held.</summary>
    void IHeldWork.RunHeld()
    {
        Lane lane = _server.Lanes.Current;
        long started = Stopwatch.GetTimestamp();
        ref readonly Prepared prepared = ref _prepared[_current];
        _now = ServerCore.UnixMilliseconds();
        ShardSet held = _hold.Shards;
        Outcome outcome = _server.Executor.Run(
            Session, prepared.Row!, _batch[_current], prepared.Hash, _now, lane, onWorker: true, held, ref started);
        if (outcome == Outcome.Done) _current++;
        _hold.Release();
        if (_server.Effects.Wanted) _server.Journal?.AppendedElsewhere();
        if (outcome == Outcome.Done) _resumed.Set();
        else Continue(outcome, held);
    }

    /// <summary>
    /// After a claim: leaves the queues of keys in shards that were not held by the claimer, and answers by the reason. Whoever served us
    /// wrote our reply already.
    /// </summary>
    private async ValueTask LeaveWaitAsync(Waiter waiter)
    {
        waiter.Dispose();
        if (waiter.Keys.Count > 0) await new ShardVisit(_server.Shards, waiter.Shards, shard => shard.Keys.RemoveWaiter(waiter), _scheduler).RunAsync();
        Session.Waiter = null;
        _server.Blocked.Left();
        if (waiter.Reason == WakeReason.Again)
        {
            Session.WaitingAgain = waiter;
            _begun = true;
            return;
        }
        CommandRow row = CurrentRow;
        _current++;
        switch (waiter.Reason)
        {
            case WakeReason.TimedOut or WakeReason.Unblocked:
                waiter.Answer(Session.Reply);
                break;
            case WakeReason.UnblockedWithError:
                Session.Reply.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
                break;
            case WakeReason.Closed:
                Session.CloseAfterReply = true;
                break;
        }
        if (waiter.Reason != WakeReason.Served) _server.Executor.Count(Session, row, 0, _server.Lanes.Current);
    }

    /// <summary>Leaves nothing behind in the shards when the client is gone.</summary>
    internal async ValueTask LeaveAsync()
    {
        _killed = true;
        _server.ClientMemory.Forget(Session);
        _batch.Clear();
        _server.Hub.UnsubscribeAll(Session);
        _server.Monitors.Remove(Session);
        _server.Invalidations.Disable(Session);
        if (Session.Watched.Count == 0) return;
        var watched = default(ShardSet);
        foreach ((Shard shard, _) in Session.Watched) watched.Add(shard.Index);
        bool first = true;
        await new ShardVisit(_server.Shards, watched, _ =>
        {
            if (first) Session.Unwatch();
            first = false;
        }, _scheduler).RunAsync();
    }

    private void BeforeCommand(CommandRow? row, in Request request, Lane lane)
    {
        if (Session.ReplyMode != ReplyMode.On) Session.AdvanceReplyMode();
        Session.CommandsProcessed++;
        Session.NetInput += request.WireLength;
        lane.CommandsProcessed++;
        lane.NetInput += request.WireLength;
    }

    /// <summary>False when nothing further is executed now.</summary>
    private bool Reject(CommandRow? row, in Request request, string refusal, Lane lane, ref long started)
    {
        if (row is null && SecurityCheck.IsFromBrowser(request))
        {
            _server.SecurityCheck.Report(Session);
            Kill();
            return false;
        }
        if (row is { Name: "exec" })
        {
            // It ends the transaction, if there is one, and the watch all the same, and says why it ran nothing.
            (Session.Transaction ??= new Transaction()).Abort(refusal);
            return Dispatch(row, request, 0, lane, ref started);
        }
        Session.LastCommand = row;
        if (Session.Transaction is { } transaction) transaction.Aborted = true;
        if (Session.Tracking is { } tracking) Invalidations.EndCommand(tracking, Session, row);
        Executor.Reject(Session, row, refusal, lane);
        return true;
    }

    /// <summary>Waits for the end of CLIENT PAUSE; false when it is over already, and the command is looked at again.</summary>
    private bool AwaitPause(CommandRow row, in Request request)
    {
        if (IsClosed) return Session.CloseAfterReply = true;
        // Once we are in its list, another thread may let us go on at once: all that we leave behind is in place before.
        Session.IsPaused = true;
        if (!_server.Pause.Await(this, row.FlagsFor(request, Session))) return Session.IsPaused = false;
        // The client may have gone before we were in the list.
        if (IsClosed) _server.Pause.Forget(this);
        return true;
    }

    private void ReplyProtocolError()
    {
        Session.Reply.Error(_batch.ErrorBytes);
        Session.ErrorsCounted = Session.Reply.Errors;
        _server.Lanes.Current.CountError(Session.Reply.LastErrorCode);
        Session.CloseAfterReply = true;
    }

    /// <summary>What is queued since MULTI counts too: it is a query that is not complete.</summary>
    private void KillIfQueryTooLong()
    {
        long bytes = QueryBytes + (Session.Transaction?.HeldBytes ?? 0);
        long most = _server.Config.ClientQueryBufferLimit;
        if (Session.MustAuthenticate) most = Math.Min(most, Limits.UnauthenticatedQuery);
        if (bytes > most) KillForQuery();
    }

    private void KillForQuery()
    {
        _server.Log.LogWarning("Closing client that reached max query buffer length: {Client}", ClientDescription.Of(Session));
        _server.Statistics.Count(RareEvent.QueryLimitDisconnection);
        Kill();
    }

    private void OnClosed()
    {
        Session.Waiter?.Wake(WakeReason.Closed);
        _server.Pause.Forget(this);
    }

    private struct Prepared
    {
        public CommandRow? Row;
        public ulong Hash;
    }
}
