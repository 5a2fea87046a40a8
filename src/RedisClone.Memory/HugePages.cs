using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedisClone.Memory;

/// <summary>
/// Transparent huge pages of Linux for large pinned arrays. One page of 2 MB takes one entry of the processor's cache of addresses instead of
/// 512, and one page fault instead of 512. A process that forks avoids them, because a write after the fork copies 2 MB; this one does not fork.
/// </summary>
public static unsafe partial class HugePages
{
    /// <summary>The size of a huge page of x86-64, and of arm64 with pages of 4 KB.</summary>
    public const int PageBytes = 2 << 20;

    private const string Switch = "/sys/kernel/mm/transparent_hugepage/enabled";
    private const int MadvHugePage = 14, MadvNoHugePage = 15, MadvPopulateWrite = 23;
    private const int ThreadClock = 3;

    private static readonly bool s_areAvailable = AreAvailable();

    private static long s_bytes;

    /// <summary>Bytes that the process has asked for as huge pages.</summary>
    public static long Bytes => Volatile.Read(ref s_bytes);

    /// <summary>Whether the server wants them.</summary>
    public static bool AreWanted { get; set; } = true;

    /// <summary>Whether the server wants them and the operating system has them.</summary>
    public static bool AreOn => AreWanted && s_areAvailable;

    /// <summary>The first index of a pinned array whose address is aligned to a huge page.</summary>
    public static int AlignedBase(byte[] pinned) => (int)(-(nint)Start(pinned) & (PageBytes - 1));

    /// <summary>
    /// Takes memory for an aligned huge page of an array that was not used yet, and returns the processor time that this took. Where the system
    /// has no huge page free, it takes small pages. Afterwards parts of it can be released for good: without the last step, the system would
    /// make it whole again.
    /// </summary>
    public static TimeSpan Populate(byte[] pinned, int offset)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(offset + PageBytes, pinned.Length);
        byte* start = Start(pinned) + offset;
        TimeSpan before = ThreadTime();
        Interlocked.Add(ref s_bytes, PageBytes);
        _ = Advise(start, PageBytes, MadvHugePage);
        _ = Advise(start, PageBytes, MadvPopulateWrite);
        _ = Advise(start, PageBytes, MadvNoHugePage);
        return ThreadTime() - before;
    }

    private static TimeSpan ThreadTime() => GetTime(ThreadClock, out TimeSpec time) == 0
        ? TimeSpan.FromSeconds(time.Seconds) + TimeSpan.FromMicroseconds(time.Nanoseconds / 1000.0)
        : TimeSpan.Zero;

    private static byte* Start(byte[] pinned) => (byte*)Unsafe.AsPointer(ref MemoryMarshal.GetArrayDataReference(pinned));

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

    [LibraryImport("libc", EntryPoint = "madvise")]
    private static partial int Advise(void* address, nuint length, int advice);

    [LibraryImport("libc", EntryPoint = "clock_gettime")]
    private static partial int GetTime(int clock, out TimeSpec time);

    private struct TimeSpec
    {
        public nint Seconds, Nanoseconds;
    }
}
