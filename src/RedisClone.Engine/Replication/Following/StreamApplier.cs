using RedisClone.Engine.Commands;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Replication.Following;

/// <summary>
/// Applies the stream of a primary in its order. A batch of units runs while every shard is held, and the owner of the link notes its
/// bytes under the same hold: at a replica, they join the stream of this server. A reader, and a snapshot for another replica, therefore
/// see a prefix of the primary's order, and the offset of the stream says which one.
/// </summary>
internal sealed class StreamApplier : IHeldWork
{
    private static readonly TimeSpan DiskPause = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan PausePoll = TimeSpan.FromMilliseconds(10);

    private readonly ServerCore _server;
    private readonly IStreamOwner _owner;
    private readonly PrimaryChannel _channel;
    private readonly StreamRun _run;
    private readonly StreamBatch _batch;
    private readonly ShardHold _hold;
    private readonly SemaphoreSlim _released = new(0);
    private readonly NoticeLimit _notices = new();
    private int _next;
    private bool _isReplaced;
    private Exception? _exception;

    public StreamApplier(ServerCore server, IStreamOwner owner, PrimaryChannel channel, StreamRun run, int database)
    {
        (_server, _owner, _channel, _run) = (server, owner, channel, run);
        _batch = new StreamBatch(server, owner) { Database = database };
        _hold = new ShardHold(server.Shards, this);
    }

    /// <summary>Applies the stream until its owner ends it, or until the connection ends, which throws.</summary>
    public async Task RunAsync(CancellationToken end)
    {
        while (true)
        {
            string? problem = _batch.Fill(_channel.Buffer, _channel.Start, _channel.Count);
            if (_batch.Bytes > 0) await ApplyAsync(end).ConfigureAwait(false);
            if (problem is not null) throw new InvalidDataException(problem);
            bool answers = _batch.WantsOffset, waits = _batch.Bytes == 0;
            _channel.Advance(_batch.Bytes);
            _batch.Clear();
            if (answers && !await _owner.AnswerAsync().ConfigureAwait(false)) return;
            if (waits) await _channel.FillAsync(end).ConfigureAwait(false);
        }
    }

    private async ValueTask ApplyAsync(CancellationToken end)
    {
        // CLIENT PAUSE stops the stream too: what is paused must not change.
        while (_server.Pause.HoldsBack(CommandFlags.Write)) await Task.Delay(PausePoll, end).ConfigureAwait(false);
        if (_server.StreamRefusal is { } refusal && _batch.HasWrites) await NoteDiskAsync(refusal, end).ConfigureAwait(false);
        for (_next = 0; _next < _batch.Units;)
        {
            end.ThrowIfCancellationRequested();
            int before = _next;
            if (_server.Shards.TryEnterAll())
            {
                try
                {
                    Apply();
                }
                finally
                {
                    _server.Shards.ExitAll();
                }
            }
            else
            {
                _hold.AcquireOnWorker(_server.Shards.All);
                await _released.WaitAsync(CancellationToken.None).ConfigureAwait(false);
                if (_exception is { } failure) throw failure;
            }
            if (_server.Effects.Wanted) _server.Journal?.AppendedElsewhere();
            if (_isReplaced) throw new OperationCanceledException();
            if (_run.Failure is { } reason) throw new InvalidDataException(reason);
            if (_next == before) await Task.Delay(Limits.DiskPatience, end).ConfigureAwait(false);
        }
    }

    /// <summary>
    /// Stops at a disk that fails, because what is applied could not be made durable. The data stays readable, and the stream
    /// continues later where it stopped.
    /// </summary>
    private async Task NoteDiskAsync(string refusal, CancellationToken end)
    {
        if (_server.Config.ReplicaIgnoreDiskWriteErrors)
        {
            if (_notices.TryPass(Environment.TickCount64, out _))
                _server.Log.LogWarning("Replica is applying a command even though it is unable to write to disk.");
            return;
        }
        await Task.Delay(DiskPause, end).ConfigureAwait(false);
        if (_server.StreamRefusal is not null) throw new IOException($"Replica was unable to write command to disk: {refusal}");
    }

    /// <summary>Applies units of the batch. The caller holds every shard.</summary>
    private void Apply()
    {
        if (!_owner.IsCurrent)
        {
            _isReplaced = true;
            return;
        }
        int at = 0, first = _next;
        for (int i = 0; i < first; i++) at += _batch[i].Bytes;
        try
        {
            _next = _run.Run(_batch, first);
        }
        finally
        {
            if (_run.LeftPart) _owner.LeftPart();
        }
        int length = 0;
        for (int i = first; i < _next; i++) length += _batch[i].Bytes;
        if (length == 0) return;
        _owner.Applied(_channel.Received.Slice(at, length), _batch[_next - 1].Database);
    }

    bool IHeldWork.RunHeld()
    {
        Apply();
        return true;
    }

    void IHeldWork.Released(Exception? failure)
    {
        if (failure is not null && !FailurePolicy.IsForMemory(failure)) _server.Failures.WorkFailed("The stream of the master cannot be applied", failure);
        _exception = failure;
        _released.Release();
    }
}
