using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;

namespace RedisClone.Server.Admin;

/// <summary>
/// Ends the process deliberately after an error that may have damaged data in memory, or that stops an indispensable thread. A
/// restart recovers all acknowledged writes; continuing could not guarantee that.
/// </summary>
internal static partial class Fatal
{
    /// <summary>The exit code of a fatal end (EX_SOFTWARE in sysexits.h).</summary>
    public const int ExitCode = 70;

    private static readonly FatalLine s_line = new();
    private static RedisLog? s_log;
    private static bool s_errorIsLog;
    private static int s_ending;

    /// <summary>Set by tests: called instead of ending the process. <see cref="End"/> then throws.</summary>
    internal static Action<string, Exception?>? Instead { get; set; }

    /// <summary>
    /// Called once by a server that owns its process: a fatal end also writes the last line to this log, and exits without a
    /// dump.
    /// </summary>
    public static void OwnProcess(RedisLog log)
    {
        s_errorIsLog = log.IsStandardOutput && AreSame("/proc/self/fd/1", "/proc/self/fd/2");
        s_log = log;
        s_line.WarmUp();
        AppDomain.CurrentDomain.ProcessExit += static (_, _) => s_log?.Drain(Limits.LogDrain);
        AppDomain.CurrentDomain.UnhandledException +=
            static (_, unhandled) => End("A thread ended with an exception that nothing handled",
                unhandled.ExceptionObject as Exception);
    }

    /// <summary>
    /// Writes <paramref name="why"/> and the exception as the last line to the log and to standard error, and ends the process
    /// with <see cref="ExitCode"/>. No handler or finalizer runs, and the disk is waited for at most
    /// <see cref="Limits.FatalAlarm"/> seconds. The method depends on no allocation, takes no lock, and may be called on any
    /// thread and with shards held. In an embedding process, it calls <see cref="Environment.FailFast(string, Exception)"/>.
    /// </summary>
    /// <param name="why">The reason.</param>
    /// <param name="cause">The exception that caused the end.</param>
    /// <param name="handling">
    /// A second exception, thrown while <paramref name="cause"/> was handled. Its stack is logged if there is memory.
    /// </param>
    [DoesNotReturn]
    public static void End(string why, Exception? cause = null, Exception? handling = null)
    {
        if (Instead is { } instead)
        {
            instead(why, cause);
            throw new UnreachableException(why);
        }
        // The first thread owns the buffers of the line. Other threads must not continue while it writes.
        if (Interlocked.Exchange(ref s_ending, 1) != 0) Thread.Sleep(Timeout.Infinite);
        RedisLog? log = s_log;
        if (OperatingSystem.IsWindows() || log is null) FailFast(why, cause);
        _ = SetAlarm(Limits.FatalAlarm);
        TryWriteTrace(log, cause);
        TryWriteTrace(log, handling);
        ReadOnlySpan<byte> line = s_line.Make(why, cause, log.IsJson);
        log.WriteLast(line);
        if (!s_errorIsLog) StandardStream.Error.Write(line, Limits.FatalPatience);
        ExitNow(ExitCode);
        FailFast(why, cause);
    }

    [DoesNotReturn]
    private static void FailFast(string why, Exception? cause) => Environment.FailFast(why, cause);

    /// <summary>Logs the stack. This needs memory; without it, the last line must suffice.</summary>
    private static void TryWriteTrace(RedisLog log, Exception? cause)
    {
        try
        {
            log.Drain(Limits.LogDrain);
            if (cause is not null) log.WriteLast(log.Format(LogLevel.Critical, LogEvent.Bounded(cause.ToString())));
        }
        catch (Exception)
        {
            LostLines.Add();
        }
    }

    private static bool AreSame(string one, string other)
    {
        try
        {
            return File.ResolveLinkTarget(one, returnFinalTarget: false)?.FullName is { } path
                && path == File.ResolveLinkTarget(other, returnFinalTarget: false)?.FullName;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    }

    [LibraryImport("libc", EntryPoint = "alarm")]
    private static partial uint SetAlarm(uint seconds);

    [LibraryImport("libc", EntryPoint = "_exit")]
    private static partial void ExitNow(int code);
}
