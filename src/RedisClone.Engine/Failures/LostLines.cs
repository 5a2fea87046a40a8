namespace RedisClone.Engine.Failures;

/// <summary>Counts the log lines that this process could not write, for any reason.</summary>
internal static class LostLines
{
    private static long s_count;

    public static long Count => Volatile.Read(ref s_count);

    public static void Add() => Interlocked.Increment(ref s_count);
}
