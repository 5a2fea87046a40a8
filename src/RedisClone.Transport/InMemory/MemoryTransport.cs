using System.IO.Pipelines;
using System.Net;
using System.Threading.Channels;
using Microsoft.AspNetCore.Connections;

namespace RedisClone.Transport.InMemory;

/// <summary>The endpoint of clients that run in the server's process.</summary>
public sealed class MemoryEndPoint : EndPoint
{
    public static readonly MemoryEndPoint Instance = new();

    public override string ToString() => "memory";
}

/// <summary>A transport whose connections are pairs of pipes in memory.</summary>
public sealed class MemoryTransport : IConnectionListenerFactory, IConnectionListenerFactorySelector, IConnectionListener
{
    private readonly Channel<MemoryConnection> _accepted = Channel.CreateUnbounded<MemoryConnection>();

    public EndPoint EndPoint => MemoryEndPoint.Instance;

    public bool CanBind(EndPoint endpoint) => endpoint is MemoryEndPoint;

    public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default) => new(this);

    /// <summary>Opens a connection and returns the client's end.</summary>
    public IDuplexPipe Connect() => Connect(MemoryEndPoint.Instance, MemoryEndPoint.Instance);

    /// <summary>
    /// Opens a connection on behalf of a client elsewhere, such as a browser, and returns the client's end. The server sees the
    /// addresses of that client.
    /// </summary>
    public IDuplexPipe Connect(EndPoint remote, EndPoint local)
    {
        var connection = new MemoryConnection { RemoteEndPoint = remote, LocalEndPoint = local };
        return _accepted.Writer.TryWrite(connection) ? connection.Client : throw new InvalidOperationException("The server has ended.");
    }

    public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
    {
        while (await _accepted.Reader.WaitToReadAsync(cancellationToken))
            if (_accepted.Reader.TryRead(out MemoryConnection? connection)) return connection;
        return null;
    }

    public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        _accepted.Writer.TryComplete();
        return default;
    }

    public async ValueTask DisposeAsync()
    {
        await UnbindAsync();
        while (_accepted.Reader.TryRead(out MemoryConnection? connection)) await connection.DisposeAsync();
    }
}
