using System.Globalization;
using Microsoft.Win32.SafeHandles;

namespace RedisClone.Scheduling;

/// <summary>What the kernel knows about the time of a thread.</summary>
public static class ThreadTimes
{
    private const string Path = "/proc/thread-self/schedstat";

    private static readonly bool s_isReported = File.Exists(Path);

    /// <summary>Longer than three numbers of 64 bits.</summary>
    private const int MostBytes = 64;

    /// <summary>
    /// How long the calling thread has run and has waited for a processor; null if the system does not report it, or memory or descriptors
    /// are missing. It allocates little, because event loops call it under load.
    /// </summary>
    public static (TimeSpan Ran, TimeSpan Waited)? Own()
    {
        if (!s_isReported) return null;
        try
        {
            using SafeFileHandle file = File.OpenHandle(Path);
            Span<byte> text = stackalloc byte[MostBytes];
            ReadOnlySpan<byte> rest = text[..RandomAccess.Read(file, text, fileOffset: 0)];
            return TryRead(ref rest, out TimeSpan ran) && TryRead(ref rest, out TimeSpan waited) ? (ran, waited) : null;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or OutOfMemoryException)
        {
            return null;
        }
    }

    /// <summary>Reads nanoseconds up to the next space.</summary>
    private static bool TryRead(ref ReadOnlySpan<byte> text, out TimeSpan time)
    {
        int end = text.IndexOf((byte)' ');
        time = default;
        if (end < 0 || !long.TryParse(text[..end], NumberStyles.None, CultureInfo.InvariantCulture, out long nanoseconds)) return false;
        time = TimeSpan.FromMicroseconds(nanoseconds / 1000);
        text = text[(end + 1)..];
        return true;
    }
}
