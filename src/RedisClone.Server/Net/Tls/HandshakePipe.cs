using System.IO.Pipelines;

namespace RedisClone.Server.Net.Tls;

/// <summary>
/// The pipe below the TLS of a connection that an event loop serves. Until the handshake is done, each read continues on the thread pool: the
/// signature of a handshake takes about a millisecond, and the other connections of the event loop do not wait for it.
/// </summary>
internal sealed class HandshakePipe(IDuplexPipe socket) : PipeReader, IDuplexPipe
{
    private volatile bool _isDone;

    public PipeReader Input => this;

    public PipeWriter Output => socket.Output;

    /// <summary>From now on, reads continue on the event loop.</summary>
    public void End() => _isDone = true;

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        ValueTask<ReadResult> read = socket.Input.ReadAsync(cancellationToken);
        return _isDone || read.IsCompleted ? read : ReadOnPoolAsync(read);
    }

    public override bool TryRead(out ReadResult result) => socket.Input.TryRead(out result);

    public override void AdvanceTo(SequencePosition consumed) => socket.Input.AdvanceTo(consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined) => socket.Input.AdvanceTo(consumed, examined);

    public override void CancelPendingRead() => socket.Input.CancelPendingRead();

    public override void Complete(Exception? exception = null) => socket.Input.Complete(exception);

    private static async ValueTask<ReadResult> ReadOnPoolAsync(ValueTask<ReadResult> read)
    {
        ReadResult result = await read;
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        return result;
    }
}
