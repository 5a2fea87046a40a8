using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics.X86;

namespace RedisClone.Memory;

/// <summary>
/// Hints to the processor and to the operating system about memory that other classes own and access through bounds-checked
/// spans. It neither reads nor writes data.
/// </summary>
public static unsafe partial class MemoryHints
{
    public const int SystemPage = 4096;
    public const int CacheLine = 64;
    private const int MadvDontNeed = 4, MadvHugePage = 14, MadvNoHugePage = 15, MadvPopulateWrite = 23;

    /// <summary>Prefetches the cache line of a location.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Prefetch(ref readonly byte location)
    {
        // The address is only a hint: if the garbage collector moves the object in between, the wrong line is fetched.
        if (Sse.IsSupported) Sse.Prefetch0(Unsafe.AsPointer(ref Unsafe.AsRef(in location)));
    }

    /// <summary>Prefetches the first lines of an array, if there is one.</summary>
    public static void PrefetchStart(byte[]? bytes, int lines)
    {
        const int Line = 64;
        for (int at = 0; bytes is not null && at < Math.Min(bytes.Length, lines * Line); at += Line) Prefetch(in bytes[at]);
    }

    /// <summary>Prefetches the bytes after the first line, up to 8 lines in all.</summary>
    public static void PrefetchRest(ReadOnlySpan<byte> bytes)
    {
        const int Most = 8 * CacheLine;
        for (int at = CacheLine; at < Math.Min(bytes.Length, Most); at += CacheLine) Prefetch(in bytes[at]);
    }

    /// <summary>The first index of an array whose address is aligned to a power of two, usually to a system page, until the array moves.</summary>
    public static int AlignedBase(byte[] bytes, int alignment = SystemPage) => (int)(-(nint)Start(bytes) & (alignment - 1));

    /// <summary>
    /// Has the system take memory for a part of a pinned array, as huge pages if it has them free. Parts of it can be released for good
    /// afterwards: without the last step, the system would make the pages whole again.
    /// </summary>
    public static void PopulateHuge(byte[] pinned, int offset, int length)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(offset + length, pinned.Length);
        byte* start = Start(pinned) + offset;
        _ = Advise(start, (nuint)length, MadvHugePage);
        _ = Advise(start, (nuint)length, MadvPopulateWrite);
        _ = Advise(start, (nuint)length, MadvNoHugePage);
    }

    /// <summary>
    /// Returns the pages of a free part of an array to the system. They read as zero when they are used again. On systems other than
    /// Linux, the memory stays resident.
    /// </summary>
    public static void Release(byte[] bytes, int offset, int length)
    {
        if (!OperatingSystem.IsLinux() || length <= 0) return;
        ArgumentOutOfRangeException.ThrowIfGreaterThan(offset + length, bytes.Length);
        // The array stays in its place until the system has the pages.
        fixed (byte* array = bytes)
        {
            byte* start = array + offset;
            byte* first = (byte*)(((nint)start + SystemPage - 1) & -SystemPage);
            byte* end = (byte*)((nint)(start + length) & -SystemPage);
            if (first < end) _ = Advise(first, (nuint)(end - first), MadvDontNeed);
        }
    }

    private static byte* Start(byte[] bytes) => (byte*)Unsafe.AsPointer(ref MemoryMarshal.GetArrayDataReference(bytes));

    [LibraryImport("libc", EntryPoint = "madvise")]
    private static partial int Advise(void* address, nuint length, int advice);
}
