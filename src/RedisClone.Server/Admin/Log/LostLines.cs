namespace RedisClone.Server.Admin;

/// <summary>Counts the lines that this process could not write to its log, whatever the reason.</summary>
internal static class LostLines
{
    private static long s_count;

    public static long Count => Volatile.Read(ref s_count);

    public static void Add() => Interlocked.Increment(ref s_count);
}
