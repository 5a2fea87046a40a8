using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using RedisClone.Server.Embedding;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Registers embedded servers in a service collection.</summary>
public static class RedisCloneServiceCollectionExtensions
{
    /// <summary>Adds a <see cref="RedisCloneServer"/> that starts and stops with the host.</summary>
    /// <param name="services">The service collection.</param>
    /// <param name="configure">Sets the options, or null for the defaults.</param>
    /// <returns>The service collection.</returns>
    public static IServiceCollection AddRedisClone(this IServiceCollection services, Action<RedisCloneOptions>? configure = null)
    {
        services.AddOptions<RedisCloneOptions>().Configure(options => configure?.Invoke(options));
        services.TryAddSingleton(provider => Make(provider, Options.Options.DefaultName));
        return services.AddHostedService(static provider => provider.GetRequiredService<RedisCloneServer>());
    }

    /// <summary>Adds one of several servers, registered as a keyed service.</summary>
    /// <param name="services">The service collection.</param>
    /// <param name="name">The key of the service and the name of its options.</param>
    /// <param name="configure">Sets the options, or null for the defaults.</param>
    /// <returns>The service collection.</returns>
    public static IServiceCollection AddKeyedRedisClone(this IServiceCollection services, string name, Action<RedisCloneOptions>? configure = null)
    {
        services.AddOptions<RedisCloneOptions>(name).Configure(options => configure?.Invoke(options));
        services.AddKeyedSingleton(name, static (provider, key) => Make(provider, (string)key!));
        return services.AddSingleton<IHostedService>(provider => provider.GetRequiredKeyedService<RedisCloneServer>(name));
    }

    private static RedisCloneServer Make(IServiceProvider provider, string name) =>
        new(provider.GetRequiredService<IOptionsMonitor<RedisCloneOptions>>().Get(name), provider.GetService<ILoggerFactory>());
}
