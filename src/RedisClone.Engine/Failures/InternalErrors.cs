namespace RedisClone.Engine.Failures;

/// <summary>
/// Counts exceptions outside commands that reach the top of a thread or of a connection's work. Each is a bug or a lack of
/// memory.
/// </summary>
internal static class InternalErrors
{
    private static long s_count;

    public static long Count => Volatile.Read(ref s_count);

    public static void Add() => Interlocked.Increment(ref s_count);
}
