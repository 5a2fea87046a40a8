using System.Diagnostics;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using RedisClone.Protocol;
using RedisClone.Server.Commands;
using RedisClone.Server.Shards;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Net;

/// <summary>
/// One client's way through the server: read what came, parse it as a batch, fetch ahead what it will touch, execute it in order,
/// flush. A command whose shards are busy runs on a worker when they are free; the rest of the batch waits for it, no thread does.
/// </summary>
public sealed class Connection : IHeldWork
{
    private readonly ServerCore _server;
    private readonly ConnectionContext _transport;
    private readonly RequestParser _parser;
    private readonly RequestBatch _batch = new();
    private readonly Signal _resumed;
    private readonly ShardHold _hold;
    private Prepared[] _prepared = new Prepared[16];
    private int _current;               // the request that is being executed
    private long _now;

    internal Connection(ServerCore server, ConnectionContext transport, IConnectionScheduler scheduler, RequestLimits limits)
    {
        _server = server;
        _transport = transport;
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

    /// <summary>Ends the connection from any thread, without waiting for its output.</summary>
    public void Abort() => _transport.Abort();

    internal async Task RunAsync()
    {
        PipeReader input = _transport.Transport.Input;
        PipeWriter output = _transport.Transport.Output;
        while (!Session.CloseAfterReply)
        {
            ReadResult read = await input.ReadAsync();
            _parser.Restricted = !Session.Authenticated;
            _parser.Parse(read.Buffer, _batch, out SequencePosition consumed, out SequencePosition examined);
            if (_batch.Count > 0)
            {
                Prepare();
                for (_current = 0; !Execute();) await _resumed.Wait();
            }
            if (_batch.HasError && !Session.CloseAfterReply)
            {
                Session.Reply.Error(_batch.ErrorBytes);
                Session.CloseAfterReply = true;
            }
            _batch.Clear();
            input.AdvanceTo(consumed, examined);
            Session.Reply.Commit();
            FlushResult flushed = await output.FlushAsync();
            if (read.IsCompleted && _batch.Count == 0 || flushed.IsCompleted) break;
        }
    }

    /// <summary>
    /// Looks up each command of the batch, hashes its key and asks for the cache lines that it will need, all before the first runs:
    /// memory latency is paid once for the batch. Stops where a command changes what follows.
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
            if (Admission.Refuse(_server, Session, row, request) is { } refusal)
            {
                Reject(row, refusal, lane);
                continue;
            }
            if (!Dispatch(row!, request, _prepared[_current].Hash, lane, ref started)) return false;
        }
        return true;
    }

    /// <summary>Runs a command here if its shards are idle; false when it goes on elsewhere and will signal.</summary>
    private bool Dispatch(CommandRow row, in Request request, ulong hash, Lane lane, ref long started)
    {
        if (row.HasSingleKey)
        {
            Shard shard = _server.Shards.Of(hash);
            if (shard.TryEnter())
            {
                bool done = _server.Executor.Run(Session, row, request, hash, _now, lane, onWorker: false, ref started);
                shard.Exit();
                if (done) return true;
                _hold.AcquireOnWorker(ShardSet.Of(shard.Index));
                return false;
            }
            // A worker runs it, and signals; should TryAcquire succeed after all, we run it ourselves.
            if (!_hold.TryAcquire(ShardSet.Of(shard.Index))) return false;
            return RunHeldHere(row, request, hash, lane, ref started);
        }

        ShardSet wanted = Router.ShardsOf(_server, Session, row, request);
        if (row.Has(CommandFlags.Long))
        {
            _hold.AcquireOnWorker(wanted);
            return false;
        }
        if (!_hold.TryAcquire(wanted)) return false;
        return RunHeldHere(row, request, hash, lane, ref started);
    }

    private bool RunHeldHere(CommandRow row, in Request request, ulong hash, Lane lane, ref long started)
    {
        bool done = _server.Executor.Run(Session, row, request, hash, _now, lane, onWorker: false, ref started);
        _hold.Release();
        if (done) return true;
        _hold.AcquireOnWorker(_hold.Shards);
        return false;
    }

    /// <summary>The current command on a worker thread, its shards held.</summary>
    void IHeldWork.RunHeld()
    {
        Lane lane = _server.Lanes.Current;
        long started = Stopwatch.GetTimestamp();
        ref readonly Prepared prepared = ref _prepared[_current];
        _now = ServerCore.UnixMilliseconds();
        _server.Executor.Run(Session, prepared.Row!, _batch[_current], prepared.Hash, _now, lane, onWorker: true, ref started);
        _hold.Release();
        _current++;
        _resumed.Set();
    }

    private void BeforeCommand(CommandRow? row, in Request request, Lane lane)
    {
        Session.LastCommand = row;
        Session.CommandsProcessed++;
        Session.NetInput += request.WireLength;
        lane.CommandsProcessed++;
        lane.NetInput += request.WireLength;
    }

    private void Reject(CommandRow? row, string refusal, Lane lane)
    {
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
