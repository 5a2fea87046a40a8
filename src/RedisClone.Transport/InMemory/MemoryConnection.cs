using System.Globalization;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;

namespace RedisClone.Transport.InMemory;

/// <summary>
/// A connection of two pipes, one for each direction. Continuations run on the thread pool, so neither side runs in the other's
/// calls, unless the creator gives another scheduler.
/// </summary>
internal sealed class MemoryConnection : DefaultConnectionContext
{
    private static readonly PipeOptions OnPool = new(useSynchronizationContext: false);
    private static long s_lastId;

    // The source of the base class is disposed with the connection, but this source may still be cancelled later.
    private readonly CancellationTokenSource _closed = new();

    public MemoryConnection(PipeScheduler? scheduler = null)
        : base("memory-" + Interlocked.Increment(ref s_lastId).ToString(CultureInfo.InvariantCulture))
    {
        PipeOptions options = scheduler is null
            ? OnPool
            : new PipeOptions(readerScheduler: scheduler, writerScheduler: scheduler, useSynchronizationContext: false);
        var requests = new Pipe(options);
        var replies = new Pipe(options);
        Transport = new Ends(requests.Reader, replies.Writer);
        Client = new Ends(replies.Reader, new ClientWriter(requests.Writer, this));
        LocalEndPoint = RemoteEndPoint = MemoryEndPoint.Instance;
        ConnectionClosed = _closed.Token;
    }

    public IDuplexPipe Client { get; }

    /// <summary>
    /// Cancels the pending calls of the server's ends. The client completes its own ends, because it may be writing to them now.
    /// </summary>
    public override void Abort(ConnectionAbortedException abortReason)
    {
        TellClosed();
        Transport.Input.CancelPendingRead();
        Transport.Output.CancelPendingFlush();
    }

    /// <summary>Completes the server's ends. The client reads the remaining replies and then the end of the stream.</summary>
    public override ValueTask DisposeAsync()
    {
        Transport.Input.Complete();
        Transport.Output.Complete();
        return base.DisposeAsync();
    }

    private void TellClosed() => ThreadPool.UnsafeQueueUserWorkItem(static source => source.Cancel(), _closed, preferLocal: false);

    private sealed record Ends(PipeReader Input, PipeWriter Output) : IDuplexPipe;

    /// <summary>
    /// Reports the client's end of input. A server that serves a blocked client does not read, so it would not notice the end by
    /// itself.
    /// </summary>
    private sealed class ClientWriter(PipeWriter pipe, MemoryConnection connection) : PipeWriter
    {
        public override bool CanGetUnflushedBytes => true;

        public override long UnflushedBytes => pipe.UnflushedBytes;

        public override void Complete(Exception? exception = null)
        {
            pipe.Complete();
            connection.TellClosed();
        }

        public override void Advance(int bytes) => pipe.Advance(bytes);

        public override Memory<byte> GetMemory(int sizeHint = 0) => pipe.GetMemory(sizeHint);

        public override Span<byte> GetSpan(int sizeHint = 0) => pipe.GetSpan(sizeHint);

        public override void CancelPendingFlush() => pipe.CancelPendingFlush();

        public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default) => pipe.FlushAsync(cancellationToken);
    }
}
