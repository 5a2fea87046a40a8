using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;

namespace RedisClone.Server.Admin;

/// <summary>
/// The deliberate end of the process after an error that may have damaged data in memory, or after an error that leaves a thread
/// the server cannot do without unable to go on. A restart recovers what was promised; continuing would not.
/// </summary>
internal static partial class Fatal
{
    /// <summary>The exit code of every such end (EX_SOFTWARE of sysexits.h).</summary>
    public const int ExitCode = 70;

    private static readonly FatalLine s_line = new();
    private static RedisLog? s_log;
    private static bool s_errorIsLog;
    private static int s_ending;

    /// <summary>
    /// A test sets this to observe the end: it is called instead of ending the process, and then <see cref="End"/> throws.
    /// </summary>
    internal static Action<string, Exception?>? Instead { get; set; }

    /// <summary>
    /// Called once by a server that has its process to itself: the last line goes to its log too, and the process ends without a
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
    /// with <see cref="ExitCode"/>. Nothing else runs: no handler, no finalizer, no wait for the disk beyond <see
    /// cref="Limits.FatalAlarm"/>. It allocates nothing that it needs, takes no lock, and may be called on any thread and under
    /// any hold. The stack of <paramref name="handling"/>, an exception that the cure of <paramref name="cause"/> met, is logged
    /// too where there is memory for it. In an embedding process it is <see cref="Environment.FailFast(string, Exception)"/>.
    /// </summary>
    [DoesNotReturn]
    public static void End(string why, Exception? cause = null, Exception? handling = null)
    {
        if (Instead is { } instead)
        {
            instead(why, cause);
            throw new UnreachableException(why);
        }
        // The first caller has the line; a second thread must not go on while the first one writes.
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

    /// <summary>The stack takes memory to tell: where there is none left, the last line has to do.</summary>
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
