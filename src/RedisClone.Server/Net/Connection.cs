using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Execution;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Shards;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Scheduling;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Net;

/// <summary>
/// One client's connection. It reads input, parses it as a batch, fetches ahead the memory that the batch will use, executes the
/// batch in order, and flushes. A command whose shards are busy runs on a worker when they are free; a command that blocks waits
/// to be served. The rest of the batch waits too, but no thread is blocked.
/// </summary>
internal sealed partial class Connection : IClientConnection, IHeldWork, IGatheredWork, IInputConsumer
{
    /// <summary>Bytes of the arrays of a batch of usual size, which count as a part of the connection.</summary>
    private const int UsualBatch = 4096;

    private const int LongestDrainPause = 64;

    private readonly ServerCore _server;
    private readonly SecurityCheck _security;
    private readonly ConnectionContext _transport;
    private readonly IConnectionScheduler _scheduler;
    private readonly IEventLoopFeature? _loop;
    private readonly ILoopSocketFeature? _socket;
    private readonly RequestParser _parser;
    private readonly ClientOutput _output;
    private readonly Signal _resumed;
    private LoopRounds? _rounds;        // of the journal, for the event loop of the last batch
    private ReadResult _read;           // of RunAsync
    private SequencePosition _consumedTo, _examinedTo;
    private bool _killed;
    private bool _idle;                 // waits for input; exact only on its event loop's thread
    private long _now;

