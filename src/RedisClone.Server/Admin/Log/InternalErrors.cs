using Microsoft.Extensions.Logging;

namespace RedisClone.Server.Admin;

/// <summary>
/// Exceptions outside of commands that end at the top of a thread's or a connection's work: each is a bug or a lack of memory, is
/// logged and counted, and the thread goes on.
/// </summary>
internal static class InternalErrors
{
    private static long s_count;

    public static long Count => Volatile.Read(ref s_count);

    /// <summary>Never throws.</summary>
    public static void Report(ILogger log, Exception error, string what)
    {
        Interlocked.Increment(ref s_count);
        log.LogError(error, "{What}", what);
    }
}
