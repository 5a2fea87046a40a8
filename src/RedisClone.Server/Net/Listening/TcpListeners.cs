using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using RedisClone.Configuration;

namespace RedisClone.Server.Net.Listening;

/// <summary>
/// All listening sockets of one port. Kestrel sees them as one listener. They can be replaced while the server runs, and
/// existing connections stay open.
/// </summary>
internal sealed class TcpListeners(ServerConfig config, ClientPort port, IConnectionListenerFactory transport, ILogger log) : IConnectionListener
{
    private readonly Dictionary<IPEndPoint, IConnectionListener> _listeners = [];
    private readonly List<IConnectionListener> _closed = [];    // their connections may still be open and share their buffers
    private readonly AcceptQueue _accepted = new();

    public EndPoint EndPoint => new IPEndPoint(IPAddress.Any, Number);

    private int Number => port.NumberIn(config);

    /// <summary>Listens on exactly the addresses that the configuration names now. Returns null, or the problem.</summary>
    public async Task<string?> AdaptAsync()
    {
        if (TcpAddresses.Resolve(port.AddressesIn(config), Number, out string problem) is not { } wanted) return Report(problem);
        IPEndPoint[] obsolete = [.. _listeners.Keys.Where(old => !wanted.Exists(address => address.EndPoint.Equals(old)))];
        // If the port changes, the new sockets are opened first, so that a port in use leaves everything as it was. On the same
        // port, one address may include another (*), so the old sockets are closed first.
        bool samePort = obsolete.Length > 0 && obsolete[0].Port == Number;
        if (samePort) await CloseAsync(obsolete);
        foreach (TcpAddress address in wanted)
        {
            if (_listeners.ContainsKey(address.EndPoint)) continue;
            try
            {
                // If the system chose the port for the first address, the other addresses use the same port.
                if (Number != ServerConfig.AnyPort) address.EndPoint.Port = Number;
                IConnectionListener listener = await transport.BindAsync(address.EndPoint);
                if (Number == ServerConfig.AnyPort) config.Port = address.EndPoint.Port = ((IPEndPoint)listener.EndPoint).Port;
                _listeners.Add(address.EndPoint, listener);
                _accepted.Add(listener);
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

    public ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default) => _accepted.TakeAsync(cancellationToken);

    public async ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        await CloseAsync([.. _listeners.Keys]);
        _accepted.Complete();
    }

    public async ValueTask DisposeAsync()
    {
        await UnbindAsync();
        foreach (IConnectionListener listener in _closed) await listener.DisposeAsync();
        _closed.Clear();
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

    /// <summary>Whether the machine lacks the address or its address family.</summary>
    private static bool IsMissing(Exception error) => (error as SocketException ?? error.InnerException as SocketException)?.SocketErrorCode
        is SocketError.AddressNotAvailable or SocketError.AddressFamilyNotSupported
        or SocketError.ProtocolFamilyNotSupported or SocketError.ProtocolNotSupported;

    private string Report(string problem)
    {
        log.LogWarning("{Problem}", problem);
        return problem;
    }
}
