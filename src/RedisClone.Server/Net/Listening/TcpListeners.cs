using System.Net;
using System.Net.Sockets;
using System.Threading.Channels;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using RedisClone.Server.Admin;

namespace RedisClone.Server.Net.Listening;

/// <summary>
/// All the sockets that one port is listened on. To the framework they are one listener; underneath they can be exchanged while it runs,
/// and whoever is connected stays connected.
/// </summary>
internal sealed class TcpListeners(ServerConfig config, ClientPort port, IConnectionListenerFactory transport, ILogger log) : IConnectionListener
{
    private readonly Dictionary<IPEndPoint, IConnectionListener> _listeners = [];
    private readonly List<IConnectionListener> _closed = [];    // whose connections may still be there: they share its buffers
    private readonly Channel<ConnectionContext> _accepted = Channel.CreateUnbounded<ConnectionContext>();

    public EndPoint EndPoint => new IPEndPoint(IPAddress.Any, Number);

    private int Number => port.NumberIn(config);

    /// <summary>Listens on what the configuration says now, and on nothing else. Null, or what went wrong.</summary>
    public async Task<string?> AdaptAsync()
    {
        if (TcpAddresses.Resolve(config.Bind, Number, out string problem) is not { } wanted) return Report(problem);
        IPEndPoint[] obsolete = [.. _listeners.Keys.Where(old => !wanted.Exists(address => address.EndPoint.Equals(old)))];
        // On another port the new sockets come first, so that a port which is taken changes nothing. On the same port an address may be
        // part of another (*), so the old ones go first.
        bool samePort = obsolete.Length > 0 && obsolete[0].Port == Number;
        if (samePort) await CloseAsync(obsolete);
        foreach (TcpAddress address in wanted)
        {
            if (_listeners.ContainsKey(address.EndPoint)) continue;
            try
            {
                // A port that the system chose with the first address is that of the others too.
                if (Number != ServerConfig.AnyPort) address.EndPoint.Port = Number;
                IConnectionListener listener = await transport.BindAsync(address.EndPoint);
                if (Number == ServerConfig.AnyPort) config.Port = address.EndPoint.Port = ((IPEndPoint)listener.EndPoint).Port;
                _listeners.Add(address.EndPoint, listener);
                _ = AcceptAllAsync(listener);
            }
            catch (Exception error) when (error is SocketException or IOException or AddressInUseException)
            {
                if (address.IsOptional && IsMissing(error)) continue;
                return Report(TcpAddress.Failure(address.Name, address.EndPoint.Port, $"bind: {error.Message}"));
            }
        }
        if (!samePort) await CloseAsync(obsolete);
        return null;
    }

    public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
    {
        while (await _accepted.Reader.WaitToReadAsync(cancellationToken))
            if (_accepted.Reader.TryRead(out ConnectionContext? connection)) return connection;
        return null;
    }

    public async ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        await CloseAsync([.. _listeners.Keys]);
        _accepted.Writer.TryComplete();
    }

    public async ValueTask DisposeAsync()
    {
        await UnbindAsync();
        foreach (IConnectionListener listener in _closed) await listener.DisposeAsync();
        _closed.Clear();
    }

    private async Task AcceptAllAsync(IConnectionListener listener)
    {
        while (await listener.AcceptAsync() is { } connection) _accepted.Writer.TryWrite(connection);
    }

    private async Task CloseAsync(IPEndPoint[] endPoints)
    {
        foreach (IPEndPoint endPoint in endPoints)
        {
            if (!_listeners.Remove(endPoint, out IConnectionListener? listener)) continue;
            await listener.UnbindAsync();
            _closed.Add(listener);
        }
    }

    /// <summary>The machine has no such address, or nothing of its kind.</summary>
    private static bool IsMissing(Exception error) => (error as SocketException ?? error.InnerException as SocketException)?.SocketErrorCode
        is SocketError.AddressNotAvailable or SocketError.AddressFamilyNotSupported or SocketError.ProtocolFamilyNotSupported or SocketError.ProtocolNotSupported;

    private string Report(string problem)
    {
        log.LogWarning("{Problem}", problem);
        return problem;
    }
}