    internal Connection(ServerCore server, SecurityCheck security, ConnectionContext transport, IConnectionScheduler scheduler)
    {
        _server = server;
        _security = security;
        _transport = transport;
        _scheduler = scheduler;
        _loop = transport.Features.Get<IEventLoopFeature>();
        _socket = transport.Features.Get<ILoopSocketFeature>();
        _output = new ClientOutput(transport.Transport.Output, _loop, _socket);
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
            IsLocal = ClientAddress.IsTrusted(transport.RemoteEndPoint, transport.LocalEndPoint),
            IsUnixSocket = transport.LocalEndPoint is System.Net.Sockets.UnixDomainSocketEndPoint,
            LastInteraction = ServerCore.UnixMilliseconds(),
        };
    }

    public Session Session { get; }

    public IEventLoop? Loop => _loop?.EventLoop;

    public long QueryBytes { get; private set; }

    public long QueryRoom { get; private set; }

    public long ReplyBytes => _output.Unflushed;

    public long UnsentBytes => _output.Unsent;

    public long OutputBytes => _output.HeldRoom;

    public long BatchRoom =>
        Math.Max(0, _batch.ArrayBytes + _parser.KeptBytes + (long)_prepared.Length * Unsafe.SizeOf<Prepared>() - UsualBatch);

    public int PendingMessages => _output.Messages;

    public long Descriptor => _socket?.Descriptor ?? _transport.Features.Get<IConnectionSocketFeature>()?.Socket.Handle ?? -1;

    public long InputRoom(bool waits)
    {
        long room = _socket?.InputRoom ?? 0;
        return _parser.ArrayBytes + (waits || QueryBytes > 0 && _batch.Count == 0 || room > BufferPool.UsualSize ? room : 0);
    }

    public bool IsClosed => _transport.ConnectionClosed.IsCancellationRequested;

    public void Kill()
    {
        _killed = true;
        Session.CloseAfterReply = true;
        try
        {
            // At once: a later command of the killer must not serve a client that is gone.
            Session.Waiter?.Wake(WakeReason.Closed);
            _server.Sessions.Remove(Session);
            _server.ClientMemory.Leave(Session);
        }
        finally
        {
            _transport.Abort();
        }
    }

    public void Close()
    {
        Session.CloseAfterReply = true;
        Session.Waiter?.Wake(WakeReason.Shutdown);
        _server.Pause.Forget(this);
        _scheduler.Schedule(this);
    }

    public void Push(byte[] message)
    {
        if (!_server.Lanes.Current.Messages.TryAdd(this, message)) ((IMessageTarget)this).PushNow(message, HeldMessages.Unknown);
    }

    bool IMessageTarget.IsTooMuch(long bytes) => OutputLimit().Hard is > 0 and var most && bytes + _output.Unsent >= most;

    void IMessageTarget.Lose() => Kill();

    void IMessageTarget.PushNow(byte[] message, long lsn)
    {
        if (_killed) return;
        if (lsn == HeldMessages.Unknown) lsn = _server.Journal?.Engine.Lsn ?? 0;
        bool sent = _idle && CanSendHere(lsn) && _output.TrySendMessage(message, Session, _server.Lanes.Current);
        if (!sent && _output.Add(message, lsn)) _scheduler.Schedule(this);
        if (!KillIfOverLimit()) NoteMemory();
    }

    /// <summary>Counts the output that is not flushed yet too.</summary>
    private void NoteOutput()
    {
        _output.NoteUnflushed();
        NoteMemory();
    }

    private void NoteMemory()
    {
        if (_server.ClientMemory.IsWatched && !_killed) _server.ClientMemory.Update(Session);
    }

    /// <summary>
    /// Whether this thread may write on behalf of the connection: while it waits for input, it belongs to its event loop. If
    /// replies wait for the journal, messages do too, and the connection itself sends them.
    /// </summary>
    private bool CanSendHere(long lsn) =>
        _loop is { EventLoop.IsOnLoop: true } && (_server.Journal is not { } journal || lsn <= journal.OpenUpTo);

    void IThreadPoolWorkItem.Execute() => _transport.Transport.Input.CancelPendingRead();

    public void Resume() => _resumed.Set();

    public void ResumeHere() => _resumed.SetHere();

    public void Mute(bool muted) => _output.Mute(muted);

    public bool KillIfOverLimit()
    {
        if (_killed) return true;
        if (!Session.Reply.Overflowed && (_output.IsSmall || !_output.IsOver(OutputLimit()))) return false;
        // The connection's own thread and the periodic work may find the same excess.
        if (Interlocked.Exchange(ref _killed, true)) return true;
        _server.Log.LogWarning("Client {Client} closed for overcoming of output buffer limits.", ClientDescription.Of(Session));
        _server.Statistics.Count(RareEvent.OutputLimitDisconnection);
        Kill();
        return true;
    }

    /// <summary>
    /// Waits until the client has read its last replies. A client that does not read stays visible, counted and subject to all limits
    /// meanwhile, and is cut off after some time.
    /// </summary>
    internal async ValueTask DrainAsync()
    {
        long before = _output.Leaving, moved = Environment.TickCount64;
        for (int pause = 1; !_killed && _output.Leaving is > 0 and var left; pause = Math.Min(2 * pause, LongestDrainPause))
        {
            await Task.Delay(pause);
            if (left != before) (before, moved) = (left, Environment.TickCount64);
            else if (Environment.TickCount64 - moved > Limits.LastReplyPatience) Kill();
        }
    }

    /// <summary>
    /// The limit of what the client has not read. As in Redis, a replica may leave unread what the backlog keeps anyway, or a replica that
    /// continues would be closed again and again.
    /// </summary>
    private OutputBufferLimit OutputLimit()
    {
        OutputBufferLimit limit = _server.Config.ClientOutputBufferLimits[(int)Session.Class];
        if (Session.MustAuthenticate && limit.Hard is 0 or > Limits.UnauthenticatedOutput) return limit with { Hard = Limits.UnauthenticatedOutput };
        return Session.IsReplica && limit.Hard > 0 ? limit with { Hard = Math.Max(limit.Hard, _server.Config.ReplBacklogSize) } : limit;
    }

    internal async Task RunAsync()
    {
        PipeReader input = _transport.Transport.Input;
        if (_loop is not null) _loop.Consumer = this;
        using CancellationTokenRegistration closed = _transport.ConnectionClosed.UnsafeRegister(
            static state => ((Connection)state!).OnClosed(), this);
        try
        {
            while (true)
            {
                _idle = true;
                _read = await input.ReadAsync();
                _idle = false;
                Taken taken = EndTaking();
                if (taken == Taken.Sent)
                {
                    if (_sending is not null) _goesOn = await _sending;
                    _sending = null;
                    if (!_goesOn || Session.CloseAfterReply) break;
                    ForgetInput();
                    continue;
                }
                Pace pace;
                if (taken == Taken.Executed)
                {
                    (_consumedTo, _examinedTo, pace) = (_read.Buffer.GetPosition(_consumed), _read.Buffer.GetPosition(_examined), _pace);
                }
                else
                {
                    Parse(_read.Buffer, out _consumedTo, out _examinedTo);
                    if (_batch.Count > 0 && TryPostpone()) await _resumed.Wait();
                    pace = BeginBatch(isPrepared: false);
                }
                bool any = _batch.Count > 0;
                for (; pace != Pace.EndOfBatch; pace = Execute())
                {
                    if (pace == Pace.Suspended)
                    {
                        await _resumed.Wait();
                        if (Session.Waiter is { } waiter) await LeaveWaitAsync(waiter);
                        // The output is limited even if every command of the batch runs on a worker.
                        if (_output.Unflushed < Limits.UnflushedReplies) continue;
                    }
                    if (KillIfOverLimit()) return;
                    if (!await SendAsync()) return;
                }
                if (_batch.HasError && !Session.CloseAfterReply) ReplyProtocolError();
                ForgetBatch();
                input.AdvanceTo(_consumedTo, _examinedTo);
                bool ends = _read.IsCompleted && !any;
                ForgetInput();
                AfterBatch();
                if (KillIfOverLimit()) break;
                if (!await SendAsync()) break;
                if (Session.IsReplica && !await FillAsync(Session.Replica!)) break;
                if (Session.CloseAfterReply || ends) break;
            }
        }
        catch (OutOfMemoryException failure)
        {
            // Without memory, an exception cannot leave an asynchronous method: it would end the process.
            _server.Failures.ConnectionFailed(failure);
        }
    }

    /// <summary>A reference to the input would keep the memory of a large array while the connection waits for more.</summary>
    private void ForgetInput() => (_read, _consumedTo, _examinedTo) = (default, default, default);

    public void EndForeignSubscriptions()
    {
        _output.MustLookAtChannels = true;
        _scheduler.Schedule(this);
    }

    public void WriteMessages()
    {
        Session.SeenLsn = Math.Max(Session.SeenLsn, _output.WriteMessages(Session));
        // The stream of effects is that of all shards.
        if (Session.IsReplica) SeeAllEffects();
    }

    /// <summary>The next output may depend on any effect until now.</summary>
    private void SeeAllEffects()
    {
        if (_server.Journal is { IsOn: true } journal) Session.SeenLsn = Math.Max(Session.SeenLsn, journal.Engine.Lsn);
    }

    /// <summary>
    /// Hands the output to the transport and waits while the client does not read. The output leaves once its effects are
    /// safe. Returns false if the connection ends.
    /// </summary>
    private ValueTask<bool> SendAsync()
    {
        if (Session.Replica is { } replica && KillIfAnswered(replica)) return new ValueTask<bool>(false);
        if (_server.Journal is not { } journal || Session.SeenLsn <= journal.OpenUpTo) return FlushAsync();
        if (journal.HasLost) return journal.IsLost(Session.WroteLsn) ? new ValueTask<bool>(false) : FlushAsync();
        return _loop is null ? SendSafeAsync(journal) : SendHeldAsync(journal);
    }

    /// <summary>The event loop holds the output, and the connection goes on with its next requests.</summary>
    private ValueTask<bool> SendHeldAsync(JournalKeeper journal)
    {
        if (journal.Failure.Length > 0) return new ValueTask<bool>(false);
        // Only a round of the event loop closes a group. For effects of another thread the journal's thread does.
        if (FindRounds(journal) || !_loop!.EventLoop.IsOnLoop) journal.AppendedElsewhere();
        return FlushAsync(Session.SeenLsn);
    }

    /// <summary>The event loop's rounds hold the output. Returns whether the connection did not know them: it has moved, or the journal is new.</summary>
    private bool FindRounds(JournalKeeper journal)
    {
        if (_loop is null || _rounds?.Loop == _loop.EventLoop) return false;
        _rounds = journal.RoundsOf(_loop.EventLoop);
        return true;
    }

    /// <summary>Without an event loop, the connection itself waits with its output.</summary>
    private async ValueTask<bool> SendSafeAsync(JournalKeeper journal)
    {
        NoteOutput();
        journal.AppendedElsewhere();
        bool lost = false;
        while (!(lost = journal.IsFinal) && Session.SeenLsn > journal.OpenUpTo)
        {
            journal.Hold(Session.SeenLsn, this);
            await _resumed.Wait();
        }
        return !lost && await FlushAsync();
    }

    /// <summary>
    /// Flushes, and only then counts the output as the client's memory. The output was compared with the client's own limit
    /// before, so a client that exceeds that limit does not cause the eviction of others.
    /// </summary>
    private ValueTask<bool> FlushAsync(long heldAt = 0)
    {
        ValueTask<bool> flushed = _output.FlushAsync(Session, _server.Lanes.Current, heldAt);
        NoteMemory();
        return flushed;
    }

    /// <summary>Removes everything that refers to the client from the server and its shards.</summary>
    internal async ValueTask LeaveAsync()
    {
        _killed = true;
        Leave(static c => c.ReleaseMemory());
        Leave(static c => c._server.Replicas.Remove(c.Session.Replica));
        Leave(static c => c._server.Monitors.Remove(c.Session));
        Leave(static c => c._server.Invalidations.Disable(c.Session));
        Leave(static c => c._server.Hub.UnsubscribeAll(c.Session));
        for (int attempt = 0; Session.Watched.Count > 0; attempt++)
        {
            try
            {
                await UnwatchAsync();
            }
            catch (OutOfMemoryException failure)
            {
                if (!MayTryAgain(failure, attempt)) return;
            }
        }
    }

    /// <summary>
    /// Releases what only this client used, all the arrays of its input and output among it: the event loop may refer to the connection
    /// for long.
    /// </summary>
    private void ReleaseMemory()
    {
        _output.Drop();
        ForgetBatch();
        _parser.Drop();
        ForgetInput();
        Session.Migration = null;
        Session.Transaction?.Release();
    }

    private ValueTask UnwatchAsync()
    {
        var watched = default(ShardSet);
        foreach ((Shard shard, _) in Session.Watched) watched.Add(shard.Index);
        bool first = true;
        return new ShardVisit(_server.Shards, watched, _ =>
        {
            if (first) Session.Unwatch();
            first = false;
        }, _scheduler).RunAsync();
    }

    /// <summary>
    /// Runs one step of leaving, and again while memory is missing: the server would refer to the client for ever. A step that fails must
    /// not prevent the others.
    /// </summary>
    private void Leave(Action<Connection> part)
    {
        for (int attempt = 0; ; attempt++)
        {
            try
            {
                part(this);
                return;
            }
            catch (OutOfMemoryException failure)
            {
                if (!MayTryAgain(failure, attempt)) return;
            }
            catch (Exception bug)
            {
                _server.Failures.ConnectionFailed(bug);
                return;
            }
        }
    }

    /// <summary>Waits until a step of leaving may find memory. Returns false if it is given up.</summary>
    private bool MayTryAgain(OutOfMemoryException failure, int attempt)
    {
        if (MemoryReserve.TryWait(attempt)) return true;
        _server.Failures.ConnectionFailed(failure);
        return false;
    }

    /// <summary>Commands queued since MULTI count too, because they are part of a query that is not complete.</summary>
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
        Session.Replica?.Step();
        if (!MustFinish) _server.Pause.Forget(this);
    }
}
