using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace RedisClone.Transport.EventLoop;

/// <summary>Puts the event-loop transport under Kestrel. Where it cannot run, Kestrel keeps its own sockets.</summary>
public static class EventLoopServiceExtensions
{
    /// <summary>Call it after Kestrel was added: the transport registered last is asked first.</summary>
    public static IServiceCollection AddEventLoopTransport(
        this IServiceCollection services, Action<EventLoopOptions>? configure = null)
    {
        if (!EventLoopListenerFactory.IsSupported) return services;
        OptionsBuilder<EventLoopOptions> options = services.AddOptions<EventLoopOptions>();
        if (configure is not null) options.Configure(configure);
        return services.AddSingleton<IConnectionListenerFactory, EventLoopListenerFactory>();
    }
}
