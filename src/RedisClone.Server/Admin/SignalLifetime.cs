using System.Runtime.InteropServices;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using RedisClone.Server.Net.EventLoop;

namespace RedisClone.Server.Admin;

/// <summary>
/// How the process hears that it is to end: SIGTERM and SIGINT do what the configuration says, a second SIGINT ends it at once. Once it is to
/// end, clients are let go first, since the transport waits for them.
/// </summary>
internal sealed class SignalLifetime(ServerCore server, IHostApplicationLifetime host, IEnumerable<IConnectionListenerFactory> factories) : IHostLifetime, IHostedLifecycleService, IDisposable
{
    private readonly List<PosixSignalRegistration> _registrations = [];
    private int _interrupts;

    public Task WaitForStartAsync(CancellationToken cancellationToken)
    {
        server.Shutdown.StopHost = host.StopApplication;
        if (OperatingSystem.IsLinux())
            foreach (EventLoopListenerFactory listeners in factories.OfType<EventLoopListenerFactory>()) server.Shutdown.StopListening = listeners.StopListening;
        _registrations.Add(PosixSignalRegistration.Create(PosixSignal.SIGTERM, signal => On(signal, server.Config.ShutdownOnSigterm)));
        _registrations.Add(PosixSignalRegistration.Create(PosixSignal.SIGINT, signal => On(signal, server.Config.ShutdownOnSigint)));
        return Task.CompletedTask;
    }

    public Task StoppingAsync(CancellationToken cancellationToken)
    {
        server.Shutdown.LetClientsGo();
        return Task.CompletedTask;
    }

    public Task StartingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public void Dispose()
    {
        foreach (PosixSignalRegistration registration in _registrations) registration.Dispose();
    }

    private void On(PosixSignalContext signal, ShutdownOptions options)
    {
        signal.Cancel = true;
        if (signal.Signal == PosixSignal.SIGINT && Interlocked.Increment(ref _interrupts) > 1)
        {
            server.Log.LogWarning("You insist... exiting now.");
            server.Snapshots.Discard();
            Environment.Exit(1);
        }
        server.Shutdown.Ask(options, signal.Signal == PosixSignal.SIGINT ? "Received SIGINT scheduling shutdown..." : "Received SIGTERM scheduling shutdown...");
    }
}
