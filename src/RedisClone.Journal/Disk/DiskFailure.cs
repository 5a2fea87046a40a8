namespace RedisClone.Journal.Disk;

/// <summary>
/// Recognizes the exceptions of an <see cref="IDisk"/> that report a failure of the disk and not a defect of the
/// program.
/// </summary>
public static class DiskFailure
{
    // Error codes of Linux and macOS (ENOSPC, EDQUOT) and of Windows (ERROR_DISK_FULL, ERROR_HANDLE_DISK_FULL).
    private const int NoSpace = 28;
    private const int QuotaLinux = 122;
    private const int QuotaMac = 69;
    private const int FullWindows = unchecked((int)0x80070070);
    private const int HandleFullWindows = unchecked((int)0x80070027);

    public static bool Is(Exception failure) => failure is IOException or UnauthorizedAccessException;

    /// <summary>Returns true if the disk or the quota is full. Such a failure ends when there is space.</summary>
    public static bool IsLackOfSpace(Exception failure) => failure is IOException && (OperatingSystem.IsWindows()
        ? failure.HResult is FullWindows or HandleFullWindows
        : failure.HResult == NoSpace || failure.HResult == (OperatingSystem.IsLinux() ? QuotaLinux : QuotaMac));
}
