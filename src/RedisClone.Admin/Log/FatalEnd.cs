using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;
using RedisClone.Engine;
using RedisClone.Engine.Failures;
using RedisClone.Memory;

namespace RedisClone.Admin.Log;

/// <summary>
/// How <see cref="Fatal"/> ends a process that the server owns: with a last line in the log, with an exit code, and without a
/// dump.
/// </summary>
internal static partial class FatalEnd
{
    /// <summary>The exit code of a fatal end (EX_SOFTWARE in sysexits.h).</summary>
    public const int ExitCode = 70;

    /// <summary>The name of the thread of Kestrel that measures the time of its connections.</summary>
    private const string HttpTimer = "Kestrel Timer";

    private static readonly FatalLine s_line = new();
    private static RedisLog? s_log;
    private static bool s_errorIsLog;
    private static int s_ending;
    private static int s_finalizerThread;

    /// <summary>Memory for the stacks of the exceptions. The reserve of the server is likely to be out at a fatal end.</summary>
    private static MemoryReserve? s_reserve;

    /// <summary>Called once by a server that owns its process.</summary>
    public static void OwnProcess(RedisLog log)
    {
        s_errorIsLog = log.IsStandardOutput && AreSame("/proc/self/fd/1", "/proc/self/fd/2");
        s_log = log;
        s_line.WarmUp();
        if (HeapLimit.Bytes > 0) s_reserve = new MemoryReserve(Limits.FatalReserve);
        Fatal.EndProcess = End;
        AppDomain.CurrentDomain.ProcessExit += static (_, _) => DrainLast();
        _ = new FinalizerProbe();
        // The runtime's own end allocates before it calls anything. With a full heap it would hang there, for example if the pool of threads
        // lacks memory for a thread.
        ExceptionHandling.SetUnhandledExceptionHandler(static unhandled =>
        {
            if (unhandled is OutOfMemoryException && IsDispensable(Thread.CurrentThread)) return true;
            Fatal.End("A thread ended with an exception that nothing handled", unhandled);
            return false;
        });
    }

    /// <summary>
    /// Whether data is served as before after a lack of memory on this thread. The runtime has finalizers that allocate: without memory, a
    /// thread's number, for example, is lost. Kestrel's timer ends, and connections of the HTTP ports no longer time out.
    /// </summary>
    private static bool IsDispensable(Thread thread)
    {
        if (thread.ManagedThreadId == Volatile.Read(ref s_finalizerThread)) return true;
        if (thread.Name != HttpTimer) return false;
        try
        {
            const string ended = "The timer of the HTTP ports has ended, because there is no memory. Their connections no longer time out; restart the server";
            s_log?.WriteLast(s_log.Format(LogLevel.Error, LogEvent.Bounded(ended)));
        }
        catch (OutOfMemoryException)
        {
            LostLines.Add();
        }
        return true;
    }

    /// <summary>Waits for the last lines. Without memory for the wait they are lost; the exit code remains.</summary>
    private static void DrainLast()
    {
        try
        {
            s_log?.Drain(Limits.LogDrain);
        }
        catch (OutOfMemoryException)
        {
            LostLines.Add();
        }
    }

    /// <summary>
    /// Writes <paramref name="why"/> and the exception as the last line to the log and to standard error, and ends the process.
    /// The disk is waited for at most <see cref="Limits.FatalAlarm"/> seconds. The stacks are logged if there is memory; nothing
    /// else depends on an allocation.
    /// </summary>
    private static void End(string why, Exception? cause, Exception? handling)
    {
        // The first thread owns the buffers of the line. Other threads must not continue while it writes.
        if (Interlocked.Exchange(ref s_ending, 1) != 0) Thread.Sleep(Timeout.Infinite);
        if (OperatingSystem.IsWindows() || s_log is not { } log) return;
        _ = SetAlarm(Limits.FatalAlarm);
        MemoryReserve.ReleaseAll();
        s_reserve?.Release();
        TryWriteTrace(log, cause);
        TryWriteTrace(log, handling);
        // An exception that the runtime has made in advance has no stack, but at this point this thread still has it.
        if (cause is OutOfMemoryException) TryWriteStack(log);
        ReadOnlySpan<byte> line = s_line.Make(log.Role, why, cause, log.IsJson);
        log.WriteLast(line);
        if (!s_errorIsLog) StandardStream.Error.Write(line, Limits.FatalPatience);
        ExitNow(ExitCode);
    }

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

    private static void TryWriteStack(RedisLog log)
    {
        try
        {
            log.WriteLast(log.Format(LogLevel.Critical, LogEvent.Bounded(Environment.StackTrace)));
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

    /// <summary>Garbage from the beginning. The first collection makes the thread of the finalizers known.</summary>
    private sealed class FinalizerProbe
    {
        ~FinalizerProbe() => Volatile.Write(ref s_finalizerThread, Environment.CurrentManagedThreadId);
    }

    [LibraryImport("libc", EntryPoint = "alarm")]
    private static partial uint SetAlarm(uint seconds);

    [LibraryImport("libc", EntryPoint = "_exit")]
    private static partial void ExitNow(int code);
}
