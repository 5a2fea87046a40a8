using System.Threading.Channels;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Effects;

namespace RedisClone.Engine.Cluster.Bus;

/// <summary>
/// One connection of the bus with its pending output and the incomplete message. Memory for a message grows only as its bytes arrive.
/// </summary>
internal sealed class BusLink(ClusterBus bus, ClusterNode? node, long now) : IMessageTarget
{
    private const int FirstBuffer = 8 << 10;

    private readonly Channel<byte[]> _pending = Channel.CreateUnbounded<byte[]>(new UnboundedChannelOptions { SingleReader = true });
    private readonly CancellationTokenSource _end = new();
    private IBusConnection? _connection;
    private byte[] _buffer = [];
    private int _filled;
    private long _pendingBytes;
    private int _closed;

    /// <summary>The other node; null until a message of a known node has arrived.</summary>
    public ClusterNode? Node { get; set; } = node;

    public bool IsInbound { get; } = node is null;

    public long CreatedAt { get; } = now;

    /// <summary>Whether a complete message has arrived.</summary>
    public bool HasReceived { get; private set; }

    /// <summary>Whether a message was sent.</summary>
    public bool HasSent { get; private set; }

    /// <summary>The last <see cref="ClusterState.Removable"/> that was sent on this link; null for none.</summary>
    public byte[]? ToldRemovable { get; set; }

    public bool IsClosed => Volatile.Read(ref _closed) != 0;

    public long PendingBytes => Interlocked.Read(ref _pendingBytes);

    public string PeerIp => _connection?.PeerIp ?? "";

    public string LocalIp => _connection?.LocalIp ?? "";

    public CancellationToken End => _end.Token;

    /// <summary>Sends a message. Any thread may call it.</summary>
    public void Send(byte[] message)
    {
        HasSent = true;
        Interlocked.Add(ref _pendingBytes, message.Length);
        if (IsClosed || !_pending.Writer.TryWrite(message)) Interlocked.Add(ref _pendingBytes, -message.Length);
    }

    void IMessageTarget.PushNow(byte[] message, long lsn) => Send(message);

    bool IMessageTarget.IsTooMuch(long bytes) => false;

    void IMessageTarget.Lose() => Abort();

    /// <summary>Closes the link and removes it from its node. The caller holds the lock of the cluster.</summary>
    public void Close()
    {
        if (Node is { } owner)
        {
            if (owner.Link == this) owner.Link = null;
            if (owner.Inbound == this) owner.Inbound = null;
        }
        Abort();
    }

    /// <summary>Closes the connection. Any thread may call it.</summary>
    public void Abort()
    {
        if (Interlocked.Exchange(ref _closed, 1) != 0) return;
        _end.Cancel();
        _pending.Writer.TryComplete();
        _connection?.Dispose();
    }

    /// <summary>Receives and sends until the connection ends.</summary>
    public async Task RunAsync(IBusConnection connection)
    {
        _connection = connection;
        if (IsClosed) connection.Dispose();
        Task writing = WriteAsync(connection.Output);
        try
        {
            await ReadAsync(connection.Input).ConfigureAwait(false);
        }
        catch (Exception end) when (end is IOException or OperationCanceledException or ObjectDisposedException or InvalidOperationException)
        {
        }
        finally
        {
            Abort();
            await writing.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            connection.Dispose();
        }
    }

    private async Task ReadAsync(Stream input)
    {
        while (!IsClosed)
        {
            if (_filled == _buffer.Length) Array.Resize(ref _buffer, Math.Max(FirstBuffer, _buffer.Length * 2));
            int read = await input.ReadAsync(_buffer.AsMemory(_filled), _end.Token).ConfigureAwait(false);
            if (read == 0) return;
            _filled += read;
            await bus.AwaitWakingAsync(_end.Token).ConfigureAwait(false);
            if (!TakeMessages()) return;
        }
    }

    /// <summary>Takes all complete messages; false if the link must be closed.</summary>
    private bool TakeMessages()
    {
        int at = 0;
        while (_filled - at >= 8)
        {
            if (!BusMessage.TryLength(_buffer.AsSpan(at), out uint length) || length > bus.LongestMessage(Node is not null))
            {
                bus.CountRefused();
                return false;
            }
            if (length > (uint)(_filled - at)) break;
            HasReceived = true;
            if (!bus.Receive(this, _buffer.AsSpan(at, (int)length))) return false;
            at += (int)length;
        }
        if (at == 0) return true;
        _buffer.AsSpan(at, _filled - at).CopyTo(_buffer);
        _filled -= at;
        if (_filled == 0 && _buffer.Length > 16 * FirstBuffer) _buffer = [];
        return true;
    }

    private async Task WriteAsync(Stream output)
    {
        try
        {
            while (await _pending.Reader.WaitToReadAsync(_end.Token).ConfigureAwait(false))
            {
                while (_pending.Reader.TryRead(out byte[]? message))
                {
                    await output.WriteAsync(message, _end.Token).ConfigureAwait(false);
                    Interlocked.Add(ref _pendingBytes, -message.Length);
                }
                await output.FlushAsync(_end.Token).ConfigureAwait(false);
            }
        }
        catch (Exception end) when (end is IOException or OperationCanceledException or ObjectDisposedException or InvalidOperationException)
        {
            // The link has ended.
        }
        finally
        {
            // Also after a failed allocation: a link that sends nothing must not stay.
            Abort();
        }
    }
}
