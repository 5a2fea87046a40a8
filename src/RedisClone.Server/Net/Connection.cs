using System.Diagnostics;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using RedisClone.Protocol;
using RedisClone.Server.Commands;
using RedisClone.Server.Durability;
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
    private readonly RequestParser _parser;
    private readonly RequestBatch _batch = new();
    private readonly Pushes _pushes = new();
    private readonly Signal _resumed;
    private readonly ShardHold _hold;
    private Prepared[] _prepared = new Prepared[16];
    private int _current;               // the request that is being executed
    private long _now;

    internal Connection(ServerCore server, ConnectionContext transport, IConnectionScheduler scheduler, RequestLimits limits)
    {
        _server = server;
        _transport = transport;
        _scheduler = scheduler;
        _parser = new RequestParser(limits);
        _resumed = new Signal(scheduler);
        _hold = new ShardHold(server.Shards, this);
        long now = ServerCore.UnixMilliseconds();
        Session = new Session(server, server.Sessions.NextId(), new ReplyWriter(transport.Transport.Output))
        {
            Connection = this,
            Authenticated = !server.AuthenticationRequired,
            RemoteEndPoint = transport.RemoteEndPoint,
            LocalEndPoint = transport.LocalEndPoint,
            CreatedAt = now,
            LastInteraction = now,
        };
    }

    public Session Session { get; }

    /// <summary>The command that is being executed, or that the client is blocked in.</summary>
    internal CommandRow CurrentRow => _prepared[_current].Row!;

    internal Request CurrentRequest => _batch[_current];

    /// <summary>Bytes of a half received request.</summary>
    public long QueryBytes => _parser.BufferedBytes;

    /// <summary>Bytes of messages that wait to be written.</summary>
    public long PushBytes => _pushes.Bytes;

    /// <summary>Ends the connection from any thread, without waiting for its output.</summary>
    public void Abort() => _transport.Abort();

    /// <summary>Sends an encoded message that is no reply; may be called by any thread, also under a hold.</summary>
    internal void Push(byte[] message)
    {
        if (_pushes.Add(message)) _scheduler.Schedule(this);
    }

    /// <summary>Wakes a connection that waits for input, so that it writes out what was pushed.</summary>
    void IThreadPoolWorkItem.Execute() => _transport.Transport.Input.CancelPendingRead();

    /// <summary>Lets a suspended connection go on, on its own thread; may be called by any thread, also under a hold.</summary>
    internal void Resume() => _resumed.Set();

    /// <summary>The same on its own thread, inline.</summary>
    internal void ResumeHere() => _resumed.SetHere();

    internal async Task RunAsync()
    {
        PipeReader input = _transport.Transport.Input;
        PipeWriter output = _transport.Transport.Output;
        LoopRounds? rounds = _server.Journal?.RoundsOf(_scheduler);
        using CancellationTokenRegistration closed = _transport.ConnectionClosed.UnsafeRegister(
            static state => ((Connection)state!).Session.Waiter?.Wake(WakeReason.Closed), this);
        while (true)
        {
            ReadResult read = await input.ReadAsync();
            _parser.Restricted = !Session.Authenticated;
            _parser.Parse(read.Buffer, _batch, out SequencePosition consumed, out SequencePosition examined);
            bool any = _batch.Count > 0;
            if (any)
            {
                rounds?.Enter();
                Prepare();
                for (_current = 0; !Execute();)
                {
                    await _resumed.Wait();
                    if (Session.Waiter is { } waiter) await LeaveWaitAsync(waiter);
                }
            }
            if (_batch.HasError && !Session.CloseAfterReply)
            {
                Session.Reply.Error(_batch.ErrorBytes);
                Session.CloseAfterReply = true;
            }
            _batch.Clear();
            input.AdvanceTo(consumed, examined);
            if (_pushes.Any) WritePushes();
            Session.Reply.Commit();
            if (_server.Journal is { HoldsReplies: true } journal && !await BecomeDurableAsync(journal, rounds)) break;
            FlushResult flushed = await output.FlushAsync();
            if (Session.CloseAfterReply || read.IsCompleted && !any || flushed.IsCompleted) break;
        }
    }

    /// <summary>What others did may be told here only once it is durable: whatever was placed by now counts as seen.</summary>
    private void WritePushes()
    {
        _pushes.WriteTo(Session.Reply);
        if (_server.Journal is { HoldsReplies: true } journal) Session.SeenLsn = Math.Max(Session.SeenLsn, journal.Engine.Lsn);
    }

    /// <summary>Waits until all that the replies have seen is durable; false when it never will be.</summary>
    private async ValueTask<bool> BecomeDurableAsync(JournalKeeper journal, LoopRounds? rounds)
    {
        if (Session.SeenLsn <= journal.DurableLsn) return true;
        if (rounds is null) journal.AppendedElsewhere();
        while (Session.SeenLsn > journal.DurableLsn)
        {
            if (journal.Failure.Length > 0) return false;
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
        _now = ServerCore.UnixMilliseconds();
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

    /// <summary>Executes the batch from the current request on; false when it has to wait for a signal and go on then.</summary>
    private bool Execute()
    {
        Lane lane = _server.Lanes.Current;
        long started = Stopwatch.GetTimestamp();
        for (; _current < _batch.Count && !Session.CloseAfterReply; _current++)
        {
            Request request = _batch[_current];
            CommandRow? row = _prepared[_current].Row;
            BeforeCommand(row, request, lane);
            if (Admission.Refuse(_server, Session, row, request) is { } refusal) Reject(row, refusal, lane);
            else if (Session.Transaction is { } transaction && !row!.Has(CommandFlags.NotQueued)) Queue(transaction, row, request);
            else if (!Dispatch(row!, request, _prepared[_current].Hash, lane, ref started)) return false;
            if (_pushes.Any) WritePushes();
        }
        return true;
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
                if (!_hold.TryAcquire(only)) return false;
                return RunHeldHere(row, request, hash, lane, ref started);
            }
            Outcome outcome = _server.Executor.Run(Session, row, request, hash, _now, lane, onWorker: false, only, ref started);
            shard.Exit();
            return outcome == Outcome.Done || Continue(outcome, only);
        }

        ShardSet wanted = Router.ShardsOf(_server, Session, row, request);
        if (row.Has(CommandFlags.Long))
        {
            _hold.AcquireOnWorker(wanted);
            return false;
        }
        return _hold.TryAcquire(wanted) && RunHeldHere(row, request, hash, lane, ref started);
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
        // Blocked: whoever claims the waiter resumes us, and may have done so already.
        return false;
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
        _current++;
        switch (waiter.Reason)
        {
            case WakeReason.TimedOut or WakeReason.Unblocked when waiter.NullIsArray:
                Session.Reply.NullArray();
                break;
            case WakeReason.TimedOut or WakeReason.Unblocked:
                Session.Reply.Null();
                break;
            case WakeReason.UnblockedWithError:
                Session.Reply.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
                break;
            case WakeReason.Closed:
                Session.CloseAfterReply = true;
                break;
        }
    }

    /// <summary>Leaves nothing behind in the shards when the client is gone.</summary>
    internal async ValueTask LeaveAsync()
    {
        _batch.Clear();
        _server.Hub.UnsubscribeAll(Session);
        if (Session.Watched.Count == 0) return;
        var watched = default(ShardSet);
        foreach ((Shard shard, _, _) in Session.Watched) watched.Add(shard.Index);
        bool first = true;
        await new ShardVisit(_server.Shards, watched, _ =>
        {
            if (first) Session.Unwatch();
            first = false;
        }, _scheduler).RunAsync();
    }

    private void BeforeCommand(CommandRow? row, in Request request, Lane lane)
    {
        Session.LastCommand = row;
        Session.CommandsProcessed++;
        Session.NetInput += request.WireLength;
        lane.CommandsProcessed++;
        lane.NetInput += request.WireLength;
    }

    private void Queue(Transaction transaction, CommandRow row, in Request request)
    {
        transaction.Add(row, request);
        Session.Reply.SimpleString("QUEUED"u8);
    }

    private void Reject(CommandRow? row, string refusal, Lane lane)
    {
        if (Session.Transaction is { } transaction) transaction.Aborted = true;
        Session.Reply.Error(refusal);
        lane.CountError(Session.Reply.LastErrorCode);
        if (row is not null) lane.Calls[row.Id].Rejected++;
    }

    private struct Prepared
    {
        public CommandRow? Row;
        public ulong Hash;
    }
}
