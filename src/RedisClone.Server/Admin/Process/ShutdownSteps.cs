using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Hosting;
using RedisClone.Server.Net.EventLoop;

namespace RedisClone.Server.Admin;

/// <summary>What the host does for an orderly end: nobody connects any more, then clients are let go, since the transport waits for them.</summary>
internal sealed class ShutdownSteps(ServerCore server, IHostApplicationLifetime host, IEnumerable<IConnectionListenerFactory> factories) : IHostedLifecycleService
{
    public Task StartingAsync(CancellationToken cancellationToken)
    {
        server.Shutdown.StopHost = host.StopApplication;
        if (OperatingSystem.IsLinux())
            foreach (EventLoopListenerFactory listeners in factories.OfType<EventLoopListenerFactory>()) server.Shutdown.StopListening = listeners.StopListening;
        return Task.CompletedTask;
    }

    public Task StoppingAsync(CancellationToken cancellationToken)
    {
        server.Shutdown.LetClientsGo();
        return Task.CompletedTask;
    }

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppedAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}
