using System.Runtime.Versioning;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Hosting;
using RedisClone.Engine;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Lifetime;

/// <summary>
/// The host's steps at an orderly shutdown: it stops listening, then disconnects the clients, because the transport waits for
/// them.
/// </summary>
internal sealed class ShutdownSteps(
    ServerCore server, IHostApplicationLifetime host, IEnumerable<IConnectionListenerFactory> factories) : IHostedLifecycleService
{
    [SupportedOSPlatform("linux")]
    private EventLoopListenerFactory? EventLoops => factories.OfType<EventLoopListenerFactory>().FirstOrDefault();

    public Task StartingAsync(CancellationToken cancellationToken)
    {
        server.Shutdown.StopHost = host.StopApplication;
        if (OperatingSystem.IsLinux() && EventLoops is { } loops) server.Shutdown.StopListening = loops.StopListening;
        return Task.CompletedTask;
    }

    public Task StoppingAsync(CancellationToken cancellationToken)
    {
        server.Cluster?.Dispose();
        server.Shutdown.DisconnectClients();
        if (OperatingSystem.IsLinux()) EventLoops?.BeginToEnd();
        return Task.CompletedTask;
    }

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppedAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}
