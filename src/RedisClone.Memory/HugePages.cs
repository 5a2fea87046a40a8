using System.Runtime.InteropServices;

namespace RedisClone.Memory;

/// <summary>
/// Transparent huge pages of Linux for large pinned arrays. One page of 2 MB takes one entry of the processor's cache of addresses instead of
/// 512, and one page fault instead of 512. A process that forks avoids them, because a write after the fork copies 2 MB; this one does not fork.
/// </summary>
public static partial class HugePages
{
    /// <summary>The size of a huge page of x86-64, and of arm64 with pages of 4 KB.</summary>
    public const int PageBytes = 2 << 20;

    private const string Switch = "/sys/kernel/mm/transparent_hugepage/enabled";
    private const int ThreadClock = 3;

    private static readonly bool s_areAvailable = AreAvailable();

    private static long s_bytes;

    /// <summary>Bytes that the process has asked for as huge pages.</summary>
    public static long Bytes => Volatile.Read(ref s_bytes);

    /// <summary>Whether the server wants them.</summary>
    public static bool AreWanted { get; set; } = true;

    /// <summary>Whether the server wants them and the operating system has them.</summary>
    public static bool AreOn => AreWanted && s_areAvailable;

    /// <summary>Takes memory for an aligned huge page of an array that was not used yet, and returns the processor time that this took.</summary>
    public static TimeSpan Populate(byte[] pinned, int offset)
    {
        TimeSpan before = ThreadTime();
        MemoryHints.PopulateHuge(pinned, offset, PageBytes);
        Interlocked.Add(ref s_bytes, PageBytes);
        return ThreadTime() - before;
    }

    /// <summary>The schedstat of a thread is no substitute: while the thread runs, it is behind by up to a tick of 4 ms.</summary>
    private static TimeSpan ThreadTime() => GetTime(ThreadClock, out TimeSpec time) == 0
        ? TimeSpan.FromSeconds(time.Seconds) + TimeSpan.FromMicroseconds(time.Nanoseconds / 1000.0)
        : TimeSpan.Zero;

    private static bool AreAvailable()
    {
        if (!OperatingSystem.IsLinux()) return false;
        try
        {
            return !File.ReadAllText(Switch).Contains("[never]", StringComparison.Ordinal);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    }

    [LibraryImport("libc", EntryPoint = "clock_gettime")]
    private static partial int GetTime(int clock, out TimeSpec time);

    private struct TimeSpec
    {
        public nint Seconds, Nanoseconds;
    }
}
