using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using RedisClone.Server.Admin;

namespace RedisClone.Server.Net.Listening;

/// <summary>The port that clients connect to, whatever addresses and number it has at the time.</summary>
internal sealed class ClientPort : EndPoint
{
    public static readonly ClientPort Instance = new();

    public override string ToString() => "tcp";
}

/// <summary>Listens on <see cref="ClientPort"/>, by means of the transport that the other endpoints use too.</summary>
internal sealed class TcpListenerFactory(ServerConfig config, ConfigTable parameters, IServiceProvider services, ILogger<TcpListenerFactory> log)
    : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private static readonly IPEndPoint Sample = new(IPAddress.Any, 0);

    public bool CanBind(EndPoint endpoint) => endpoint is ClientPort;

    public async ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        var listeners = new TcpListeners(config, Transport(), log);
        if (await listeners.AdaptAsync() is not null)
        {
            await listeners.DisposeAsync();
            throw new IOException($"Failed listening on port {config.Port} (tcp), aborting.");
        }
        // CONFIG SET runs on a worker: it may wait for sockets.
        parameters.OnChanged("port", () => listeners.AdaptAsync().GetAwaiter().GetResult() is null ? null : "Unable to listen on this port. Check server logs.");
        parameters.OnChanged("bind", () => listeners.AdaptAsync().GetAwaiter().GetResult() is null ? null : "Failed to bind to specified addresses.");
        return listeners;
    }

    /// <summary>The last one registered that takes addresses, as the framework itself chooses.</summary>
    private IConnectionListenerFactory Transport() => services.GetServices<IConnectionListenerFactory>()
        .Last(factory => factory != this && (factory as IConnectionListenerFactorySelector)?.CanBind(Sample) != false);
}
