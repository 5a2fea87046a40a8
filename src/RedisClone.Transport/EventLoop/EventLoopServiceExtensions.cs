using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// Registers the event-loop transport with Kestrel. On a system that does not support it, Kestrel keeps its own sockets.
/// </summary>
public static class EventLoopServiceExtensions
{
    /// <summary>
    /// Must be called after Kestrel is added, because Kestrel asks the transport that was registered last first.
    /// </summary>
    public static IServiceCollection AddEventLoopTransport(
        this IServiceCollection services, Action<EventLoopOptions>? configure = null)
    {
        if (!EventLoopListenerFactory.IsSupported) return services;
        OptionsBuilder<EventLoopOptions> options = services.AddOptions<EventLoopOptions>();
        if (configure is not null) options.Configure(configure);
        return services.AddSingleton<IConnectionListenerFactory, EventLoopListenerFactory>();
    }
}
