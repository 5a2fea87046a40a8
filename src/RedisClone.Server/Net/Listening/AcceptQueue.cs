using System.Threading.Channels;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using RedisClone.Engine.Failures;
using RedisClone.Memory;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Net.Listening;

/// <summary>
/// The accepted connections of one or more listeners, for Kestrel. Kestrel's loop that accepts connections ends at its first
/// exception, for example when memory is missing for the objects of a connection. It therefore gets a connection only when there
/// is memory. Otherwise the connection is closed.
/// </summary>
internal sealed class AcceptQueue
{
    /// <summary>More than Kestrel allocates for a connection. The pieces are as large as the collector's units for a thread.</summary>
    private const int ProbeBytes = 32 * 1024, ProbePieceBytes = 8 * 1024;

    /// <summary>Connections that wait in the backlog cost nothing.</summary>
    private static readonly TimeSpan RefusalPause = TimeSpan.FromMilliseconds(100);

    private readonly Channel<ConnectionContext> _accepted = Channel.CreateUnbounded<ConnectionContext>();

    /// <summary>Takes the connections of a listener until it is unbound.</summary>
    public void Add(IConnectionListener listener) => _ = AcceptAllAsync(listener);

    /// <summary>Returns the next connection, or null after <see cref="Complete"/>.</summary>
    public async ValueTask<ConnectionContext?> TakeAsync(CancellationToken cancellationToken)
    {
        for (int attempt = 0; ; attempt++)
        {
            try
            {
                while (await _accepted.Reader.WaitToReadAsync(cancellationToken))
                {
                    Probe();
                    if (_accepted.Reader.TryRead(out ConnectionContext? connection)) return connection;
                }
                return null;
            }
            catch (OutOfMemoryException)
            {
                // The connection is still in the queue.
                if (MemoryReserve.TryWait(attempt)) continue;
                DropNext();
                attempt = 0;
            }
        }
    }

    public void Complete() => _accepted.Writer.TryComplete();

    private async Task AcceptAllAsync(IConnectionListener listener)
    {
        ConnectionContext? connection = null;
        for (int attempt = 0; ; attempt++)
        {
            try
            {
                for (; ; connection = null)
                {
                    connection ??= await listener.AcceptAsync();
                    if (connection is null) return;
                    attempt = 0;
                    if (!TakesReserve(connection))
                    {
                        _accepted.Writer.TryWrite(connection);
                        continue;
                    }
                    Drop(connection);
                    await Task.Delay(RefusalPause);
                }
            }
            catch (OutOfMemoryException failure)
            {
                // Nothing starts the loop again.
                if (!MemoryReserve.TryWait(attempt)) Fatal.End("No more connections can be accepted", failure);
            }
        }
    }

    /// <summary>
    /// Whether a socket of Kestrel has one of the descriptors that are reserved for the process. The event loops do not accept such
    /// connections.
    /// </summary>
    private static bool TakesReserve(ConnectionContext connection) => EventLoopListenerFactory.IsSupported
        && connection.Features.Get<IConnectionSocketFeature>()?.Socket.Handle >= EventLoopListenerFactory.DescriptorCeiling;

    private void DropNext()
    {
        try
        {
            if (_accepted.Reader.TryRead(out ConnectionContext? connection)) Drop(connection);
        }
        catch (OutOfMemoryException)
        {
            // The event loop closes the connection when its client leaves.
        }
    }

    private static void Drop(ConnectionContext connection)
    {
        connection.Abort();
        _ = connection.DisposeAsync().AsTask();
    }

    /// <summary>Throws if there is no memory for what Kestrel allocates for a connection on this thread.</summary>
    private static void Probe()
    {
        if (HeapLimit.Bytes == 0) return;
        for (int i = 0; i < ProbeBytes; i += ProbePieceBytes) GC.KeepAlive(new byte[ProbePieceBytes]);
    }
}
