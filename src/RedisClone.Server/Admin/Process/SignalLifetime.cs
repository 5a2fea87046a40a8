using System.Runtime.InteropServices;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace RedisClone.Server.Admin;

/// <summary>
/// How a process of the server's own hears that it is to end: SIGTERM and SIGINT do what the configuration says, a second SIGINT ends it at once. The end of
/// its terminal, SIGHUP, is none of its own.
/// </summary>
internal sealed partial class SignalLifetime(ServerCore server) : IHostLifetime, IDisposable
{
    private const int Interrupt = 2, BrokenPipe = 13, FileSizeExceeded = 25;

    /// <summary>SIG_DFL of signal(2).</summary>
    private const nint DefaultAction = 0;

    /// <summary>SIG_IGN.</summary>
    private const nint Ignore = 1;

    private readonly List<PosixSignalRegistration> _registrations = [];
    private int _interrupts;

    /// <summary>
    /// A shell starts what runs in the background with SIGINT ignored, and the runtime leaves it so if it is when it first looks: call this before all else.
    /// </summary>
    public static void HeedInterrupts()
    {
        if (!OperatingSystem.IsWindows()) SetAction(Interrupt, DefaultAction);
    }

    /// <summary>
    /// A write past a limit on the size of files, or to a pipe without a reader, is an error of that write, not the end of the
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
        server.Shutdown.Ask(options, signal.Signal == PosixSignal.SIGINT ? "Received SIGINT scheduling shutdown..." : "Received SIGTERM scheduling shutdown...");
    }

    [LibraryImport("libc", EntryPoint = "signal")]
    private static partial nint SetAction(int signal, nint action);
}
