using Microsoft.Extensions.Logging;

namespace RedisClone.Engine.Failures;

/// <summary>
/// Exceptions outside commands that reach the top of a thread or of a connection's work. Each is a bug or a lack of memory. It
/// is logged and counted, and the thread continues.
/// </summary>
internal static class InternalErrors
{
    private static long s_count;

    public static long Count => Volatile.Read(ref s_count);

    /// <summary>Counts and logs the error. Never throws.</summary>
    public static void Report(ILogger log, Exception error, string what)
    {
        Interlocked.Increment(ref s_count);
        log.LogError(error, "{What}", what);
    }
}
