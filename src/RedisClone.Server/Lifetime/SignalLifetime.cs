using System.Runtime.InteropServices;
using Microsoft.Extensions.Hosting;
using RedisClone.Configuration;
using RedisClone.Engine;

namespace RedisClone.Server.Lifetime;

/// <summary>
/// Handles signals of a server that owns its process. SIGTERM and SIGINT shut down as configured, and a second SIGINT ends the
/// process at once. SIGHUP is ignored: the end of the terminal does not concern the server.
/// </summary>
internal sealed partial class SignalLifetime(ServerCore server) : IHostLifetime, IDisposable
{
    private const int Interrupt = 2, BrokenPipe = 13, FileSizeExceeded = 25;

    /// <summary>SIG_DFL of signal(2).</summary>
    private const nint DefaultAction = 0;

    /// <summary>SIG_IGN of signal(2).</summary>
    private const nint Ignore = 1;

    private readonly List<PosixSignalRegistration> _registrations = [];
    private int _interrupts;

    /// <summary>
    /// Enables SIGINT. A shell starts background processes with SIGINT ignored, and the runtime keeps it ignored if it finds it
    /// so at its first use of signals. Must be called before all else.
    /// </summary>
    public static void AcceptInterrupts()
    {
        if (!OperatingSystem.IsWindows()) SetAction(Interrupt, DefaultAction);
    }

    /// <summary>
    /// Makes a write beyond the file size limit, or to a pipe without a reader, fail with an error instead of ending the
    /// process.
    /// </summary>
    public static void IgnoreWriteSignals()
    {
        if (OperatingSystem.IsWindows()) return;
        SetAction(BrokenPipe, Ignore);
        SetAction(FileSizeExceeded, Ignore);
    }

    public Task WaitForStartAsync(CancellationToken cancellationToken)
    {
        _registrations.Add(PosixSignalRegistration.Create(PosixSignal.SIGHUP, static signal => signal.Cancel = true));
        _registrations.Add(PosixSignalRegistration.Create(PosixSignal.SIGTERM, signal => On(signal, server.Config.ShutdownOnSigterm)));
        _registrations.Add(PosixSignalRegistration.Create(PosixSignal.SIGINT, signal => On(signal, server.Config.ShutdownOnSigint)));
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

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
        server.Shutdown.Ask(options, signal.Signal == PosixSignal.SIGINT
            ? "Received SIGINT scheduling shutdown..."
            : "Received SIGTERM scheduling shutdown...");
    }

    [LibraryImport("libc", EntryPoint = "signal")]
    private static partial nint SetAction(int signal, nint action);
}
