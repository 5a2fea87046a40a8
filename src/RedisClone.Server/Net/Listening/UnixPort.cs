using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;

namespace RedisClone.Server.Net.Listening;

/// <summary>The place of the unix socket for clients.</summary>
internal sealed class UnixPort(string path) : EndPoint
{
    public EndPoint Socket { get; } = new UnixDomainSocketEndPoint(path);

    public override string ToString() => path;
}

/// <summary>The listening unix socket. Kestrel gets its connections through an <see cref="AcceptQueue"/>.</summary>
internal sealed class UnixListener : IConnectionListener
{
    private readonly IConnectionListener _socket;
    private readonly AcceptQueue _accepted = new();

    public UnixListener(IConnectionListener socket)
    {
        _socket = socket;
        _accepted.Add(socket);
    }

    public EndPoint EndPoint => _socket.EndPoint;

    public ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default) => _accepted.TakeAsync(cancellationToken);

    public async ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        await _socket.UnbindAsync(cancellationToken);
        _accepted.Complete();
    }

    public ValueTask DisposeAsync() => _socket.DisposeAsync();
}
